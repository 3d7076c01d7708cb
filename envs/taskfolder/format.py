"""Reads tasks in the public folder format of Harbor and terminal-bench 2: one folder, one task.

    task.toml  instruction.md  environment/Dockerfile  tests/test.sh  solution/solve.sh

Invariant: what is not understood is refused here, in one sentence with file, line and field, and never later, inside an
episode. Keys that nobody knows are let through (the format grows); values of the wrong type are not.

Format: https://www.harborframework.com/docs/tasks
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pydantic

from agentrl.core.failures import UserError
from agentrl.sandboxes.base import MIB

SECONDS = 600.0
LARGEST_INSTRUCTION = MIB
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT])i?B?\s*", re.IGNORECASE)
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
TEMPLATE = re.compile(r"\$\{([^}:]*)(:-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class FolderTask:
    """One task as its folder says it.

    Attributes:
        name: of the folder.
        instruction: what the policy is asked.
        image: a ready image; empty where there is none.
        dockerfile: `environment/` is to be built.
        verifier_seconds, agent_seconds, build_seconds: deadlines.
        cpus, memory: cores and bytes; None where the task does not say.
        network: whether it asks for the internet; None where it does not say.
        workdir: overrides the image's own.
        user: uid of the policy; None where the task does not say. Tests run as root.
        env, verifier_env, solution_env: environment variables of all commands, of the tests, of the solution.
        difficulty, category, tags: of `[metadata]`.
    """

    name: str
    folder: Path
    instruction: str
    image: str = ""
    dockerfile: bool = False
    verifier_seconds: float = SECONDS
    agent_seconds: float | None = None
    build_seconds: float = SECONDS
    cpus: float | None = None
    memory: int | None = None
    network: bool | None = None
    workdir: str = ""
    user: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    difficulty: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Neither an image nor a Dockerfile: it runs anywhere."""
        return not self.image and not self.dockerfile

    @property
    def tests(self) -> Path:
        return self.folder / "tests"

    @property
    def solution(self) -> Path | None:
        """The folder of the reference solution, if there is one."""
        return self.folder / "solution" if (self.folder / "solution" / "solve.sh").is_file() else None

    def tag(self) -> str:
        """Name of the image that `environment/` is built into: the same content, the same name."""
        plain = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "task"
        return f"agentrl/task-{plain[:80]}:{digest(self.folder / 'environment')}"


class Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


Seconds = float | int


class Metadata(Section):
    difficulty: str = ""
    category: str = ""
    tags: list[str] = []


class Agent(Section):
    timeout_sec: Seconds | None = pydantic.Field(None, gt=0)
    user: int | str | None = None


class Verifier(Section):
    timeout_sec: Seconds = pydantic.Field(SECONDS, gt=0, le=86400)
    env: dict[str, str] = {}
    user: int | str | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: dict[str, Any] | None = None


class Environment(Section):
    build_timeout_sec: Seconds = pydantic.Field(SECONDS, gt=0)
    docker_image: str | None = None
    cpus: Seconds | None = pydantic.Field(None, gt=0)
    memory_mb: Seconds | None = pydantic.Field(None, gt=0)
    memory: str | None = None
    storage_mb: Seconds | None = None
    storage: str | None = None
    gpus: int | None = None
    allow_internet: bool | None = None
    network_mode: Literal["no-network", "public", "allowlist"] | None = None
    workdir: str | None = None
    os: str = "linux"
    env: dict[str, str] = {}
    healthcheck: dict[str, Any] | None = None
    mcp_servers: list[dict[str, Any]] = []


class Solution(Section):
    env: dict[str, str] = {}


class Config(Section):
    version: str | None = None
    schema_version: str | None = None
    metadata: Metadata = Metadata()
    agent: Agent = Agent()
    verifier: Verifier = Verifier()
    environment: Environment = Environment()
    solution: Solution = Solution()
    steps: list[dict[str, Any]] = []


