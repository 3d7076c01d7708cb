"""Which MiniWoB++ tasks there are, and where their pages are.

Invariant: the pages are those of the installed `miniwob` package, unchanged; the package itself is never imported (it wants
Selenium).
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

from agentrl.core.failures import MissingExtra, UnknownName, UserError

PICTURE = re.compile(r"""content:\s*url\(\s*['"]?([^'")]+\.(?:png|gif|jpe?g|svg))""", re.IGNORECASE)
STYLESHEET = re.compile(r"""<link[^>]+href=['"]([^'"]+\.css)""", re.IGNORECASE)
GROUPS = {
    "click": ("click-", "button-", "hover-", "chase-"),
    "text": ("enter-", "focus-", "copy-", "highlight-", "text-", "login-", "unicode-", "terminal"),
    "form": ("form-", "choose-", "use-", "multi-", "number-", "odd-", "sign-", "order-", "buy-", "book-"),
    "email": ("email-", "social-", "phone-", "search-"),
    "read": ("find-", "read-", "count-", "identify-", "simple-", "visual-", "scroll-", "grid-"),
    "drag": ("drag-", "resize-", "draw-"),
}


@functools.cache
def pages_folder() -> Path:
    """The folder with one HTML page a task.

    Raises:
        MissingExtra: `miniwob` is not installed.
    """
    spec = importlib.util.find_spec("miniwob")
    places = list(spec.submodule_search_locations or []) if spec else []
    folder = Path(places[0], "html", "miniwob") if places else None
    if folder is None or not folder.is_dir():
        raise MissingExtra("web", "MiniWoB++")
    return folder


@functools.cache
def all_tasks() -> tuple[str, ...]:
    """The names of all tasks, sorted."""
    return tuple(sorted(path.stem for path in pages_folder().glob("*.html")))


@functools.cache
def pictures(task: str) -> tuple[str, ...]:
    """The addresses of the pictures with which a task's style sheets fill elements: without it, such an element has no
    size."""
    page = pages_folder() / f"{task}.html"
    html = page.read_text(errors="replace")
    sheets = [(page.parent, html)]
    for link in STYLESHEET.findall(html):
        sheet = (page.parent / link).resolve()
        if sheet.is_file():
            sheets.append((sheet.parent, sheet.read_text(errors="replace")))
    named = {(folder / url).resolve() for folder, text in sheets for url in PICTURE.findall(text)}
    return tuple(sorted(path.as_uri() for path in named if path.is_file()))


def origin() -> str:
    """What the address of every page begins with."""
    return pages_folder().parent.as_uri() + "/"


def address(task: str) -> str:
    return pages_folder().joinpath(f"{task}.html").as_uri()


def chosen_tasks(names: Iterable[str], expert: Iterable[str]) -> tuple[str, ...]:
    """Names of tasks, of groups (`click`, `text`, ...), `expert` (those that have an expert) or `all`; sorted.

    Raises:
        UserError: nothing is named.
        UnknownName: with the nearest known ones.
    """
    known = all_tasks()
    found: set[str] = set()
    for name in names:
        if name == "all":
            found.update(known)
        elif name == "expert":
            found.update(task for task in expert if task in known)
        elif name in GROUPS:
            found.update(task for task in known if task.startswith(GROUPS[name]))
        elif name in known:
            found.add(name)
        else:
            raise UnknownName("MiniWoB++ task", name, (*known, *GROUPS, "all", "expert"))
    if not found:
        raise UserError("tasks must name tasks, groups (" + ", ".join(GROUPS) + "), 'expert' or 'all'")
    return tuple(sorted(found))
