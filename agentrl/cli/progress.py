"""Progress on stderr: bars with time left, success so far and tokens per second; Ctrl-C as an event."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from agentrl.cli.output import err
from agentrl.rollout import RolloutProgress


@asynccontextmanager
async def interruptible() -> AsyncIterator[asyncio.Event]:
    """An event that the first Ctrl-C sets; the second one interrupts for good."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)
        err.print("stopping: what is finished will be saved (Ctrl-C again to quit at once)", style="yellow")

    loop.add_signal_handler(signal.SIGINT, on_signal)
    loop.add_signal_handler(signal.SIGTERM, on_signal)
    try:
        yield stop
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


class Bar:
    """One progress bar; `note` is shown at its end."""

    def __init__(self, title: str, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", style="dim"),
            console=err,
            transient=not err.is_terminal,
        )
        self._task = self._bar.add_task(title, total=total, note="")

    def show(self, done: float, note: str = "") -> None:
        self._bar.update(self._task, completed=done, note=note)

    def __enter__(self) -> Bar:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)


class RolloutBar(Bar):
    """Episodes, success so far and tokens per second."""

    def __enter__(self) -> RolloutBar:
        super().__enter__()
        return self

    def update(self, progress: RolloutProgress) -> None:
        note = f"success {100 * progress.success:.0f}%  {progress.tokens_per_second:,.0f} tokens/s"
        self.show(progress.done, note)