def read_folder(path: Path | str) -> tuple[FolderTask, ...]:
    """The task in a folder, or the tasks in its folders, sorted by name.

    Raises:
        UserError: none there, or one that cannot be read.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise UserError(f"no folder {folder}: it must be a task (with task.toml) or hold tasks")
    if is_task(folder):
        return (read_task(folder),)
    found = tuple(read_task(item) for item in sorted(folder.iterdir()) if item.is_dir() and is_task(item))
    if not found:
        raise UserError(f"no task in {folder}: neither it nor a folder in it has a task.toml")
    return found


def is_task(folder: Path) -> bool:
    """Whether a folder means to be a task: one that lacks a part is refused by `read_task` with its name."""
    return any((folder / name).is_file() for name in ("task.toml", "task.yaml", "instruction.md"))


def read_task(folder: Path | str) -> FolderTask:
    """One task.

    Raises:
        UserError: what is missing or wrong, with file, line and field, or what of the format is not supported.
    """
    folder = Path(folder).expanduser().resolve()
    file = folder / "task.toml"
    if not file.is_file():
        if (folder / "task.yaml").is_file():
            raise UserError(
                f"{folder / 'task.yaml'} is terminal-bench's older layout, which is not read here: convert it to "
                "task.toml, instruction.md, environment/, tests/test.sh"
            )
        raise UserError(f"{file} is missing")
    text = read_text(file)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file}: {error}") from None
    try:
        config = Config.model_validate(raw)
    except pydantic.ValidationError as error:
        raise UserError(wrong(file, text, error)) from None
    where = Place(file, text)
    refuse(config, folder, where)
    instruction = read_text(folder / "instruction.md")
    if not instruction.strip():
        raise UserError(f"{folder / 'instruction.md'} is empty")
    if len(instruction) > LARGEST_INSTRUCTION:
        raise UserError(f"{folder / 'instruction.md'} holds more than {LARGEST_INSTRUCTION} characters")
    if not (folder / "tests" / "test.sh").is_file():
        raise UserError(f"{folder / 'tests' / 'test.sh'} is missing")
    environment, image = config.environment, (config.environment.docker_image or "").strip()
    dockerfile = not image and (folder / "environment" / "Dockerfile").is_file()
    if not image and not dockerfile and (folder / "environment").is_dir():
        raise UserError(
            f"{folder / 'environment'} has no Dockerfile and {file} no docker_image in [environment]: a task needs one of "
            "them, or no environment folder at all"
        )
    return FolderTask(
        name=folder.name,
        folder=folder,
        instruction=instruction,
        image=image,
        dockerfile=dockerfile,
        verifier_seconds=float(config.verifier.timeout_sec),
        agent_seconds=None if config.agent.timeout_sec is None else float(config.agent.timeout_sec),
        build_seconds=float(environment.build_timeout_sec),
        cpus=None if environment.cpus is None else float(environment.cpus),
        memory=memory_of(environment, where),
        network=network_of(environment),
        workdir=workdir_of(environment, where),
        user=user_of(config.agent.user, where, "agent"),
        env=variables(environment.env, where, "environment"),
        verifier_env=variables(config.verifier.env, where, "verifier"),
        solution_env=variables(config.solution.env, where, "solution"),
        difficulty=config.metadata.difficulty,
        category=config.metadata.category,
        tags=tuple(config.metadata.tags),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """A file, to point into."""

    file: Path
    text: str

    def error(self, section: str, key: str, sentence: str) -> UserError:
        return UserError(f"{self.file}{at_line(self.text, (section, key))}: {section}.{key} {sentence}")


def refuse(config: Config, folder: Path, where: Place) -> None:
    """What the format has and this reader does not run: better no task than another task than was meant."""
    environment, verifier = config.environment, config.verifier
    for section, key, is_asked, sentence in (
        ("environment", "os", environment.os.lower() != "linux", "must be linux"),
        ("environment", "gpus", bool(environment.gpus), "asks for GPUs, which sandboxes have not"),
        ("environment", "healthcheck", environment.healthcheck is not None, "is not supported"),
        ("environment", "mcp_servers", bool(environment.mcp_servers), "is not supported"),
        (
            "environment",
            "network_mode",
            environment.network_mode == "allowlist",
            "allowlist cannot be enforced: use public or no-network",
        ),
        (
            "verifier",
            "environment_mode",
            verifier.environment_mode == "separate",
            "separate is not supported",
        ),
        ("verifier", "user", verifier.user not in (None, 0, "root"), "must be root: tests are run as root"),
        ("verifier", "environment", verifier.environment is not None, "is not supported"),
    ):
        if is_asked:
            raise where.error(section, key, sentence)
    if config.steps:
        raise UserError(
            f"{where.file}{at_line(where.text, ('steps',))}: tasks of several steps are not supported"
        )
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if (folder / "environment" / name).is_file():
            raise UserError(f"{folder / 'environment' / name}: tasks of several containers are not supported")


def memory_of(environment: Environment, where: Place) -> int | None:
    """Bytes: `memory_mb`, or the older `memory = "2G"`."""
    if environment.memory_mb is not None:
        return int(environment.memory_mb * MIB)
    if environment.memory is None:
        return None
    match = SIZE.fullmatch(environment.memory)
    size = float(match[1]) * UNITS[match[2].upper()] if match else 0.0
    if not size or not math.isfinite(size):
        raise where.error(
            "environment", "memory", f"must be a size like '512M' or '2G', got {environment.memory!r}"
        )
    return int(size)


def network_of(environment: Environment) -> bool | None:
    if environment.network_mode is not None:
        return environment.network_mode == "public"
    return environment.allow_internet


def workdir_of(environment: Environment, where: Place) -> str:
    path = environment.workdir or ""
    if path and not path.startswith("/"):
        raise where.error("environment", "workdir", f"must be an absolute path, got {path!r}")
    return path


def user_of(user: int | str | None, where: Place, section: str) -> int | None:
    """A uid. A name other than root would have to be looked up in an image that is not there yet."""
    if user is None or (isinstance(user, int) and user >= 0):
        return user
    if user == "root":
        return 0
    raise where.error(section, "user", f"must be a uid or root, got {user!r}")


def variables(given: Mapping[str, str], where: Place, section: str) -> dict[str, str]:
    """Environment variables. `${NAME:-default}` is its default: nothing of the host's environment enters a sandbox."""
    for name, value in given.items():
        for match in TEMPLATE.finditer(value):
            if match[2] is None:
                raise where.error(
                    section,
                    "env",
                    f"wants {match[1]} of the host in {name}: nothing of the host enters a sandbox",
                )
    return {name: TEMPLATE.sub(lambda match: match[3], value) for name, value in given.items()}


