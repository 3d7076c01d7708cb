"""Games on disk: those that are generated, kept in a cache; and the official ones, read where they were downloaded.

Invariant: a folder of the cache is there whole or not at all; what is in it is a function of its name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.whole import write_file, write_folder
from agentrl.envs.alfworld import generator
from agentrl.envs.alfworld.engines import PREPARE_SECONDS, SHARED

ATTEMPTS = 20
OFFICIAL_PARTS = {"train": "train", "validation": "valid_seen", "test": "valid_unseen"}
DOWNLOAD = "pip install alfworld && ALFWORLD_DATA=... alfworld-download"


@dataclass(frozen=True, slots=True)
class GameFile:
    """A game that can be played.

    Attributes:
        name: unique among all games.
        path: its `game.tw-pddl`.
        start: where its translation is kept.
        task: the task type.
    """

    name: str
    path: Path
    start: Path
    task: str

    def document(self) -> dict[str, Any]:
        """The game as the engine loads it.

        Raises:
            UserError: the file is no game; named.
        """
        try:
            document = json.loads(self.path.read_text())
            missing = {"pddl_domain", "grammar", "pddl_problem"} - set(document)
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{self.path} is not a game: {error}") from error
        if missing:
            raise UserError(f"{self.path} is not a game: it lacks {', '.join(sorted(missing))}")
        return document

    def translation(self) -> dict[str, Any] | None:
        """What `Session.translate` gave, where it was kept."""
        try:
            return json.loads(zlib.decompress(self.start.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, zlib.error):  # from a machine that died while writing
            self.start.unlink(missing_ok=True)
            return None

    def keep(self, translation: dict[str, Any]) -> None:
        write_file(self.start, zlib.compress(json.dumps(translation).encode(), 3))


def cache() -> Path:
    """Where generated games are kept: `$AGENTRL_CACHE`, else the user's cache folder."""
    base = os.environ.get("AGENTRL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "agentrl"
    )
    return Path(base) / "alfworld" / f"v{generator.VERSION}"


def generated(split: str, seed: int, tasks: Sequence[str], *, root: Path | None = None) -> GameFile:
    """The game of a seed, made and proved solvable where it is not there yet.

    Args:
        root: the folder of the split's games; the cache's by default.

    Raises:
        InfrastructureFailure: no engine could be had, or none of the drawn games can be solved.
    """
    chosen = generator.check_tasks(tasks)
    task = chosen[seed % len(chosen)]
    for attempt in range(ATTEMPTS):
        game = generator.draw(split, seed, (task,), attempt)
        folder = (root or cache() / split) / game.id / f"trial_{seed}_{attempt}"
        if (folder / "unsolvable").exists():
            continue
        path = folder / "game.tw-pddl"
        if not path.exists() and not prepare(game, attempt, folder):
            continue
        return GameFile(f"{split}/{game.id}/{folder.name}", path, folder / "start.zlib", task)
    raise InfrastructureFailure("reset", "ALFWorld generator", f"no game of seed {seed} can be solved")


def prepare(game: generator.Game, attempt: int, folder: Path) -> bool:
    """Prove a game and write its folder; False, and a mark, where it cannot be solved."""
    engine = SHARED.spawn()
    try:
        request = {
            "do": "prepare",
            "split": game.split,
            "seed": game.seed,
            "tasks": [game.task],
            "attempt": attempt,
        }
        made = engine.ask("reset", request, PREPARE_SECONDS)
    finally:
        engine.close()
    if made["document"] is None:
        files = {"unsolvable": "the bundled planner found no plan\n"}
    else:
        files = {
            "game.tw-pddl": json.dumps(made["document"]),
            "traj_data.json": json.dumps(made["trajectory"]),
        }
    write_folder(folder, lambda beside: [(beside / name).write_text(text) for name, text in files.items()])
    return made["document"] is not None


def official(data: str | None, split: str, seed: int, tasks: Sequence[str]) -> GameFile:
    """An official game: the seed counts through the games of a split in the order of their paths.

    Args:
        data: the folder that `alfworld-download` filled; `$ALFWORLD_DATA` by default.

    Raises:
        UserError: there are no such games there.
    """
    games = listed(str(official_data(data)), split, generator.check_tasks(tasks))
    path, task = games[seed % len(games)]
    digest = hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    return GameFile(str(path), path, cache() / "official" / f"{digest}.zlib", task)


def official_data(data: str | None) -> Path:
    """The folder of the official games, whichever splits it has.

    Raises:
        UserError: none is named, or it has none.
    """
    where = data or os.environ.get("ALFWORLD_DATA")
    if not where:
        raise UserError(f"official games need data=FOLDER or $ALFWORLD_DATA; to download them: {DOWNLOAD}")
    root = Path(where).expanduser()
    if not (root / "json_2.1.1").is_dir():
        raise UserError(f"there is no folder {root / 'json_2.1.1'}; to download the games: {DOWNLOAD}")
    return root


def check_official(data: str | None, split: str, tasks: Sequence[str]) -> None:
    """Whether there are official games, and of a split that is there also games of these types.

    Raises:
        UserError: there are none.
    """
    root = official_data(data)
    if split in OFFICIAL_PARTS and (root / "json_2.1.1" / OFFICIAL_PARTS[split]).is_dir():
        listed(str(root), split, generator.check_tasks(tasks))


@functools.lru_cache(maxsize=16)
def listed(data: str, split: str, tasks: tuple[str, ...]) -> tuple[tuple[Path, str], ...]:
    """The official games of a split that can be solved, with their types; those with movable receptacles and sliced
    things are left out, as the official loader does."""
    root = Path(data) / "json_2.1.1" / OFFICIAL_PARTS[split]
    if not root.is_dir():
        raise UserError(f"there is no folder {root}; to download the games: {DOWNLOAD}")
    found = []
    for trajectory in sorted(root.rglob("traj_data.json")):
        path = trajectory.with_name("game.tw-pddl")
        if "movable" in str(trajectory) or "Sliced" in str(trajectory) or not path.exists():
            continue
        try:
            task = json.loads(trajectory.read_text())["task_type"]
            solvable = json.loads(path.read_text()).get("solvable")
        except (ValueError, KeyError, AttributeError) as error:
            raise UserError(f"{trajectory.parent} holds no game that can be read: {error!r}") from error
        if task in tasks and solvable:
            found.append((path, task))
    if not found:
        raise UserError(f"{root} holds no solvable game of {', '.join(tasks)}")
    return tuple(found)
