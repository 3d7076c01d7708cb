"""Tasks of `Bash-v0` from a seed; which split a task is in depends on the task alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from random import Random

from agentrl.core.failures import UnknownName, UserError
from agentrl.envs.bash.families import counting, finding, repairing, transforming
from agentrl.envs.bash.task import KINDS, File, ShellFamily, ShellProblem, ShellTask, Text, judge
from agentrl.envs.bash.tree import build
from agentrl.envs.code.generator import BUCKETS, DIFFICULTIES, stable

FAMILIES: tuple[ShellFamily, ...] = (
    *finding.FAMILIES,
    *counting.FAMILIES,
    *transforming.FAMILIES,
    *repairing.FAMILIES,
)
TRIES = 1000


def chosen(kinds: Sequence[str] = (), difficulties: Sequence[str] = ()) -> tuple[ShellFamily, ...]:
    """The families of some kinds and difficulties; all where none is named.

    Raises:
        UnknownName: with the nearest known ones.
        UserError: nothing is left.
    """
    for name, given, known in (("kind", kinds, KINDS), ("difficulty", difficulties, DIFFICULTIES)):
        for value in given:
            if value not in known:
                raise UnknownName(name, value, known)
    left = tuple(
        family
        for family in FAMILIES
        if (not kinds or family.kind in kinds) and (not difficulties or family.difficulty in difficulties)
    )
    if not left:
        raise UserError(
            f"no family is of kind {', '.join(kinds)} and of difficulty {', '.join(difficulties)}"
        )
    return left


@functools.lru_cache(maxsize=1024)
def generate(split: str, seed: int, among: tuple[ShellFamily, ...]) -> ShellTask:
    """The task of a seed, the same in every process. Neighbouring seeds go through the families in turn."""
    family = among[(seed + stable(f"{split}/{seed // len(among)}")) % len(among)]
    for attempt in range(TRIES):
        rng = Random(f"{family.name}/{split}/{seed}/{attempt}")
        problem = family.make(rng, build(rng))
        if stable(fingerprint(problem)) % 10 in BUCKETS[split] and not idle(problem):
            return ShellTask(
                f"{family.name}/{split}/{seed}", family.name, family.kind, family.difficulty, problem
            )
    raise UserError(f"family {family.name!r} has no task in split {split!r}")


def idle(problem: ShellProblem) -> bool:
    """Whether nothing at all, or empty files in the places of the answers, would already be right."""
    empty = {path: File(b"") for path, item in problem.expected.items() if isinstance(item, Text)}
    return judge(problem, {**problem.files, **empty}).passed or judge(problem, problem.files).passed


def fingerprint(problem: ShellProblem) -> str:
    """What makes a task another one: what is asked and the files that it is asked of."""
    files = [
        f"{path}:{item.content!r}" if isinstance(item, File) else f"{path}->{item.target}"
        for path, item in sorted(problem.files.items())
    ]
    return problem.statement + "\n".join(files)
