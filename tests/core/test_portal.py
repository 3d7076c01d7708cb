from __future__ import annotations

import asyncio
import os

import pytest

from agentrl.core.portal import background_loop, run_sync


async def where() -> asyncio.AbstractEventLoop:
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def test_one_loop_for_all():
    assert run_sync(where()) is run_sync(where()) is background_loop()


async def test_from_within_another_loop():
    assert run_sync(where()) is not asyncio.get_running_loop()


def test_from_within_itself_is_refused():
    async def nested() -> None:
        run_sync(where())

    with pytest.raises(RuntimeError, match="inside the background loop"):
        run_sync(nested())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_gets_a_loop_of_its_own():
    run_sync(where())
    pid = os.fork()
    if pid == 0:
        run_sync(where())
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
