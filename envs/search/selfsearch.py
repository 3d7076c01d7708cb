"""`SelfSearch-v0`: the policy is its own search engine (SSRL, arXiv:2508.10874; ZeroSearch, arXiv:2505.04588).

    policy   search(query="capital Chile")
    env      Write the passage that answers: capital Chile
    policy   The capital of Chile is Santiago.
    env      <information>The capital of Chile is Santiago.</information>

Invariant: every word inside `<information>` was sampled by the policy in a turn of its own, with its own log-probabilities,
so it is trained on; the environment adds the frame and knows nothing. Nothing is hidden.
"""

from __future__ import annotations

from typing import ClassVar

from agentrl.core.env import Safety, digest
from agentrl.core.failures import ToolError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.search import atlas
from agentrl.envs.search.open import OpenSearchBase, Questions, Reward


class SelfSearchEnv(OpenSearchBase):
    """Answer questions by searching in what you know: the policy writes the passages that its searches find.

    Args:
        questions: a file in the format of HotpotQA, NQ or NQ-open, split by a hash of the question; or a file for each
            split; empty for questions about countries.
        reward: `em` (exact match) or `f1`. Success is exact match with either.
        passage_letters: longer passages are cut.
        max_turns: turns after which the episode is cut off; a search takes two.
    """

    instructions = (
        "Answer the question. You have no search engine but yourself: after a search, write as plain text the passage that "
        "it should find. Search as often as you need to, then give a short answer."
    )
    max_turns = 12
    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        questions: Questions = "",
        reward: Reward = "em",
        passage_letters: int = 1500,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(
            questions=questions,
            reward=reward,
            passage_letters=passage_letters,
            split=split,
            max_turns=max_turns,
        )
        self.pending = ""

    def task(self) -> str:
        self.pending = ""
        return super().task()

    @tool
    def search(self, query: str) -> str:
        """Search in what you know: your next message is the passage that is found.

        Args:
            query: what to look for.
        """
        if self.pending:
            raise ToolError("first write the passage for your last query, as plain text", "not_allowed")
        if not query.strip():
            raise ToolError("a query has at least one word", "invalid_arguments")
        self.asked.append(query)
        self.pending = query
        return f"Write the passage that answers: {query}"

    def on_text(self, text: str) -> str:
        """The passage, where one is waited for."""
        if not self.pending:
            return super().on_text(text)
        if not text.strip():
            raise ToolError("the passage is empty: write what you know", "not_allowed")
        found = f"<information>{self.cut(text.strip())}</information>"
        self.shown.append(found)
        self.pending = ""
        return found

    def state_key(self) -> str:
        return digest(f"{super().state_key()}\0{self.pending}")

    def expert(self) -> Action:
        """A search for every step, each answered with the passage that a search engine would have found."""
        if self.pending:
            return self._passage()
        query = self.next_query()
        return call("answer", text=self.question.answers[0]) if query is None else call("search", query=query)

    def _passage(self) -> str:
        """The passage of the step that is asked for; where none is known, the question's answer in a sentence."""
        title = next((step.title for step in self.question.steps if step.query == self.pending), "")
        for passage in (*self.question.context, *atlas.passages()):
            if passage.title == title:
                return passage.text
        return f"{self.question.text} {self.question.answers[0]}"
