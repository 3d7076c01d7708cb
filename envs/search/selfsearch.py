"""`SelfSearch-v0`: the policy is its own search engine (SSRL, arXiv:2508.10874; ZeroSearch, arXiv:2505.04588).

    policy   search(query="Chile capital")
    env      Write the passage that answers: Chile capital
    policy   The capital of Chile is Santiago.
    env      <information>The capital of Chile is Santiago.</information>

Invariant: every word inside `<information>` was sampled by the policy in a turn of its own, with its own log-probabilities,
so it is trained on; the environment adds the frame and knows nothing. Nothing is hidden.
"""

from __future__ import annotations

from typing import ClassVar

from agentrl.core.env import Safety
from agentrl.core.tool import tool
from agentrl.envs.search.open import SELF, CorpusSearchEnv, Reward
from agentrl.envs.search.sources import Named


class SelfSearchEnv(CorpusSearchEnv):
    """Answer questions by searching in what you know: the policy writes the passages that its searches find.

    Args:
        questions: a file in the format of HotpotQA, NQ or NQ-open, split by a hash of the question; or a file for each
            split; empty for questions about countries.
        reward: `em` (exact match) or `f1`. Success is exact match with either.
        passage_letters: longer passages are cut.
        max_turns: turns after which the episode is cut off; a search takes two.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        questions: Named = "",
        reward: Reward = "em",
        passage_letters: int = 1500,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(
            questions=questions,
            engine=SELF,
            reward=reward,
            passage_letters=passage_letters,
            split=split,
            max_turns=max_turns,
        )

    @tool
    def search(self, query: str) -> str:
        """Search in what you know: your next message, as plain text, is the passage that is found.

        Args:
            query: what to look for.
        """
        return self._turn_to_itself(query)
