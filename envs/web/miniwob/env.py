"""`MiniWoB-v0`: small tasks on real web pages, in a real browser.

Invariants: an episode is a fresh document whose chance is seeded and whose clock stands still between actions, so a seed
and a path mean the same pages everywhere; what is rewarded is what the page itself says, without its time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar, Literal

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import InfrastructureFailure, ToolError, UserError
from agentrl.core.messages import Action, Observation
from agentrl.core.tool import tool
from agentrl.envs.generated import as_names, stable
from agentrl.envs.web.browser import Tab, find_chromium, open_tab, playwright_module
from agentrl.envs.web.miniwob.experts import EXPERTS
from agentrl.envs.web.miniwob.sight import Sight
from agentrl.envs.web.miniwob.sites import address, chosen_tasks, origin, pictures
from agentrl.envs.web.observe import FORMS, Form, View, render
from agentrl.envs.web.page import LONGEST_WAIT_MS, SETTLE_MS, Direction, Hands, Looks, prepare

VIEWPORT = (400, 400)
SKIP = "#reward-display, #click-canvas, #sync-task-cover, #query"
BEGIN = """async ([seed, limit, pictures]) => {
  await __agentrl.load(pictures);
  const style = document.createElement('style');
  style.textContent = '*{transition:none!important;animation:none!important;caret-color:transparent!important}' +
    '#reward-display,#click-canvas{pointer-events:none!important}';
  document.head.appendChild(style);
  core.EPISODE_MAX_TIME = limit;
  Math.seedrandom(seed);
  core.startEpisodeReal();
  const asked = core.getUtterance();
  return typeof asked === 'string' ? asked : asked.utterance;
}"""
RESULT = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"
NO_LIMIT_MS = 10**9


class MiniWobEnv(ToolEnv):
    """Small tasks on real web pages: click, type, choose, drag, read.

    Args:
        tasks: names of tasks or groups (`click`, `text`, `form`, `email`, `read`, `drag`), `expert` (the default:
            those that have a scripted expert) or `all`. Seeds go through them in turn.
        form: what a page is shown as: `dom` (tags) or `tree` (roles and names).
        executable: the browser; by default `AGENTRL_CHROMIUM` or the first Chromium on the PATH.
        split: pages of different splits are seeded differently.
        max_turns: turns after which the episode is cut off.

    Raises:
        UserError: unknown tasks, no browser, no Playwright or no `miniwob`.
    """

    instructions = "Do the task on the web page with the tools. Elements that you can act on have a number: [3]<button>OK</button>."
    max_turns = 15
    fork: ClassVar[ForkKind] = "replay"
    safety: ClassVar[Safety] = "async"
    max_instances: ClassVar[int | None] = 16  # contexts of one browser: about 100 MB each
    reset_seconds: float = 30.0
    step_seconds: float = 10.0

    def __init__(
        self,
        *,
        tasks: str | Sequence[str] = ("expert",),
        form: Form = "dom",
        executable: str | None = None,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        if form not in FORMS:
            raise UserError(f"form must be {' or '.join(map(repr, FORMS))}, not {form!r}")
        self.tasks = chosen_tasks(as_names("tasks", tasks), EXPERTS)
        playwright_module()
        self.form, self.executable = form, find_chromium(executable)
        self.looks = Looks(every=True, skip=SKIP)
        self.name, self.utterance, self.view = "", "", View()
        self._tab: Tab | None = None

    # -- the task ----------------------------------------------------------------------------------

    async def task(self) -> str:  # type: ignore[override]
        count = len(self.tasks)
        turn = stable(f"{self.split}/{self.task_seed // count}")
        self.name = self.tasks[(self.task_seed + turn) % count]
        tab = await self._usable()
        await self._run(self._open(f"{self.name}/{self.split}/{self.task_seed}"), tab, reset=True)
        return f"Task: {self.utterance}\n{self._shown()}"

    async def _usable(self) -> Tab:
        """The tab of the last episode, or a new one where that is broken or of another loop."""
        tab = self._tab
        if tab is not None and not tab.broken and not tab.closed and tab.loop is asyncio.get_running_loop():
            return tab
        await self._leave()
        self._tab = tab = await open_tab(origin(), executable=self.executable, viewport=VIEWPORT)
        await tab.run(prepare(tab, still=True), where="reset")
        return tab

    async def _open(self, seed: str) -> None:
        tab = self._tab
        assert tab is not None
        await tab.page.mouse.move(VIEWPORT[0] - 1, VIEWPORT[1] - 1)
        await tab.page.goto(address(self.name), wait_until="load")
        self.utterance = await tab.page.evaluate(BEGIN, [seed, NO_LIMIT_MS, pictures(self.name)])
        tab.take_dialogs()
        self.view = await Hands(tab, self.looks).see(frames=False)

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
        """Replace what is in a text field. Dates are YYYY-MM-DD, times HH:MM.

        Args:
            id: its number.
            text: what to type.
        """
        return await self._do(lambda hands: hands.type(id, text))

    @tool
    async def select(self, id: int, option: str) -> str:
        """Choose an option of a list; in a list that takes several, one more.

        Args:
            id: the number of the list.
            option: its words.
        """
        return await self._do(lambda hands: hands.select(id, option))

    @tool
    async def press(self, key: str) -> str:
        """Press a key.

        Args:
            key: e.g. Enter, Tab, ArrowDown, Control+a, x.
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

    @tool
    async def drag(self, id: int, to: int | None = None, dx: int = 0, dy: int = 0) -> str:
        """Drag an element with the mouse.

        Args:
            id: its number.
            to: the number of the element to drop it on; without it, dx and dy count.
            dx: pixels to the right.
            dy: pixels down.
        """
        return await self._do(lambda hands: hands.drag(id, to, dx, dy))

    @tool
    async def hover(self, id: int) -> str:
        """Move the mouse over an element.

        Args:
            id: its number.
        """
        return await self._do(lambda hands: hands.hover(id))

    @tool
    async def click_at(self, x: int, y: int) -> str:
        """Click a point of the page.

        Args:
            x: pixels from the left.
            y: pixels from the top.
        """
        return await self._do(lambda hands: hands.click_at(x, y))

    @tool
    async def wait(self, ms: int) -> str:
        """Let time pass on the page.

        Args:
            ms: milliseconds, up to 10000.
        """
        if not 0 <= ms <= LONGEST_WAIT_MS:
            raise ToolError(f"ms must be 0 to {LONGEST_WAIT_MS}", "invalid_arguments")
        return await self._do(None, ms)

    # -- the machinery -----------------------------------------------------------------------------

    async def _do(self, act: Any, ms: int = SETTLE_MS) -> str:
        tab = self._tab
        if tab is None:
            raise InfrastructureFailure("step", "browser", "no page is open")
        hands = Hands(tab, self.looks)

        async def work() -> tuple[bool, float]:
            if act is not None:
                await act(hands)
            self.view = await hands.see(ms)
            done, reward = await tab.page.evaluate(RESULT)
            return bool(done), float(reward)

        done, reward = await self._run(work(), tab)
        said = "".join(f"dialog: {text}\n" for text in tab.take_dialogs())
        if done:
            self.finish(max(0.0, min(1.0, reward)), success=reward > 0)
            return said + "The task is over."
        return said + self._shown()

    async def _run(self, work: Coroutine[Any, Any, Any], tab: Tab, reset: bool = False) -> Any:
        where: Literal["reset", "tool"] = "reset" if reset else "tool"
        return await tab.run(work, seconds=self.reset_seconds if reset else self.step_seconds, where=where)

    def _shown(self) -> str:
        return render(self.view, self.form)

    async def _leave(self) -> None:
        tab, self._tab = self._tab, None
        if tab is not None:
            await tab.close()

    async def aclose(self) -> None:
        """Close the page; with the last one the browser. Idempotent."""
        self.closed = True
        await self._leave()

    def close(self) -> None:
        self.closed = True
        tab, self._tab = self._tab, None
        if tab is not None:
            tab.close_sync()

    # -- for training and tests --------------------------------------------------------------------

    def state_key(self) -> str:
        """The task, what it asks and what the page shows."""
        return digest("\0".join((self.name, self.utterance, self._shown())))

    def expert(self) -> Action | None:
        """The scripted next action for this task; None where there is no script."""
        known = EXPERTS.get(self.name)
        return known(Sight(self.utterance, self.view)) if known else None

    async def _begin(self, seed: int | None, options: Any) -> tuple[Observation, dict[str, Any]]:
        observation, info = await super()._begin(seed, options)
        return observation, {**info, "task": self.name}
