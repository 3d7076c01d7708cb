"""`ShopWeb-v0`: the shop of `Shop-v0` as a web site, in a real browser.

Invariant: the site plays the state machine of the text form, so the same seed has the same goal, and the same purchase the
same states and the same reward. What the browser shows comes from the site alone; the reward from the session's state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from agentrl.core.env import ForkKind, Safety, digest
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Message, call
from agentrl.core.tool import tool
from agentrl.envs.shop.demonstrate import expert_move
from agentrl.envs.shop.env import Shopping
from agentrl.envs.shop.machine import Act, on_page
from agentrl.envs.shop.site import DOORS, Session, Site
from agentrl.envs.web.browser import Tab, find_chromium, open_tab, playwright_module
from agentrl.envs.web.observe import FORMS, Form, Item, View, render
from agentrl.envs.web.page import Direction, Hands, Looks, prepare

VIEWPORT = (1000, 800)
SKIP = "svg, header, .decor, .chip span, .wish"
IDLE = "() => window.__shop.idle()"


class ShopWebEnv(Shopping):
    """Buy what an instruction asks for, on a shop's web pages in a real browser.

    Args:
        split, products, goals, catalogue_seed: as of `ShopEnv`.
        form: what a page is shown as: `dom` (tags) or `tree` (roles and names).
        executable: the browser; by default `AGENTRL_CHROMIUM` or the first Chromium on the PATH.
        max_turns: turns after which the episode is cut off.

    Raises:
        UserError: an argument that is not allowed, no browser, no Playwright.
    """

    instructions = (
        "You are in an online shop. Find what the instruction asks for, choose its options, and click Buy Now. "
        "Elements that you can act on have a number: [3]<button>Search</button>."
    )
    max_turns = 25
    max_instances = 6  # tabs; more than a few for each core only wait for each other
    fork: ClassVar[ForkKind] = "replay"
    safety: ClassVar[Safety] = "async"

    def __init__(
        self,
        *,
        split: str = "train",
        products: int | str = 3000,
        goals: str | None = None,
        catalogue_seed: int = 0,
        form: Form = "dom",
        executable: str | None = None,
        max_turns: int | None = None,
    ) -> None:
        super().__init__(
            split=split, products=products, goals=goals, catalogue_seed=catalogue_seed, max_turns=max_turns
        )
        if form not in FORMS:
            raise UserError(f"form must be {' or '.join(map(repr, FORMS))}, not {form!r}")
        playwright_module()
        self.form, self.executable = form, find_chromium(executable)
        self.view = View()
        self._tab: Tab | None = None
        self._site: Site | None = None
        self._token = ""

    # -- the task ----------------------------------------------------------------------------------

    async def task(self) -> str:  # type: ignore[override]
        goal = self.begin()
        tab = await self._usable()
        assert self._site is not None
        self._site.sessions[self._token] = Session(self.shop, goal)
        await tab.run(self._open(tab, f"{self._site.origin}/{self._token}/"), where="reset")
        return f"Instruction: {goal.instruction}\n{self._shown()}"

    async def _usable(self) -> Tab:
        """The tab of the last episode, or a new one where that is broken or of another loop."""
        tab = self._tab
        if tab is not None and not tab.broken and not tab.closed and tab.loop is asyncio.get_running_loop():
            return tab
        if tab is not None:
            self._tab = None
            await tab.close()
        if self._site is None:
            self._site, self._token = DOORS.enter()
        self._tab = tab = await open_tab(self._site.origin, executable=self.executable, viewport=VIEWPORT)
        await tab.run(prepare(tab, still=True), where="reset")
        return tab

    async def _open(self, tab: Tab, address: str) -> None:
        await tab.page.goto(address, wait_until="load")
        tab.take_dialogs()
        self.view = await Hands(tab, Looks(skip=SKIP)).see(0)

    # -- tools -------------------------------------------------------------------------------------

    @tool
    async def click(self, id: int) -> str:
        """Click an element.

        Args:
            id: its number.
        """
        return await self._do(lambda hands: hands.click(id))

    @tool
    async def type(self, id: int, text: str) -> str:
        """Replace what is in a text field.

        Args:
            id: its number.
            text: what to type.
        """
        return await self._do(lambda hands: hands.type(id, text))

    @tool
    async def press(self, key: str) -> str:
        """Press a key.

        Args:
            key: e.g. Enter, Tab, ArrowDown, x.
        """
        return await self._do(lambda hands: hands.press(key))

    @tool
    async def scroll(self, direction: Direction, id: int | None = None) -> str:
        """Scroll an element, or the page.

        Args:
            direction: where to.
            id: the number of the element; without it, the page.
        """
        return await self._do(lambda hands: hands.scroll(id, direction))

    async def _do(self, act: Callable[[Hands], Coroutine[Any, Any, None]]) -> str:
        tab, session = self._tab, self._session()
        if tab is None or session is None:
            raise InfrastructureFailure("step", "browser", "no page is open")
        hands = Hands(tab, Looks(skip=SKIP))

        async def work() -> None:
            await act(hands)
            await tab.page.evaluate(IDLE)
            self.view = await hands.see(0)

        await tab.run(work(), where="tool")
        self.arrive(session.state)
        return self._shown()

    def _session(self) -> Session | None:
        return self._site.sessions.get(self._token) if self._site else None

    def _shown(self) -> str:
        return render(self.view, self.form)

    # -- the end -----------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Close the page and leave the site. Idempotent."""
        self.closed = True
        tab, self._tab = self._tab, None
        if tab is not None:
            await tab.close()
        await asyncio.to_thread(self._leave)

    def close(self) -> None:
        self.closed = True
        tab, self._tab = self._tab, None
        if tab is not None:
            tab.close_sync()
        self._leave()

    def _leave(self) -> None:
        site, self._site = self._site, None
        if site is not None:
            DOORS.leave(self._token)

    # -- for training and tests --------------------------------------------------------------------

    def state_key(self) -> str:
        """As of the text form, and what the page shows (what was typed, the numbers of the elements)."""
        return digest(super().state_key() + self._shown())

    def expert(self) -> Message:
        """The moves of the text form, with the elements that stand for them."""
        act = expert_move(self.shop, self.wanted(), self.state)
        if act.kind == "click":
            return call("click", id=self._find(act).id)
        field = next(item for item in self.view.items if item.get("type") == "text")
        if field.get("value") != act.target:
            return call("type", id=field.id, text=act.target)
        return call("click", id=self._find(Act("click", "search")).id)

    def _find(self, act: Act) -> Item:
        """The element that does an action."""
        wanted = act.target.lower()
        if self.state.page == "results" and (place := self.shop.by_asin.get(act.target)) is not None:
            links = [item for item in self.view.items if item.tag == "a"]
            return links[on_page(self.shop.search(self.state.query), self.state.number).index(place)]
        for item in self.view.items:
            if item.id is not None and wanted in (item.text.lower(), item.label.lower()):
                return item
        raise InfrastructureFailure("expert", "ShopWeb", f"the page has no {act.target!r}")
