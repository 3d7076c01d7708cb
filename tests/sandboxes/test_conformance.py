"""The conformance suite, against the backends that are here and against backends that are broken on purpose."""

import asyncio
import shutil
from pathlib import Path

import pytest

from agentrl.core.failures import UnknownName, UserError
from agentrl.sandboxes.base import Backend, ExecResult
from agentrl.sandboxes.bubblewrap import Bubblewrap
from agentrl.sandboxes.conformance import CASES, run_conformance
from agentrl.sandboxes.docker import Docker, connect
from agentrl.sandboxes.local import Local

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap: apt-get install bubblewrap")


def shortcomings(report):
    return {item.name: item.detail for item in report.cases if not item.ok}


def test_the_suite_is_of_the_size_that_is_promised():
    names = [item.name for item in CASES]
    assert len(names) >= 55
    assert len(set(names)) == len(names)


@needs_bwrap
@pytest.mark.slow
async def test_bubblewrap_holds_everything():
    report = await run_conformance(Bubblewrap())
    assert shortcomings(report) == {}
    assert report.ok
    assert report.to_dict()["backend"] == "bubblewrap"


@needs_bwrap
@pytest.mark.slow
async def test_bubblewrap_holds_what_is_quickly_seen():
    report = await run_conformance(Bubblewrap(), only=("files", "kernel", "commands", "deadlines.sleep"))
    assert shortcomings(report) == {}
    assert {item.name.partition(".")[0] for item in report.cases} == {
        "files",
        "kernel",
        "commands",
        "deadlines",
    }


@pytest.mark.docker
@pytest.mark.slow
async def test_docker_holds_everything():
    try:
        await asyncio.to_thread(connect)
    except UserError as reason:
        pytest.skip(str(reason))
    report = await run_conformance(Docker())
    assert shortcomings(report) == {}


async def test_local_holds_what_it_can_and_says_what_it_cannot():
    report = await run_conformance(Local(unsafe=True), only=("files", "kernel", "commands.exit_codes"))
    assert shortcomings(report) == {}
    skipped = {item.name: item.detail for item in report.cases if item.skipped}
    assert skipped["kernel.nobody_in_particular"] == "the local backend isolates nothing"
    assert "commands.exit_codes" not in skipped


class Faulty(Backend):
    """The local backend with one method of its sandboxes replaced."""

    name = "faulty"

    def __init__(self, method, replacement):
        self.method, self.replacement = method, replacement

    async def start(self, spec):
        box = await Local(unsafe=True).start(spec)
        true = getattr(box, self.method)

        async def replaced(*args, **kwargs):
            return await self.replacement(box, true, *args, **kwargs)

        setattr(box, self.method, replaced)
        return box


async def caught(method, replacement, *names):
    report = await run_conformance(Faulty(method, replacement), only=names)
    assert not report.ok
    return shortcomings(report)


@pytest.mark.slow
async def test_a_backend_without_deadlines_is_caught():
    async def patient(box, true, command, *, timeout=30.0, **kwargs):
        return await true(command, timeout=30.0, **kwargs)

    found = await caught("exec", patient, "deadlines.sleep", "deadlines.timeouts_out_of_range")
    assert "has not ended" in found["deadlines.sleep"]
    assert "a timeout of 0 is taken" in found["deadlines.timeouts_out_of_range"]


async def test_a_backend_that_follows_links_out_is_caught():
    async def trusting(box, true, path, **kwargs):
        return Path(box.workspace, path).read_bytes()

    found = await caught("read", trusting, "files.paths_that_lead_out", "files.links_that_lead_out")
    assert set(found) == {"files.paths_that_lead_out", "files.links_that_lead_out"}


async def test_a_backend_that_makes_results_up_is_caught():
    async def liar(box, true, command, **kwargs):
        return ExecResult("", "", 0)

    found = await caught("exec", liar, "commands.exit_codes", "commands.missing_program", "output.flood")
    assert set(found) == {"commands.exit_codes", "commands.missing_program", "output.flood"}


async def test_a_backend_that_does_not_clean_up_is_caught():
    async def lazy(box, true):
        return None

    found = await caught("reset", lazy, "forking.reset_is_fresh", "limits.many_small_files")
    assert set(found) == {"forking.reset_is_fresh", "limits.many_small_files"}


async def test_an_unknown_case_is_an_error_that_names_the_nearest():
    with pytest.raises(UnknownName, match="files"):
        await run_conformance(Local(unsafe=True), only=("file",))
