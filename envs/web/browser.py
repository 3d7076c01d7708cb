"""One Chromium per event loop, shared by every environment of that loop; each has a context and a page of its own.

Invariants: every call has a deadline; what misses it, a crashed page or a dead browser is an `InfrastructureFailure`, and
the next `open_tab` works again; the last tab that closes ends the browser; the browser ends when this process does, however
that ends, because it lives on a pipe to a driver that lives on a pipe to us; no page reaches the network.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from agentrl.core.failures import (
    Boundary,
    DeadlineExceeded,
    InfrastructureFailure,
    MissingExtra,
    ToolError,
    UserError,
)

T = TypeVar("T")
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
)
OPENING = 4  # tabs that are opened at once
START_SECONDS, CALL_SECONDS, CLOSE_SECONDS = 60.0, 10.0, 5.0
PROFILES = "playwright_chromiumdev_profile-*"
STALE_SECONDS = 60.0
LONGEST_FOLDER = 40  # of 108 bytes, Chromium's own names need more than 50


def find_chromium(executable: str | None = None) -> str:
    """The browser to start: the argument, `AGENTRL_CHROMIUM`, or the first of `NAMES` on the PATH.

    Raises:
        UserError: there is none.
    """
    for given in (executable, os.environ.get("AGENTRL_CHROMIUM")):
        if given:
            if found := shutil.which(given):
                return found
            raise UserError(f"no browser at {given!r}: name an executable, or apt-get install chromium")
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise UserError("no browser found: apt-get install chromium (or set AGENTRL_CHROMIUM)")


def environment() -> dict[str, str | float | bool]:
    """What the browser is started with: it puts a socket into the folder for temporary files, whose path has to be short."""
    folder = tempfile.gettempdir()
    return {**os.environ, "TMPDIR": folder if len(folder) <= LONGEST_FOLDER else "/tmp"}


def playwright_module() -> Any:
    """Playwright's asynchronous face.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import playwright.async_api as module
    except ImportError as error:
        raise MissingExtra("web", "a browser environment") from error
    return module


class Chromium:
    """The browser of one event loop: started with the first tab, ended with the last."""

    def __init__(self, executable: str) -> None:
        self.executable = executable
        self.tabs: set[Tab] = set()
        self._lock = asyncio.Lock()
        self._opening = asyncio.Semaphore(OPENING)
        self._playwright: Any = None
        self._browser: Any = None

    async def open(self, origin: str, viewport: tuple[int, int]) -> Tab:
        """A context with one blank page, in a browser that is alive.

        That a driver was killed shows only when it is asked: then a second browser is tried.
        """
        try:
            return await self._open(origin, viewport)
        except DeadlineExceeded:
            raise
        except InfrastructureFailure:
            return await self._open(origin, viewport)

    async def _open(self, origin: str, viewport: tuple[int, int]) -> Tab:
        async with self._lock:
            if self._browser is None or not self._browser.is_connected():
                await self._stop()
                await self._start()
            browser, tab = self._browser, Tab(self, origin)
            self.tabs.add(tab)
        try:
            async with self._opening:
                await within(tab.begin(browser, viewport), START_SECONDS, "reset")
        except BaseException as error:
            await self.release(tab)
            if isinstance(error, InfrastructureFailure) and not isinstance(error, DeadlineExceeded):
                async with self._lock:
                    if self._browser is browser:
                        await self._stop()
            raise
        return tab

    async def _start(self) -> None:
        module = playwright_module()
        await asyncio.to_thread(reap)
        self._playwright = await within(module.async_playwright().start(), START_SECONDS, "reset")
        self._browser = await within(
            self._playwright.chromium.launch(
                executable_path=self.executable,
                args=list(FLAGS),
                timeout=START_SECONDS * 1000,
                env=environment(),
            ),
            START_SECONDS,
            "reset",
        )

    async def _stop(self) -> None:
        """End the browser; whoever still has a tab of it is told at their next call."""
        browser, driver, self._browser, self._playwright = self._browser, self._playwright, None, None
        for tab in self.tabs:
            tab.spoil("the browser ended")
        for end in (browser and browser.close, driver and driver.stop):
            if end is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(end(), CLOSE_SECONDS)

    async def release(self, tab: Tab) -> None:
        """Close a tab; with the last one the browser."""
        if tab.context is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(tab.context.close(), CLOSE_SECONDS)
        async with self._lock:
            self.tabs.discard(tab)
            if not self.tabs:
                await self._stop()


