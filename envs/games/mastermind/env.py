"""`Mastermind-v0`: find a hidden code of coloured pegs; every guess is told how many pegs are right.

Invariant: nothing that is shown depends on the secret but through the marks of guesses; no secret is in two splits.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.mastermind.rules import (
    COLOURS,
    Told,
    all_codes,
    marks_of,
    next_guess,
    number_of_codes,
    shown,
)

FEWEST_CODES = 200


class MastermindEnv(ToolEnv):
    """Find a hidden code of coloured pegs.

    Args:
        pegs: length of the code, 3 to 5.
        colours: how many there are, 4 to 8; they are called A, B, C ...
        repeats: a colour may occur more than once.
        guesses: how many, 1 to 20.
        split: `train`, `validation` or `test`: no secret is in two.
        max_turns: by default 2 for every guess.

    Raises:
        UserError: settings with fewer than 200 codes.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        pegs: int = 4,
        colours: int = 6,
        repeats: bool = True,
        guesses: int = 10,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("pegs", pegs, 3, 5)
        check_between("colours", colours, 4, 8)
        check_between("guesses", guesses, 1, 20)
        if not isinstance(repeats, bool):
            raise UserError(f"repeats must be true or false, got {repeats!r:.40}")
        if (count := number_of_codes(pegs, colours, repeats)) < FEWEST_CODES:
            raise UserError(
                f"{pegs} pegs of {colours} colours make {count} codes, too few for three splits: choose at least {FEWEST_CODES}"
            )
        super().__init__(split=split, max_turns=2 * guesses if max_turns is None else max_turns)
        self.pegs, self.colours, self.repeats, self.guesses = pegs, colours, repeats, guesses
        if guesses < 10:
            self.expert_success = 0.0  # luck decides
        self.instructions = (
            f"Find a hidden code of {pegs} pegs in {guesses} guesses. The colours are {', '.join(COLOURS[:colours])}; a code is "
            f"written like {COLOURS[:pegs]}. {'A colour may occur more than once.' if repeats else 'No colour occurs twice.'} Each "
            "guess is told how many pegs are right, and how many more have a right colour but are elsewhere."
        )
        self.secret = ""
        self.told: tuple[Told, ...] = ()

    def task(self) -> str:
        settings = (self.pegs, self.colours, self.repeats)
        key = TaskKey("mastermind", self.split, self.task_seed, settings)
        self.secret = drawn(key, self._secret, lambda code: f"{settings} {code}")
        self.told = ()
        return f"The code has {self.pegs} pegs. {self._left()}"

    def _secret(self, rng: Random) -> str | None:
        code = "".join(COLOURS[int(rng.random() * self.colours)] for _ in range(self.pegs))
        return code if self.repeats or len(set(code)) == self.pegs else None

    @tool
    def guess(self, code: str) -> str:
        """Guess the code.

        Args:
            code: one letter a peg, from left to right.
        """
        guess = "".join(code.split()).upper()
        known = COLOURS[: self.colours]
        if len(guess) != self.pegs or any(mark not in known for mark in guess):
            raise ToolError(f"a code has {self.pegs} letters from {known[0]} to {known[-1]}")
        if not self.repeats and len(set(guess)) < self.pegs:
            raise ToolError("no colour occurs twice")
        self.told = (*self.told, (guess, *marks_of(guess, self.secret)))
        if guess == self.secret:
            self.finish(1.0, success=True)
            return f"{shown(self.told)}\nThat is the code."
        if len(self.told) >= self.guesses:
            self.finish(0.0, success=False)
            return f"{shown(self.told)}\nNo guess is left. The code was {self.secret}."
        return f"{shown(self.told)}\n{self._left()}"

    def _left(self) -> str:
        left = self.guesses - len(self.told)
        return f"{left} guess{'es' if left > 1 else ''} left."

    def state_key(self) -> str:
        """What was told, in whichever order."""
        return " ".join(f"{guess}:{right}{elsewhere}" for guess, right, elsewhere in sorted(self.told))

    def expert(self) -> Action:
        """A code that could be the secret and leaves the fewest others, at worst."""
        codes = all_codes(self.pegs, self.colours, self.repeats)
        return call("guess", code=next_guess(codes, self.told, self.colours))
