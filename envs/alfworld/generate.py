"""Many games at once, on all cores, into the cache or into a folder that is laid out as the official downloads are.

Invariant: a game that is counted is on disk, whole, and a plan for it was found; running it again makes nothing twice.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentrl.core.failures import UnknownName, UserError
from agentrl.envs.alfworld import generator, library, rules
from agentrl.envs.alfworld.engines import SHARED


@dataclass(frozen=True, slots=True)
class Generated:
    """What was made.

    Attributes:
        folder: where the split's games are.
        games: how many can be played.
        made: of these, how many were not there before.
        by_type: how many of each task type.
        refused: drawn games for which the planner found no plan; others took their place.
        seconds: wall time.
    """

    folder: str
    split: str
    games: int
    made: int
    by_type: dict[str, int]
    refused: int
    seconds: float

    def document(self) -> dict[str, Any]:
        return asdict(self)


def generate(
    split: str,
    games: int,
    *,
    first_seed: int = 0,
    tasks: Sequence[str] = (),
    output: Path | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Generated:
    """Make the games of so many seeds, each proved solvable.

    Args:
        output: a folder for `data=` or `$ALFWORLD_DATA`; the cache, where resets look for them, by default.
        workers: engines at work at once; one for each core by default.
        progress: told how many are done.

    Raises:
        UserError: a bad number, split or task type, or a folder that cannot be written.
        InfrastructureFailure: the engine broke.
    """
    rules.root()
    if games < 1 or first_seed < 0 or (workers is not None and workers < 1):
        raise UserError("games and workers must be at least 1, first_seed at least 0")
    if split not in library.OFFICIAL_PARTS:
        raise UnknownName("split of ALFWorld", split, library.OFFICIAL_PARTS)
    chosen = generator.check_tasks(tasks)
    root = library.cache() / split if output is None else official_folder(output, split)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{root} cannot be written: {error.strerror}") from error
    before, refused = there(root)
    began = time.monotonic()
    found: list[library.GameFile] = []
    user = object()
    SHARED.enter(id(user))
    try:
        with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0))) as pool:
            waiting: set[Future[library.GameFile]] = set()
            try:
                for seed in range(first_seed, first_seed + games):
                    waiting.add(pool.submit(library.generated, split, seed, chosen, root=root))
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    found.extend(one.result() for one in done)
                    progress(len(found))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except OSError as error:
        raise UserError(f"{root} cannot be written: {error.strerror}") from error
    finally:
        SHARED.leave(id(user))
    after, refused_now = there(root)
    types = Counter(file.task for file in found)
    return Generated(
        str(root if output is None else output),
        split,
        len(found),
        after - before,
        {task: types[task] for task in generator.TASKS if types[task]},
        refused_now - refused,
        round(time.monotonic() - began, 1),
    )


def official_folder(data: Path, split: str) -> Path:
    """Where the official downloads keep a split."""
    return data / "json_2.1.1" / library.OFFICIAL_PARTS[split]


def there(root: Path) -> tuple[int, int]:
    """(games, refused draws) in a folder."""
    return sum(1 for _ in root.glob("*/*/game.tw-pddl")), sum(1 for _ in root.glob("*/*/unsolvable"))
