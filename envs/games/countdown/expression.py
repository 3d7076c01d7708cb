"""The value of an expression of whole numbers, `+ - * /` and brackets; our own parser, nothing is ever executed.

Invariant: an expression is either refused with a `ToolError` or uses each number of the table at most once and keeps the
rules of the game in every operation. The text is read once, from left to right; its length and depth are bounded.
"""

from __future__ import annotations

from agentrl.core.failures import ToolError
from agentrl.envs.games.countdown.rules import Table, needed_result, without

LONGEST, DEEPEST = 200, 20
SPELLINGS = {"×": "*", "·": "*", "÷": "/", "−": "-"}
DIGITS = "0123456789"


def value_of(expression: str, table: Table) -> int:
    """The value of an expression over the numbers on the table.

    Raises:
        ToolError: no expression, a number that is not on the table (or used twice), a forbidden operation.
    """
    if len(expression) > LONGEST:
        raise ToolError(f"the expression is longer than {LONGEST} characters")
    reader = Reader(tokens(expression), table)
    value = reader.sum(0)
    if reader.at < len(reader.tokens):
        raise ToolError(f"the expression does not go on with {reader.tokens[reader.at]!r}")
    return value


def tokens(expression: str) -> list[str]:
    """Numbers, operators and brackets, in order."""
    out: list[str] = []
    number = False
    for character in expression:
        if character in DIGITS:
            if number:
                out[-1] += character
            else:
                out.append(character)
            number = True
            continue
        number = False
        mark = SPELLINGS.get(character, character)
        if mark in "+-*/()":
            out.append(mark)
        elif not mark.isspace():
            raise ToolError(f"{character!r} has no place in an expression: use numbers, + - * / and brackets")
    return out


class Reader:
    """One pass over the tokens; `table` is what may still be used."""

    def __init__(self, tokens: list[str], table: Table) -> None:
        self.tokens, self.table, self.at = tokens, table, 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum(self, depth: int) -> int:
        value = self.product(depth)
        while self.peek() in ("+", "-"):
            value = needed_result(value, self.take(), self.product(depth))
        return value

    def product(self, depth: int) -> int:
        value = self.number(depth)
        while self.peek() in ("*", "/"):
            value = needed_result(value, self.take(), self.number(depth))
        return value

    def number(self, depth: int) -> int:
        token = self.take()
        if token == "(":
            if depth == DEEPEST:
                raise ToolError(f"more than {DEEPEST} brackets are open")
            value = self.sum(depth + 1)
            if self.take() != ")":
                raise ToolError("a bracket is not closed")
            return value
        if not token or token[0] not in DIGITS:
            raise ToolError(
                f"a number is missing before {token!r}" if token else "the expression ends too early"
            )
        self.table = without(self.table, int(token))
        return int(token)