class Tab:
    """One page in a context of its own. Its coroutines run in the loop that opened it, wherever they are awaited.

    Attributes:
        page: Playwright's page.
        dialogs: what alerts, confirmations and prompts said since they were last taken; each was dismissed.
        broken: why the page can no longer be used, or empty.
    """

    def __init__(self, chromium: Chromium, origin: str) -> None:
        self.chromium, self.origin = chromium, origin
        self.loop = asyncio.get_running_loop()
        self.context: Any = None
        self.page: Any = None
        self.cdp: Any = None
        self.dialogs: list[str] = []
        self.broken = ""
        self.closed = False

    async def begin(self, browser: Any, viewport: tuple[int, int]) -> None:
        width, height = viewport
        files = self.origin.startswith("file:")
        self.context = await browser.new_context(
            viewport={"width": width, "height": height},
            service_workers="block",
            accept_downloads=False,
            locale="en-US",
            timezone_id="UTC",
            offline=files,
        )
        if not files:  # asking us about every request costs time; without a network there is nothing to ask
            await self.context.route("**/*", self._route)
        self.page = await self.context.new_page()
        self.page.set_default_timeout(CALL_SECONDS * 1000)
        self.page.on("dialog", self._dialog)
        self.page.on("crash", lambda _: self.spoil("the page crashed"))
        self.page.on("close", lambda _: self.spoil("the page was closed"))
        browser.on("disconnected", lambda _: self.spoil("the browser ended"))

    def spoil(self, why: str) -> None:
        """Say that the page can no longer be used; the first reason stays."""
        self.broken = self.broken or why

    async def _route(self, route: Any) -> None:
        url = route.request.url
        inside = url.startswith((self.origin, "data:", "blob:", "about:"))
        with contextlib.suppress(Exception):
            await (route.continue_() if inside else route.abort())

    async def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(f"{dialog.type}: {dialog.message}")
        with contextlib.suppress(Exception):
            await dialog.dismiss()

    def take_dialogs(self) -> list[str]:
        """What dialogs said since the last call."""
        said, self.dialogs = self.dialogs, []
        return said

    async def run(
        self, work: Coroutine[Any, Any, T], *, seconds: float = CALL_SECONDS, where: Boundary = "tool"
    ) -> T:
        """Await something of this page, in its loop, within a deadline.

        Raises:
            ToolError: as `work` raised it.
            DeadlineExceeded: no answer in time; the tab is broken.
            InfrastructureFailure: the page crashed, the browser ended or Playwright failed; the tab is broken.
        """
        if self.broken or self.closed or self.loop.is_closed():
            work.close()
            raise InfrastructureFailure(where, "browser", self.broken or "the page is closed")
        bounded = self._bounded(work, seconds, where)
        if asyncio.get_running_loop() is self.loop:
            return await bounded
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(bounded, self.loop))

    async def _bounded(self, work: Coroutine[Any, Any, T], seconds: float, where: Boundary) -> T:
        task = asyncio.ensure_future(work)
        end = self.loop.time() + seconds
        try:
            while not task.done():
                if self.broken:
                    raise InfrastructureFailure(where, "browser", self.broken)
                left = end - self.loop.time()
                if left <= 0:
                    self.spoil(f"no answer within {seconds:g} s")
                    raise DeadlineExceeded(where, "browser", seconds)
                await asyncio.wait([task], timeout=min(left, 0.25))
            return task.result()
        except (ToolError, InfrastructureFailure, asyncio.CancelledError):
            raise
        except Exception as error:
            self.spoil(f"{type(error).__name__}: {error}".splitlines()[0])
            raise InfrastructureFailure(where, "browser", self.broken) from error
        finally:
            if not task.done():
                task.cancel()
                task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def close(self) -> None:
        """Close the page and its context; idempotent, bounded."""
        if self.closed or self.loop.is_closed():
            return
        self.closed = True
        work = self.chromium.release(self)
        if asyncio.get_running_loop() is self.loop:
            await work
        elif self.loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))
        else:
            work.close()

    def close_sync(self) -> None:
        """`close` from code without a loop, or from within the tab's own loop (then it ends a little later)."""
        if self.closed or self.loop.is_closed() or not self.loop.is_running():
            return
        self.closed = True
        future = asyncio.run_coroutine_threadsafe(self.chromium.release(self), self.loop)
        try:
            inside = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            inside = False
        if not inside:
            with contextlib.suppress(Exception):
                future.result(4 * CLOSE_SECONDS)


_browsers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Chromium]] = (
    weakref.WeakKeyDictionary()
)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_browsers.clear)


async def open_tab(
    origin: str, *, executable: str | None = None, viewport: tuple[int, int] = (500, 500)
) -> Tab:
    """A fresh page in this loop's browser. Only addresses that begin with `origin` can be loaded.

    Raises:
        UserError: no browser or no Playwright.
        InfrastructureFailure: it did not start in time.
    """
    path = find_chromium(executable)
    playwright_module()
    mine = _browsers.setdefault(asyncio.get_running_loop(), {})
    if path not in mine:
        mine[path] = Chromium(path)
    return await mine[path].open(origin, viewport)


async def within(work: Awaitable[T], seconds: float, where: Boundary) -> T:
    """Await with a deadline; what goes wrong is ours."""
    try:
        return await asyncio.wait_for(work, seconds)
    except TimeoutError as error:
        raise DeadlineExceeded(where, "browser", seconds) from error
    except (InfrastructureFailure, UserError):
        raise
    except Exception as error:
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InfrastructureFailure(where, "browser", first) from error


def reap(seconds: float = STALE_SECONDS) -> list[Path]:
    """Remove the profiles of browsers that are gone: this user's, unused by any process, older than `seconds`."""
    removed: list[Path] = []
    found = [path for path in Path(tempfile.gettempdir()).glob(PROFILES) if stale(path, seconds)]
    used = "\0".join(command_lines()) if found else ""
    for path in found:
        if str(path) not in used:
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def stale(path: Path, seconds: float) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and time.time() - status.st_mtime > seconds


def command_lines() -> list[str]:
    """Of every process that this one may read."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().decode(errors="replace"))
    return lines
