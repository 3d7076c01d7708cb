"""No isolation at all: commands of trusted code, run on this machine as this user. It refuses unless told so.

The same supervisor keeps deadlines and bounds output; nothing else is held. For debugging, and for machines on which
neither Docker nor bubblewrap can work.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from agentrl.core.portal import finish
from agentrl.sandboxes import ledger
from agentrl.sandboxes.base import Backend, SandboxFailure, SandboxSpec, SandboxUnavailable
from agentrl.sandboxes.owner import Label
from agentrl.sandboxes.spawn import gone, spawn
from agentrl.sandboxes.supervised import Handle, SupervisedSandbox
from agentrl.sandboxes.surroundings import (
    COMMON,
    SUPERVISOR,
    greeted,
    refuse_docker_only,
    supervisor_settings,
)


class Local(Backend):
    """See the module.

    Args:
        unsafe: the user knows that nothing is isolated.
    """

    name = "local"

    def __init__(self, *, unsafe: bool = False) -> None:
        self.unsafe = unsafe

    async def start(self, spec: SandboxSpec) -> SupervisedSandbox:
        if not self.unsafe:
            raise SandboxUnavailable(
                "the local backend isolates nothing: pass unsafe=true (--sandbox local-unsafe) for code that you trust, "
                "else use bubblewrap or docker"
            )
        refuse_docker_only(spec, self.name)
        await ledger.sweep(self.name)
        label = Label.new()
        folder = Path(tempfile.mkdtemp(prefix=f"{ledger.LOCAL}{label.owner}@"))
        (folder / "workspace").mkdir()
        workspace = str(folder / "workspace")
        settings = supervisor_settings(spec, workspace, own_ipc=False, watched=True)
        argv = [sys.executable, "-I", "-S", str(SUPERVISOR), repr(settings), label.text()]
        env = {**COMMON, "PATH": os.environ.get("PATH", os.defpath), "HOME": workspace}

        async def clear() -> None:
            await asyncio.to_thread(remove_tree, folder)

        try:
            process, ours = await spawn(argv, cwd=workspace, env=env)
        except BaseException:
            await finish(clear())
            raise

        async def destroy() -> None:
            # The supervisor ends by itself when its input does, and only it knows what is to die with it.
            try:
                async with asyncio.timeout(10):
                    while process.poll() is None:
                        await asyncio.sleep(0.002)
            except TimeoutError:
                raise SandboxFailure(label.sandbox, "its supervisor did not end") from None
            finally:
                await gone(process)
                await clear()

        link = await greeted(ours, label.sandbox, spec.start_seconds, destroy)
        handle = Handle(destroy, folders=(".",))
        sandbox = SupervisedSandbox(label.sandbox, self.name, spec, link, handle, self.start)
        sandbox.workspace = workspace
        return sandbox


def remove_tree(folder: Path) -> None:
    """Remove a folder whatever the modes in it."""
    opened = [folder]
    while opened:
        place = opened.pop()
        os.chmod(place, 0o700)  # before it is listed
        opened += [Path(item.path) for item in os.scandir(place) if item.is_dir(follow_symlinks=False)]
    shutil.rmtree(folder)