def read_text(file: Path) -> str:
    if not file.is_file():
        raise UserError(f"{file} is missing")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 (byte {error.start})") from None


def wrong(file: Path, text: str, error: pydantic.ValidationError) -> str:
    """The first thing that is wrong, with its line."""
    first = error.errors()[0]
    path = tuple(str(part) for part in first["loc"] if part not in ("int", "float", "str"))
    message = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return f"{file}{at_line(text, path)}: {'.'.join(path)} {message}, got {first['input']!r:.60}"


def at_line(text: str, path: tuple[str, ...]) -> str:
    """` line n` of a key, found by its section and name; "" where it is written in a way that hides it."""
    section, best = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
        key = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if head:
            section = head[1].replace('"', "").replace(" ", "")
            if section.split(".") == list(path[: len(section.split("."))]):
                best = number
        elif key:
            full = [*filter(None, section.split(".")), *key[1].replace('"', "").split(".")]
            if full == list(path[: len(full)]):
                return f" line {number}"
    return f" line {best}" if best else ""


def digest(folder: Path) -> str:
    """A fingerprint of names, modes and contents under a folder."""
    seen = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        if path.is_symlink():
            kind, content = b"l", str(path.readlink()).encode("utf-8", "surrogateescape")
        elif path.is_file():
            with path.open("rb") as file:
                kind, content = (
                    b"f%o" % (path.stat().st_mode & 0o111),
                    hashlib.file_digest(file, "blake2b").digest(),
                )
        else:
            kind, content = b"d", b""
        for part in (name, kind, content):
            seen.update(len(part).to_bytes(8, "big") + part)
    return seen.hexdigest()
