"""What a policy can do on a page, and what it sees afterwards.

Invariants: the page's clock moves only by what an action says, so that the same actions show the same things; an element
that is gone, disabled or of another kind is a `ToolError`, never ours; everything else that fails is an
`InfrastructureFailure` (see `browser.Tab`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentrl.core.failures import ToolError
from agentrl.envs.web.browser import Tab
from agentrl.envs.web.observe import View, script

Direction: TypeAlias = Literal["up", "down", "left", "right"]
SETTLE_MS = 500
LONGEST_TEXT, LONGEST_WAIT_MS = 500, 10_000
KEY = re.compile(
    r"(?:(?:Control|Shift|Alt|Meta)\+)*(?:[!-~]|Enter|Tab|Escape|Backspace|Delete|Home|End|PageUp|PageDown|Space"
    r"|Arrow(?:Up|Down|Left|Right)|F(?:[1-9]|1[0-2]))"
)
SEE = """async ([ms, options, frames]) => {
  const clock = window.__agentrlClock;
  if (ms) {
    if (frames) await clock.frame();
    clock.advance(ms);
    if (frames) await clock.frame();
  }
  await window.__agentrl.loaded();
  return window.__agentrl.observe(options);
}"""


@dataclass(frozen=True, slots=True)
class Looks:
    """How a page is looked at.

    Attributes:
        every: number every leaf, not only what is interactive by its tag or role.
        skip: a CSS selector of what is not shown.
        most: elements listed.
    """

    every: bool = False
    skip: str = ""
    most: int = 250

    def options(self) -> dict[str, Any]:
        return {"every": self.every, "skip": self.skip, "most": self.most}


class Hands:
    """The actions on one tab. Await them within `Tab.run`."""

    def __init__(self, tab: Tab, looks: Looks) -> None:
        self.tab, self.looks = tab, looks

    @property
    def page(self) -> Any:
        return self.tab.page

    async def see(self, ms: int = SETTLE_MS, *, frames: bool = True) -> View:
        """Let `ms` milliseconds of the page's time pass, then look.

        Args:
            frames: wait for a frame of the browser before and after, so that what listens to scrolling has heard of it.
        """
        return View.of(await self.page.evaluate(SEE, [ms, self.looks.options(), frames]))

    async def place(self, id: int) -> dict[str, Any]:
        """Where an element is.

        Raises:
            ToolError: it is not on the page.
        """
        found: dict[str, Any] | None = await self.page.evaluate("id => window.__agentrl.locate(id)", id)
        if found is None:
            raise ToolError(f"there is no element [{id}]")
        return found

    async def click(self, id: int) -> None:
        where = await self.place(id)
        if where["hit"] and where["tag"] not in ("select", "option"):
            await self.page.mouse.click(where["x"], where["y"])
        else:
            await self.page.evaluate("id => window.__agentrl.press(id)", id)

    async def click_at(self, x: int, y: int) -> None:
        size = self.page.viewport_size
        if not (0 <= x < size["width"] and 0 <= y < size["height"]):
            raise ToolError(f"({x}, {y}) is outside of the page: {size['width']} x {size['height']}")
        await self.page.mouse.click(x, y)

    async def hover(self, id: int) -> None:
        where = await self.place(id)
        await self.page.mouse.move(where["x"], where["y"])

    async def type(self, id: int, text: str) -> None:
        """Replace what is in a field."""
        if len(text) > LONGEST_TEXT:
            raise ToolError(f"text is too long: at most {LONGEST_TEXT} characters")
        await self.place(id)
        said = await self.page.evaluate("([id, text]) => window.__agentrl.edit(id, text)", [id, text])
        if said == "typed":
            await (self.page.keyboard.type(text) if text else self.page.keyboard.press("Delete"))
        elif said != "set":
            raise ToolError(f"cannot type into [{id}]: {said}")

    async def select(self, id: int, option: str) -> None:
        said = await self.page.evaluate(
            "([id, option]) => window.__agentrl.choose(id, option)", [id, " ".join(option.split())]
        )
        if said:
            raise ToolError(f"cannot select {option!r} in [{id}]: {said}")

    async def press(self, key: str) -> None:
        if not KEY.fullmatch(key):
            raise ToolError(f"no such key: {key!r:.40}; e.g. Enter, Tab, ArrowDown, Control+a, x")
        await self.page.keyboard.press(key)

    async def scroll(self, id: int | None, direction: Direction) -> None:
        said = await self.page.evaluate(
            "([id, direction]) => window.__agentrl.scroll(id, direction, 0)", [id, direction]
        )
        if said:
            raise ToolError(f"cannot scroll {direction}: {said}")

    async def drag(self, id: int, to: int | None, dx: int, dy: int) -> None:
        """From the middle of an element to that of another, or by so many pixels."""
        target = await self.place(to) if to is not None else None
        start = await self.place(id)
        x, y = (target["x"], target["y"]) if target else (start["x"] + dx, start["y"] + dy)
        mouse = self.page.mouse
        await mouse.move(start["x"], start["y"])
        await mouse.down()
        await mouse.move((start["x"] + x) / 2, (start["y"] + y) / 2, steps=2)
        await mouse.move(x, y, steps=2)
        await mouse.up()


async def prepare(tab: Tab, *, still: bool) -> None:
    """Put our scripts into every document that this tab will show; `still` stops its clock.

    Animations of style sheets are off.
    """
    if still:
        await tab.context.add_init_script(script("clock.js"))
    else:
        await tab.context.add_init_script(
            "window.__agentrlClock = window.__agentrlClock || { advance() {}, frame: () => new Promise(requestAnimationFrame) };"
        )
    await tab.context.add_init_script(script("observe.js"))
