"""`OpenSearch-v0`: answer open questions over any corpus, with any search engine, or with the policy as its own.

Only the argument of `answer` earns the outcome. Where `hit_reward` is set, finding something earns a little too: every
supporting title and the gold answer, each once an episode. Neither the answer nor the supporting titles appear in an
observation by our doing, nor in `info`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, Observation, call
from agentrl.core.tool import tool
from agentrl.envs.search.datasets import OpenQuestion
from agentrl.envs.search.grading import MEASURES, best, states
from agentrl.envs.search.sources import (
    Named,
    engine_for,
    passage_of_step,
    question_of_seed,
    questions_by_split,
)
from agentrl.tools.retrieval.engine import Hit

NO_RESULTS = "no results"
SELF = "self"
FIND = "Answer the question. Search for what you need to know, as often as you need to, then give a short answer."
RECALL = (
    "Answer the question. You have no search engine but yourself: after a search, write as plain text the passage that it "
    "should find. Search as often as you need to, then give a short answer."
)
Reward: TypeAlias = Literal["em", "f1"]


class CorpusSearchEnv(ToolEnv):
    """Answer questions over a corpus with a search engine.

    Args:
        corpus: a JSONL file of passages; empty for the passages that come with the questions, or, where no questions
            are named either, for 680 short articles about countries.
        questions: a file in the format of HotpotQA, NQ or NQ-open, split by a hash of the question; or a file for each
            split; empty for questions on the articles that ship.
        engine: `tantivy`, `bm25s`, `dense`, `hybrid`, the address of a search server, or `self`: the policy writes the
            passages that its searches find.
        top_k: passages that a search shows.
        reward: `em` (exact match) or `f1`. Success is exact match with either.
        hit_reward: what finding a supporting title, or a passage with the answer, for the first time earns.
        passage_letters: longer passages are cut.
        index_dir: a folder in which the index is kept; empty for memory alone.
        search_seconds: deadline of a search at a server.
        max_turns: turns after which the episode is cut off.

    Attributes:
        asked: queries of this episode, in order.
        shown: what came back, in order.
        pending: the query whose passage the policy is to write next (`engine="self"`).
    """

    max_turns = 12
    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "thread"
    shared: ClassVar[frozenset[str]] = frozenset(
        {"bank", "index", "instructions", "top_k", "reward", "hit_reward", "passage_letters"}
    )

    def __init__(
        self,
        *,
        corpus: str | Path = "",
        questions: Named = "",
        engine: str = "tantivy",
        top_k: int = 3,
        reward: Reward = "em",
        hit_reward: float = 0.0,
        passage_letters: int = 1500,
        index_dir: str | Path = "",
        search_seconds: float = 30.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        if reward not in MEASURES:
            raise UserError(f"reward must be 'em' or 'f1', not {reward!r:.60}")
        if not whole(top_k, 1, 100):
            raise UserError(f"top_k must be a whole number from 1 to 100, got {top_k!r:.60}")
        if not whole(passage_letters, 1, 10**9):
            raise UserError(
                f"passage_letters must be a whole number of at least 1, got {passage_letters!r:.60}"
            )
        if (
            isinstance(hit_reward, bool)
            or not isinstance(hit_reward, int | float)
            or not 0 <= hit_reward <= 1
        ):
            raise UserError(f"hit_reward must be a number from 0 to 1, got {hit_reward!r:.60}")
        if engine == SELF and (hit_reward or str(corpus)):
            raise UserError("engine='self' searches in the policy alone: leave out corpus= and hit_reward=")
        self.bank = questions_by_split(questions)
        self.index = (
            None if engine == SELF else engine_for(engine, corpus, questions, index_dir, search_seconds)
        )
        self.instructions = RECALL if engine == SELF else FIND
        self.reward, self.top_k, self.hit_reward = reward, top_k, float(hit_reward)
        self.passage_letters = passage_letters
        self.question: OpenQuestion | None = None
        self._begin_empty()

    def task(self) -> str:
        self._begin_empty()
        self.question = question_of_seed(self.bank, self.split, self.task_seed)
        return self.question.text

    def _begin_empty(self) -> None:
        self.asked: list[str] = []
        self.shown: list[str] = []
        self.pending = ""
        self.met: set[str] = set()
        self.paid: set[str] = set()

    @tool
    def search(self, query: str) -> str:
        """Search for passages.

        Args:
            query: the words to look for.
        """
        if self.index is None:
            return self._turn_to_itself(query)
        self.asked.append(query)
        hits = self.index.search(query, self.top_k)
        self._pay(hits)
        lines = (f"[{n}] {hit.title}: {self.cut(hit.text)}" for n, hit in enumerate(hits, start=1))
        return self._show("\n".join(lines) or NO_RESULTS)

    @tool
    def answer(self, text: str) -> str:
        """Give the answer; this ends the task.

        Args:
            text: the answer alone, as short as possible.
        """
        golds = self.current.answers
        self.finish(best(self.reward, text, golds), success=best("em", text, golds) == 1.0)
        return "the end"

    @property
    def current(self) -> OpenQuestion:
        """The question of this episode.

        Raises:
            UserError: before the first reset.
        """
        if self.question is None:
            raise UserError("reset() first: no question has been asked yet")
        return self.question

    def cut(self, text: str) -> str:
        """A passage as it is shown: at most `passage_letters` letters."""
        return text if len(text) <= self.passage_letters else f"{text[: self.passage_letters]} ..."

    def _show(self, text: str) -> str:
        self.shown.append(text)
        return text

    def _pay(self, hits: list[Hit]) -> None:
        """Reward what is found for the first time; what a passage says counts as far as it is shown."""
        keys = [digest(f"{hit.title}\0{hit.text}") for hit in hits]
        new = [hit for hit, key in zip(hits, keys, strict=True) if key not in self.met]
        self.met.update(keys)
        titles = {step.title for step in self.current.steps}
        found = {f"title {hit.title}" for hit in new if hit.title in titles}
        if any(states(self.cut(hit.text), gold) for hit in new for gold in self.current.answers):
            found.add("answer")
        if self.hit_reward and found - self.paid:
            self.add_reward(self.hit_reward * len(found - self.paid), "hits")
        self.paid |= found

    # -- the policy as its own search engine ---------------------------------------------------------

    def _turn_to_itself(self, query: str) -> str:
        if self.pending:
            raise ToolError("first write the passage for your last query, as plain text", "not_allowed")
        if not query.strip():
            raise ToolError("a query has at least one word", "invalid_arguments")
        self.asked.append(query)
        self.pending = query
        return f"Write the passage that answers: {query}"

    def on_text(self, text: str) -> str:
        """The passage that the policy finds in itself, where one is waited for."""
        if not self.pending:
            return super().on_text(text)
        if not text.strip():
            raise ToolError("the passage is empty: write what you know", "not_allowed")
        self.pending = ""
        return self._show(f"<information>{self.cut(text.strip())}</information>")

    # -- for training and tests ------------------------------------------------------------------------

    def state_key(self) -> str:
        """The question, the set of texts shown so far and what is waited for: order and repetitions do not matter."""
        return digest("\0".join([self.current.text, self.pending, *sorted(set(self.shown))]))

    def expert(self) -> Action:
        """A search for every step of the question (for the question itself where none is known), each written from the
        articles where the policy is its own engine, then the answer."""
        question = self.current
        left = (self.max_turns or 10**9) - self.turn
        if self.pending and left > 1:
            return passage_of_step(question, self.pending)
        queries = [step.query for step in question.steps] or [question.text]
        query = next((query for query in queries if query not in self.asked), None)
        # The last turn is for the answer, whatever was done before; a search of one's own takes two.
        if query is None or left <= (2 if self.index is None else 1):
            return call("answer", text=question.answers[0])
        return call("search", query=query)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "question_id": self.current.id, "kind": self.current.kind}

    def close(self) -> None:
        if self.index is not None and not self.closed:
            self.index.close()
        super().close()


def whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
