"""`agentrl env new`: a working environment and its test, to start from."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from pathlib import Path

from agentrl.core.failures import UserError

TEMPLATE_NAMES = (
    "agentrl",
    "gymnasium",
    "numpy",
    "Box",
    "BOXES",
    "Literal",
    "ToolEnv",
    "ToolError",
    "call",
    "tool",
)
ENVIRONMENT = '''"""{title}: an environment to start from. Check it with `agentrl env check {file}:{cls}`."""

from typing import Literal

from agentrl import ToolEnv, ToolError, call, tool

Box = Literal["red", "green", "blue", "black"]
BOXES = ("red", "green", "blue", "black")


class {cls}(ToolEnv):
    """Find the box that holds the key."""

    max_turns = 8

    def task(self):
        # Draw from np_random (or task_seed) and from nothing else: the seed decides the task.
        self.hidden = BOXES[int(self.np_random.integers(len(BOXES)))]
        self.opened: list[str] = []
        return f"One of the boxes {{', '.join(BOXES)}} holds a key. Find it."

    @tool
    def open(self, box: Box) -> str:
        """Open a box.

        Args:
            box: its colour.
        """
        if box in self.opened:
            raise ToolError(f"the {{box}} box is open already")  # the policy's mistake: it sees this and goes on
        self.opened.append(box)
        if box == self.hidden:
            self.finish(1.0 / len(self.opened), success=True)
            return "the key!"
        return "empty"

    def state_key(self) -> str:
        return ",".join(sorted(set(self.opened)))

    def expert(self):
        """A good next action: cold starts and tests need no model then."""
        return call("open", box=next(box for box in BOXES if box not in self.opened))
'''

TEST = '''"""The rules of agentrl hold for {cls}."""

from pathlib import Path

from agentrl.check import check_env


def test_{name}_keeps_the_rules():
    report = check_env(f"{{Path(__file__).with_name('{file}')}}:{cls}")
    assert report.ok, [check for check in report.checks if not check.ok]
'''


def class_name(name: str) -> str:
    """`my_game` -> `MyGame`."""
    return "".join(part.capitalize() for part in name.split("_"))


def taken(name: str) -> bool:
    """Whether Python, its library, or the template itself uses a name already."""
    words = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *sys.stdlib_module_names, *TEMPLATE_NAMES}
    return name in words


def new_env(name: str, folder: Path) -> Path:
    """Write `<name>.py` and `test_<name>.py` into `folder`; returns the first.

    Raises:
        UserError: a name that Python cannot use, a file that is already there, a folder that cannot be written.
            Nothing is written then.
    """
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise UserError(f"an environment's name is a lower-case Python name such as my_game, not {name!r}")
    if taken(name) or taken(class_name(name)):
        raise UserError(
            f"{name!r} means something else in Python: choose a lower-case Python name such as my_{name}"
        )
    words = {"name": name, "file": f"{name}.py", "cls": class_name(name), "title": class_name(name)}
    files = {folder / f"{name}.py": ENVIRONMENT, folder / f"test_{name}.py": TEST}
    for path in files:
        if path.exists():
            raise UserError(f"{path} is already there; choose another name or folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text.format(**words))
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error
    return folder / f"{name}.py"
