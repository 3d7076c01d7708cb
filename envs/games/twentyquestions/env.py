"""`TwentyQuestions-v0`: find out a hidden country by questions that are answered yes or no.

Invariant: an answer is the facts' alone (`questions.answer`); a call that cannot be understood is no question and tells
nothing; a country is the answer in one split only, as often as the others of its split.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar, Literal

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import InfrastructureFailure, ToolError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import check_between
from agentrl.envs.games.twentyquestions.facts import Country, all_countries, known, spellings
from agentrl.envs.games.twentyquestions.questions import (
    LETTERS,
    About,
    Answer,
    Question,
    answer,
    best_question,
    remaining,
)
from agentrl.envs.generated import in_split, stable, turn_of
from agentrl.envs.search.world import fold


class TwentyQuestionsEnv(ToolEnv):
    """Find out a hidden country or territory by questions, then guess it; one guess.

    Args:
        questions: how many, 8 to 40. Eight tell any two of the 220 countries apart, if they are chosen well.
        split: `train`, `validation` or `test`: no country is the answer in two.
        max_turns: by default twice as many as there are calls to make.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(self, *, questions: int = 20, split: str = "train", max_turns: int | None = None) -> None:
        check_between("questions", questions, 8, 40)
        super().__init__(split=split, max_turns=2 * (questions + 1) if max_turns is None else max_turns)
        self.questions = questions
        self.instructions = (
            f"Find out which of {len(all_countries())} countries and territories is meant. You may ask {questions} "
            "questions, answered yes, no, or unknown where the facts do not say; then guess, once."
        )
        self.hidden = ""
        self.told: tuple[tuple[Question, Answer], ...] = ()

    def task(self) -> str:
        self.hidden = turn_of(answers(self.split), self.split, self.task_seed)
        self.told = ()
        return f"Which country is meant? {self._left()}"

    @tool
    def ask_region(self, name: str) -> str:
        """Is it in this part of the world?

        Args:
            name: a continent or a smaller region, e.g. Asia, Western Africa, Caribbean.
        """
        regions = known("regions")
        return self._ask("region", found(regions, name, f"region; known are {', '.join(regions.values())}"))

    @tool
    def ask_language(self, name: str) -> str:
        """Is this one of its official or main languages?

        Args:
            name: e.g. Spanish.
        """
        return self._ask("language", found(known("languages"), name, "language of a country"))

    @tool
    def ask_currency(self, name: str) -> str:
        """Is this its currency?

        Args:
            name: e.g. euro, US dollar, Indian rupee.
        """
        return self._ask("currency", found(known("currencies"), name, "currency"))

    @tool
    def ask_border(self, country: str) -> str:
        """Does it share a land border with this country?

        Args:
            country: e.g. France.
        """
        return self._ask("border", found(spellings(), country, "country"))

    @tool
    def ask_number(self, of: Literal["area", "population"], at_least: int) -> str:
        """Is its area (in square kilometres) or its population at least so large?

        Args:
            of: what is compared.
            at_least: the number to compare it with.
        """
        if not 0 < at_least < 10**12:
            raise ToolError("compare with a number from 1 to 999999999999")
        return self._ask(of, at_least)

    @tool
    def ask_letter(
        self, of: Literal["country", "capital"], letter: str, where: Literal["start", "anywhere"] = "start"
    ) -> str:
        """Does its English name, or its capital's, start with a letter or contain it? Accents do not count.

        Args:
            of: whose name.
            letter: one letter from a to z.
            where: at the start of the name or anywhere in it.
        """
        small = letter.strip().lower()
        if len(small) != 1 or small not in LETTERS:
            raise ToolError("a letter is one of a to z")
        if of == "country":
            return self._ask("country starts with" if where == "start" else "country contains", small)
        return self._ask("capital starts with" if where == "start" else "capital contains", small)

    @tool
    def guess(self, country: str) -> str:
        """Say which country it is; this ends the task.

        Args:
            country: its name.
        """
        right = found(spellings(), country, "country") == self.hidden
        self.finish(1.0 if right else 0.0, success=right)
        return "Yes, that is it." if right else "No, that is not it."

    def _ask(self, about: About, value: str | int) -> str:
        if len(self.told) >= self.questions:
            raise ToolError("no question is left: guess")
        question = Question(about, value)
        said = answer(question, self._hidden())
        self.told = (*self.told, (question, said))
        return f"{said.capitalize()}. {self._left()}"

    def _hidden(self) -> Country:
        return next(country for country in all_countries() if country.name == self.hidden)

    def _left(self) -> str:
        left = self.questions - len(self.told)
        return f"{left} question{'' if left == 1 else 's'} left."

    def state_key(self) -> str:
        """The set of answers, in whichever order they came."""
        return "; ".join(sorted({f"{asked.about} {asked.value}: {said}" for asked, said in self.told}))

    def expert(self) -> Action:
        """The question that halves the countries that are left, from the answers alone; the guess once one is left, or no
        question is."""
        left = remaining(self.told)
        if not left:
            raise InfrastructureFailure("expert", type(self).__name__, "no country fits the answers")
        question = best_question(left) if len(self.told) < self.questions else None
        if question is None:
            return call("guess", country=all_countries()[(left & -left).bit_length() - 1].name)
        return as_call(question)


@functools.cache
def answers(split: str) -> tuple[str, ...]:
    """The countries that are the answer in this split, shuffled; a hash of the name decides."""
    names = (country.name for country in all_countries() if in_split(f"country {country.name}", split))
    return tuple(sorted(names, key=stable))


def found(names: Mapping[str, str], given: str, what: str) -> str:
    """The name that is meant.

    Raises:
        ToolError: there is none.
    """
    name = names.get(fold(given[:200]))
    if name is None:
        raise ToolError(f"{given[:40]!r} is no known {what}")
    return name


def as_call(question: Question) -> Action:
    """The call that asks a question."""
    about, value = question.about, question.value
    if about in ("area", "population"):
        return call("ask_number", of=about, at_least=value)
    if about == "border":
        return call("ask_border", country=value)
    if about in ("region", "language", "currency"):
        return call(f"ask_{about}", name=value)
    of, how = about.split(" ", 1)
    return call("ask_letter", of=of, letter=value, where="start" if how == "starts with" else "anywhere")
