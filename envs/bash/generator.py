"""Tasks of `Bash-v0` from a seed; which split a task is in depends on the task alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from agentrl.envs import generated
from agentrl.envs.bash.families import counting, finding, repairing, transforming
from agentrl.envs.bash.task import KINDS, File, ShellFamily, ShellProblem, ShellTask, Text, judge
from agentrl.envs.bash.tree import build

FAMILIES: tuple[ShellFamily, ...] = (
    *finding.FAMILIES,
    *counting.FAMILIES,
    *transforming.FAMILIES,
    *repairing.FAMILIES,
)


def chosen(kinds: Sequence[str] = (), difficulties: Sequence[str] = ()) -> tuple[ShellFamily, ...]:
    """See `generated.chosen`."""
    return generated.chosen(FAMILIES, KINDS, kinds, difficulties)


@functools.lru_cache(maxsize=1024)
def generate(split: str, seed: int, among: tuple[ShellFamily, ...]) -> ShellTask:
    """The task of a seed; its statement and its files decide its split."""
    return generated.draw(
        among,
        split,
        seed,
        make=lambda family, rng: family.make(rng, build(rng)),
        identity=lambda family, problem: fingerprint(problem),
        fits=lambda problem: not idle(problem),
    )


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
