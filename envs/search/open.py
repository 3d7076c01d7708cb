"""`OpenSearch-v0`: answer open questions over any corpus, with any search engine.

Only the argument of `answer` earns the outcome. Where `hit_reward` is set, finding something earns a little too: every
supporting title and the gold answer, each once an episode. Neither the answer nor the supporting titles appear in an
observation by our doing, nor in `info`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.search.datasets import OpenQuestion
from agentrl.envs.search.grading import MEASURES, best, states
from agentrl.envs.search.sources import engine_for, question_of_seed, questions_by_split
from agentrl.tools.retrieval.engine import Hit

NO_RESULTS = "no results"
Reward: TypeAlias = Literal["em", "f1"]
Questions: TypeAlias = "str | Path | Mapping[str, str | Path]"


class OpenSearchBase(ToolEnv):
    """What searching with an engine and searching in oneself have in common: questions, answers, rewards.

    Attributes:
        asked: queries of this episode, in order.
        shown: what came back, in order.
    """

    max_turns = 10
    fork: ClassVar[ForkKind] = "copy"
    shared: ClassVar[frozenset[str]] = frozenset({"bank", "reward", "passage_letters"})

    def __init__(
        self,
        *,
        questions: Questions,
        reward: Reward,
        passage_letters: int,
        split: str,
        max_turns: int | None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        if reward not in MEASURES:
            raise UserError(f"reward must be 'em' or 'f1', not {reward!r:.60}")
        if isinstance(passage_letters, bool) or not isinstance(passage_letters, int) or passage_letters < 1:
            raise UserError(
                f"passage_letters must be a whole number of at least 1, got {passage_letters!r:.60}"
            )
        self.bank = questions_by_split(questions)
        self.reward, self.passage_letters = reward, passage_letters
        self.asked: list[str] = []
        self.shown: list[str] = []

    def task(self) -> str:
        self.asked, self.shown = [], []
        self.question = question_of_seed(self.bank, self.split, self.task_seed)
        return self.question.text

    question: OpenQuestion

    @tool
    def answer(self, text: str) -> str:
        """Give the answer; this ends the task.

        Args:
            text: the answer alone, as short as possible.
        """
        right = best("em", text, self.question.answers) == 1.0
        self.finish(best(self.reward, text, self.question.answers), success=right)
        return "the end"

    def cut(self, text: str) -> str:
        """A passage as it is shown: at most `passage_letters` letters."""
        return text if len(text) <= self.passage_letters else f"{text[: self.passage_letters]} ..."

    def next_query(self) -> str | None:
        """What the expert searches for next; None once every step was asked for, or the question where none is known."""
        queries = [step.query for step in self.question.steps] or [self.question.text]
        return next((query for query in queries if query not in self.asked), None)

    def state_key(self) -> str:
        """The question and the set of texts shown so far: the order and repetitions do not matter."""
        return digest("\0".join([self.question.text, *sorted(set(self.shown))]))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "question_id": self.question.id, "kind": self.question.kind}


class CorpusSearchEnv(OpenSearchBase):
    """Answer questions over a corpus with a search engine.

    Args:
        corpus: a JSONL file of passages; empty for the passages that come with the questions, or, where no questions
            are named either, for 680 short articles about countries.
        questions: a file in the format of HotpotQA, NQ or NQ-open, split by a hash of the question; or a file for each
            split; empty for the questions on the articles that ship.
        engine: `tantivy`, `bm25s`, `dense`, `hybrid`, or the address of a search server.
        top_k: passages that a search shows.
        reward: `em` (exact match) or `f1`. Success is exact match with either.
        hit_reward: what finding a supporting title, or a passage with the answer, for the first time earns.
        passage_letters: longer passages are cut.
        index_dir: a folder in which the index is kept.
        search_seconds: deadline of a search at a server.
        max_turns: turns after which the episode is cut off.
    """

    instructions = "Answer the question. Search for what you need to know, as often as you need to, then give a short answer."
    safety: ClassVar[Safety] = "thread"
    shared: ClassVar[frozenset[str]] = OpenSearchBase.shared | {"index", "top_k", "hit_reward"}

    def __init__(
        self,
        *,
        corpus: str | Path = "",
        questions: Questions = "",
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
        if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= 100:
            raise UserError(f"top_k must be a whole number from 1 to 100, got {top_k!r:.60}")
        if (
            isinstance(hit_reward, bool)
            or not isinstance(hit_reward, int | float)
            or not 0 <= hit_reward <= 1
        ):
            raise UserError(f"hit_reward must be a number from 0 to 1, got {hit_reward!r:.60}")
        super().__init__(
            questions=questions,
            reward=reward,
            passage_letters=passage_letters,
            split=split,
            max_turns=max_turns,
        )
        self.top_k, self.hit_reward = top_k, float(hit_reward)
        self.met: set[str] = set()
        self.paid: set[str] = set()
        self.index = engine_for(engine, corpus, questions, index_dir, search_seconds)

    def task(self) -> str:
        self.met, self.paid = set(), set()
        return super().task()

    @tool
    def search(self, query: str) -> str:
        """Search for passages.

        Args:
            query: the words to look for.
        """
        self.asked.append(query)
        hits = self.index.search(query, self.top_k)
        self._pay(hits)
        text = "\n".join(f"[{n}] {hit.title}: {self.cut(hit.text)}" for n, hit in enumerate(hits, start=1))
        self.shown.append(text or NO_RESULTS)
        return text or NO_RESULTS

    def _pay(self, hits: list[Hit]) -> None:
        """Reward what is found for the first time; what a passage says counts as far as it is shown."""
        new = [hit for hit in hits if digest(f"{hit.title}\0{hit.text}") not in self.met]
        self.met.update(digest(f"{hit.title}\0{hit.text}") for hit in new)
        found = {f"title {hit.title}" for hit in new} & {
            f"title {step.title}" for step in self.question.steps
        }
        if any(states(self.cut(hit.text), gold) for hit in new for gold in self.question.answers):
            found.add("answer")
        fresh = found - self.paid
        self.paid |= fresh
        if self.hit_reward and fresh:
            self.add_reward(self.hit_reward * len(fresh), "hits")

    def expert(self) -> Action:
        """A search for every step of the question (for the question itself where none is known), then the answer."""
        query = self.next_query()
        return call("answer", text=self.question.answers[0]) if query is None else call("search", query=query)

    def close(self) -> None:
        if not self.closed:
            self.index.close()
        super().close()
