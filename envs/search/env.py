"""`Search-v0`: answer questions over articles about countries with a search engine.

Only the argument of `answer` can earn the reward: nothing that was searched, retrieved or said counts. The
gold chain of a question never appears in an observation or in `info`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, Message, Observation
from agentrl.core.tool import tool
from agentrl.envs.search.demonstrate import Rng, expert_action, hasty_action
from agentrl.envs.search.questions import HOPS, Question
from agentrl.envs.search.sites import Site, WorldKind, pick
from agentrl.envs.search.vocabulary import Vocabulary, vocabulary
from agentrl.envs.search.world import fold

NO_RESULTS = "no results"


class SearchEnv(ToolEnv):
    """Answer questions of one to three hops over articles about countries, with a search engine.

    Args:
        split: `train`, `validation` or `test`: no fact that one asks about is needed in another.
        world: `countries` (real facts) or `random` (made-up worlds, another one every 64 seeds).
        hops: numbers of hops to ask; `seed % len(hops)` chooses.
        top_k: results that a search shows.
        max_turns: turns after which the episode is cut off.
    """

    instructions = "Answer the question. Search for one fact at a time, then give the answer."
    max_turns = 8
    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "inline"
    shared: ClassVar[frozenset[str]] = frozenset({"world_kind", "hops", "top_k"})

    def __init__(
        self,
        *,
        split: str = "train",
        world: WorldKind = "countries",
        hops: Sequence[int] = HOPS,
        top_k: int = 3,
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        if world not in ("countries", "random"):
            raise UserError(f"world must be 'countries' or 'random', not {world!r}")
        if not hops or any(n not in HOPS for n in hops):
            raise UserError(f"hops must be some of {', '.join(map(str, HOPS))}, not {hops!r}")
        if top_k < 1:
            raise UserError(f"top_k must be at least 1, got {top_k}")
        self.world_kind, self.hops, self.top_k = world, tuple(hops), top_k
        self.shown: list[str] = []

    # -- the task ----------------------------------------------------------------------------------

    def task(self) -> str:
        self.shown = []
        return self.question.text

    @property
    def site(self) -> Site:
        """The world of this episode, its index and its articles: looked up, never held, so forks stay small."""
        return self._picked()[0]

    @property
    def question(self) -> Question:
        return self._picked()[1]

    def _picked(self) -> tuple[Site, Question]:
        return pick(self.world_kind, self.split, self.hops, self.task_seed)

    @tool
    def search(self, query: str) -> str:
        """Find facts.

        Args:
            query: the words to look for.
        """
        hits = self.site.index.search(query, self.top_k)
        return self._show("\n".join(f"[{hit.doc}] {hit.text}" for hit in hits) or NO_RESULTS)

    @tool
    def read(self, doc: str) -> str:
        """Read a whole article.

        Args:
            doc: its title, as the search results show it.
        """
        article = self.site.articles.get(fold(doc))
        if article is None:
            raise ToolError("no article of that name")
        return self._show(article)

    @tool
    def answer(self, text: str) -> str:
        """Give the answer; this ends the task.

        Args:
            text: the answer alone.
        """
        right = self.question.accepts(text)
        self.finish(1.0 if right else 0.0, success=right)
        return "the end"

    def _show(self, text: str) -> str:
        self.shown.append(text)
        return text

    # -- for training and tests --------------------------------------------------------------------

    def state_key(self) -> str:
        """The question and the set of texts shown so far: the order and repetitions do not matter."""
        return digest("\0".join([self.question.text, *sorted(set(self.shown))]))

    def expert(self) -> Message:
        """One search per hop, then the answer: see `demonstrate`."""
        return expert_action(self.question, self.shown)

    def hasty_expert(self, rng: Rng, p: float) -> Message:
        """The expert with a habit: before the last hop it answers too early with probability `p`."""
        return hasty_action(self.question, self.shown, rng, p)

    @classmethod
    def vocabulary(cls) -> Vocabulary:
        """Every word and name of questions, observations and actions, in any world."""
        return vocabulary()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "hops": self.question.hops, "world": self.site.world.name}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {**info, "hops": self.question.hops}
