"""An environment whose episode has a sandbox of its own.

Invariant: an episode never sees a sandbox that another one has used; it holds none before a tool needs it and none after
its end; what grades it is a different sandbox, started fresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.fork import ForkKind, Snapshot, copy_in, copy_out
from agentrl.core.messages import Action, Messages, Observation
from agentrl.core.portal import run_sync
from agentrl.sandboxes.backends import backend, spec_of
from agentrl.sandboxes.base import Sandbox, SandboxSnapshot
from agentrl.sandboxes.pool import Pool, leases

LIMIT = 256  # sandboxes of one pool; episodes at once are bounded by the rollout, this by the machine


class SandboxEnv(ToolEnv):
    """Base class of environments with a sandbox. Write `assignment()` instead of `task()`; in tools, `await self.box()`.

    Args:
        sandbox: `bubblewrap`, `docker`, or `local-unsafe` (isolates nothing).
        sandbox_settings: fields of `SandboxSpec`, e.g. `{"memory": 1073741824}`, or the same as JSON text.
        warm: sandboxes that wait ready, for all environments of this kind together.
        split, max_turns: as of every environment.
    """

    fork: ClassVar[ForkKind] = "native"
    safety: ClassVar[Safety] = "async"
    shared: ClassVar[frozenset[str]] = frozenset(
        {"backend", "sandbox_spec", "warm", "_pool", "_loop", "_box"}
    )

    def __init__(
        self,
        *,
        sandbox: str = "bubblewrap",
        sandbox_settings: Mapping[str, Any] | str | None = None,
        warm: int = 2,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        self.backend, self.sandbox_spec, self.warm = backend(sandbox), spec_of(sandbox_settings), warm
        self._pool: Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._box: Sandbox | None = None
        super().__init__(split=split, max_turns=max_turns)

    # -- what an author writes ---------------------------------------------------------------------

    def assignment(self) -> str | Messages:
        """Draw the task of this episode and say what the policy is asked. No sandbox is there yet."""
        raise NotImplementedError(f"{type(self).__name__} must define assignment()")

    async def furnish(self, box: Sandbox) -> None:
        """Put into a fresh sandbox what the task begins with."""

    # -- what an author calls ----------------------------------------------------------------------

    async def box(self) -> Sandbox:
        """The episode's sandbox; made when it is first asked for.

        Raises:
            SandboxUnavailable: this backend cannot work here.
            SandboxFailure: none could be had.
        """
        if self._box is None:
            self._box = await self._begun(self.furnish)
        return self._box

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Sandbox]:
        """Another sandbox, of the same kind, that nothing has touched: for grading."""
        box = await self._lease().acquire()
        try:
            yield box
        finally:
            await box.close()

    async def leave(self) -> None:
        """End the episode's sandbox."""
        box, self._box = self._box, None
        if box is not None:
            await box.close()

    async def _begun(self, begin: Callable[[Sandbox], Awaitable[None]]) -> Sandbox:
        """A sandbox of the pool, after `begin`."""
        box = await self._lease().acquire()
        try:
            await begin(box)
        except BaseException:
            await box.close()
            raise
        return box

    def _lease(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool.closed:
            self._pool = leases.take(self.backend, self.sandbox_spec, warm=self.warm, limit=LIMIT)
            self._loop = loop
        if self._loop is not loop:
            raise UserError(
                f"{type(self).__name__} is used from two event loops: use either reset/step or areset/astep"
            )
        return self._pool

    # -- the machinery -----------------------------------------------------------------------------

    async def task(self) -> str | Messages:  # type: ignore[override]
        await self.leave()
        return self.assignment()

    async def _play(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        played = await super()._play(action)
        if self._over:
            await self.leave()
        return played

    async def aclose(self) -> None:
        """End the episode's sandbox and the lease of the pool; idempotent."""
        self.closed = True
        try:
            await self.leave()
        finally:
            pool, self._pool = self._pool, None
            if pool is not None:
                await leases.give_back(pool)

    def close(self) -> None:
        gone = self._loop is not None and self._loop.is_closed()  # and with it everything of ours
        if not gone and (self._box is not None or self._pool is not None):
            run_sync(self.aclose())
        self.closed = True

    # -- forking -----------------------------------------------------------------------------------

    async def asnapshot(self) -> Snapshot:
        """The state of the episode and the files of its sandbox. Background processes are not part of it."""
        files = await self._box.snapshot() if self._box is not None else None
        return Snapshot("native", type(self).__qualname__, (copy_out(self, self.shared), files))

    async def arestore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot, in a sandbox of its own."""
        owner = type(self).__qualname__
        if snapshot.owner != owner or snapshot.kind != "native":
            raise UserError(f"a {snapshot.owner} snapshot ({snapshot.kind}) does not fit {owner} (native)")
        state: dict[str, Any]
        files: SandboxSnapshot | None
        state, files = snapshot.payload
        if files is not None and files.backend != self.backend.name:
            raise UserError(f"a snapshot of {files.backend} does not fit a {self.backend.name} sandbox")
        await self.leave()
        copy_in(self, state, self.shared)
        if files is not None:
            self._box = await self.revive(files)

    async def revive(self, files: SandboxSnapshot) -> Sandbox:
        """A sandbox with these files."""
        return await self._begun(lambda box: box.restore(files))

    def snapshot(self) -> Snapshot:
        return run_sync(self.asnapshot())

    def restore(self, snapshot: Snapshot) -> None:
        run_sync(self.arestore(snapshot))
