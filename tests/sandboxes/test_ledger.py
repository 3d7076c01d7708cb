"""The ledger and its reaper: what a killed runner leaves is gone after the next start."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentrl.sandboxes import cgroups, ledger
from agentrl.sandboxes.backends import backend
from agentrl.sandboxes.base import SandboxSpec
from agentrl.sandboxes.owner import Label, me

RUNNER = Path(__file__).with_name("chaos_runner.py")
DEAD = "999999:1:{namespace}:{boot}"


def dead_owner() -> str:
    return DEAD.format(namespace=me().namespace, boot=me().boot)


def of(sandbox: str) -> list[ledger.Entry]:
    return [entry for entry in ledger.entries() if entry.sandbox == sandbox]


def started(label: Label) -> subprocess.Popen[bytes]:
    """A process that carries the label, once its command line is there to be read."""
    script = "import time; print(1, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", script, label.text()], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"1\n"
    return child


async def test_a_live_sandbox_is_listed_and_left_alone(some_backend):
    async with await some_backend.start(SandboxSpec()) as box:
        found = of(box.id)
        assert found
        assert all(entry.alive for entry in found)
        assert {"bubblewrap": "process", "docker": "container"}[some_backend.name] in {e.kind for e in found}
        ledger.reap(ledger.entries())
        assert (await box.exec("echo still here")).stdout == "still here\n"
    assert of(box.id) == []


def test_a_process_of_a_dead_owner_is_killed():
    label = Label("agentrl-test-dead", "r", dead_owner(), 1.0)
    child = started(label)
    try:
        reaped = ledger.reap([entry for entry in ledger.processes() if entry.sandbox == label.sandbox])
        assert [entry.id for entry in reaped.removed] == [str(child.pid)]
        assert child.wait(5) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()


def test_an_unknown_owner_is_left_alone_unless_asked_for():
    label = Label("agentrl-test-unknown", "r", "1:1:1:elsewhere", 1.0)
    child = started(label)
    try:
        found = [entry for entry in ledger.processes() if entry.sandbox == label.sandbox]
        assert [entry.alive for entry in found] == [None]
        assert ledger.reap(found).removed == ()
        assert len(ledger.reap(found, unknown=True).removed) == 1
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(not cgroups.hierarchy(), reason="control groups cannot be made here")
def test_a_group_of_a_dead_owner_goes_with_what_is_in_it():
    group = cgroups.Group.make(f"agentrl-test@{dead_owner()}", memory=1 << 26, processes=8, cpus=1)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    for folder in group.folders:
        (folder / "cgroup.procs").write_text(str(child.pid))
    ledger.reap([entry for entry in ledger.groups() if entry.id == group.name])
    assert child.wait(5) == -signal.SIGKILL
    assert not any(folder.exists() for folder in group.folders)


@pytest.mark.docker
def test_containers_images_networks_and_volumes_of_a_dead_owner_go():
    client = ledger.engine()
    asyncio.run(backend("docker").prepare(SandboxSpec()))
    label = Label("agentrl-test-dead", "r", dead_owner(), 1.0)
    container = client.containers.run(
        "agentrl/sandbox:1", ["sleep", "100"], detach=True, labels=label.labels(), network_mode="none"
    )
    container.commit(
        "agentrl/snapshot", "test", changes=[f"LABEL {k}={v}" for k, v in label.labels().items()]
    )
    client.volumes.create("agentrl-test", labels=label.labels())
    mine = [entry for entry in ledger.docker_entries(client) if entry.sandbox == label.sandbox]
    assert {entry.kind for entry in mine} == {"container", "image", "volume"}
    assert ledger.reap(mine).left == ()
    assert [entry for entry in ledger.docker_entries(client) if entry.sandbox == label.sandbox] == []


@pytest.mark.slow
def test_a_killed_runner_leaves_nothing_after_the_next_start(some_backend, tmp_path):
    """SIGKILL in the middle of eight parallel episodes, ten times."""
    for round_ in range(10):
        runner = subprocess.Popen(
            [sys.executable, str(RUNNER), some_backend.name],
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert runner.stdout.readline() == b"episode\n"
        time.sleep(0.07 * round_)
        owned = [entry for entry in ledger.entries() if entry.owner.startswith(f"{runner.pid}:")]
        assert owned, "nothing was running: the test would prove nothing"
        runner.kill()
        runner.wait()
        runner.stdout.close()
        next_start = (
            "import asyncio; from agentrl.sandboxes.backends import backend; from agentrl.sandboxes.base \
import SandboxSpec; asyncio.run(backend('{}').check(SandboxSpec()))"
        )
        subprocess.run([sys.executable, "-c", next_start.format(some_backend.name)], check=True, timeout=60)
        # What ends by itself, because its runner did, may still be on its way.
        deadline = time.monotonic() + 10
        while left := [entry for entry in ledger.entries() if entry.owner.startswith(f"{runner.pid}:")]:
            assert time.monotonic() < deadline, f"round {round_}: {left}"
            time.sleep(0.05)
