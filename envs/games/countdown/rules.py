"""Countdown: numbers lie on the table; two of them are replaced by their sum, difference, product or quotient.

Invariant: every number that ever lies on the table is a whole number of at least 1: a difference is positive and a
division leaves no rest. A table is a tuple of numbers; its order has no meaning.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from agentrl.core.failures import ToolError

Table: TypeAlias = tuple[int, ...]
Operator: TypeAlias = Literal["+", "-", "*", "/"]


def result_of(a: int, op: str, b: int) -> int | None:
    """What an operation gives; None where the rules forbid it."""
    if op == "+":
        return a + b
    if op == "*":
        return a * b
    if op == "-":
        return a - b if a > b else None
    return a // b if b > 0 and a % b == 0 else None


def needed_result(a: int, op: str, b: int) -> int:
    """`result_of`, where the policy is told why not.

    Raises:
        ToolError: a difference that is not positive, or a division with a rest.
    """
    result = result_of(a, op, b)
    if result is None:
        why = "is less than 1" if op == "-" else "is not a whole number"
        raise ToolError(f"{a} {op} {b} {why}")
    return result


def without(table: Table, number: int) -> Table:
    """The table after one of its numbers is taken.

    Raises:
        ToolError: it is not there.
    """
    if number not in table:
        name = str(number) if abs(number) < 10**9 else "that number"
        raise ToolError(f"{name} is not on the table: {listed(table)}")
    at = table.index(number)
    return (*table[:at], *table[at + 1 :])


def combined(table: Table, a: int, op: str, b: int) -> Table:
    """The table after two of its numbers are replaced by their result, which lies last.

    Raises:
        ToolError: a number that is not there, or an operation that the rules forbid.
    """
    rest = without(without(table, a), b)
    return (*rest, needed_result(a, op, b))


def listed(table: Table) -> str:
    return ", ".join(map(str, table))
