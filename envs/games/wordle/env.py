"""`Wordle-v0`: guess a hidden word; every guess is told which of its letters are right.

Invariant: the hidden words of the splits have none in common, and nothing that is shown depends on the hidden word but
through the marks of guesses.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import check_between
from agentrl.envs.games.wordle.rules import Told, marks_of, shown, unused
from agentrl.envs.games.wordle.strategy import next_guess
from agentrl.envs.games.wordle.words import answers, shipped_words, words_of_file
from agentrl.envs.generated import turn_of


class WordleEnv(ToolEnv):
    """Guess a hidden word in six guesses.

    Args:
        length: letters of the word, 4 to 6.
        guesses: how many, 1 to 20.
        hard: every guess has to use all hints.
        any_word: any letters may be guessed; else only words of the list, others are answered and cost no guess.
        words: a file of words, one a line, instead of the list that ships.
        split: `train`, `validation` or `test`: no hidden word is in two.
        max_turns: by default 3 for every guess.
    """

    safety: ClassVar[Safety] = "inline"
    shared: ClassVar[frozenset[str]] = frozenset({"words", "known"})

    def __init__(
        self,
        *,
        length: int = 5,
        guesses: int = 6,
        hard: bool = False,
        any_word: bool = False,
        words: str | Path | None = None,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("length", length, 4, 6)
        check_between("guesses", guesses, 1, 20)
        for name, value in (("hard", hard), ("any_word", any_word)):
            if not isinstance(value, bool):
                raise UserError(f"{name} must be true or false, got {value!r:.40}")
        super().__init__(split=split, max_turns=3 * guesses if max_turns is None else max_turns)
        self.length, self.guesses, self.hard, self.any_word = length, guesses, hard, any_word
        self.words = shipped_words(length) if words is None else words_of_file(Path(words), length)
        self.known = frozenset(self.words)
        if hard or guesses < 6 or words is not None:
            self.expert_success = 0.0  # then luck decides, or the list
        self.instructions = (
            f"Guess a hidden English word of {length} letters in {guesses} guesses. Each guess is marked: g right letter in "
            "the right place, y the letter is elsewhere in the word, - no (further) such letter."
            + (" Every guess must use all hints." if hard else "")
        )
        self.hidden = ""
        self.told: tuple[Told, ...] = ()

    def task(self) -> str:
        self.hidden = turn_of(answers(self.words, self.split), self.split, self.task_seed)
        self.told = ()
        return f"The word has {self.length} letters. {self._left()}"

    @tool
    def guess(self, word: str) -> str:
        """Guess the word.

        Args:
            word: your guess.
        """
        guess = word.strip().lower()
        if len(guess) != self.length or not (guess.isascii() and guess.isalpha()):
            raise ToolError(f"a guess has {self.length} letters a to z")
        if not self.any_word and guess not in self.known:
            raise ToolError(f"{guess} is not in the word list: guess another word")
        if self.hard and (hint := unused(guess, self.told)):
            raise ToolError(f"{guess} does not use all hints: {hint}")
        self.told = (*self.told, (guess, marks_of(guess, self.hidden)))
        if guess == self.hidden:
            self.finish(1.0, success=True)
            return f"{shown(self.told)}\nThat is the word."
        if len(self.told) >= self.guesses:
            self.finish(0.0, success=False)
            return f"{shown(self.told)}\nNo guess is left. The word was {self.hidden}."
        return f"{shown(self.told)}\n{self._left()}"

    def _left(self) -> str:
        left = self.guesses - len(self.told)
        return f"{left} guess{'es' if left > 1 else ''} left."

    def state_key(self) -> str:
        """What was told, in whichever order."""
        return " ".join(f"{guess}:{marks}" for guess, marks in sorted(self.told))

    def expert(self) -> Action:
        """The guess that leaves the fewest words at worst; see `strategy`."""
        return call("guess", word=next_guess(self.words, self.told, hard=self.hard))
