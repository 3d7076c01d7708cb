"""Episodes that branch off another one in the middle are the ones that would have been played from the root."""

import asyncio
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from agentrl import ToolEnv, register, tool
from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure
from agentrl.core.messages import call, text_of
from agentrl.core.tree import RolloutTree, Task
from agentrl.inference.policy import Sampled, View
from agentrl.rollout import RolloutSettings
from agentrl.rollout.episode import act, fork, play, record
from agentrl.rollout.group import graft
from agentrl.rollout.kinds import kind_of


class Dice(ToolEnv):
    """Throw, and keep what you like."""

    max_turns = 6

    def __init__(self, *, bad: str = "") -> None:
        super().__init__()
        self.bad = bad

    def task(self) -> str:
        self.kept: list[int] = []
        return "throw"

    @tool
    def throw(self, keep: bool) -> str:
        """Throw. Args: keep: keep it."""
        face = int(self.np_random.integers(1, 7))
        if keep:
            self.kept.append(face)
            self.add_reward(face / 6)
        return f"{face}: {self.kept}"

    def snapshot(self):
        if self.bad == "raise":
            raise RuntimeError("no room")
        if self.bad == "hang":
            time.sleep(1.0)
        return super().snapshot()


class ThreadDice(Dice):
    safety = "thread"


class InlineDice(Dice):
    safety = "inline"


class ProcessDice(Dice):
    safety = "process"


class AsyncDice(Dice):
    safety = "async"


class ReplayedDice(Dice):
    safety = "async"
    fork = "replay"

    @tool
    async def rest(self) -> str:
        """Wait a moment."""
        await asyncio.sleep(0.001)
        return "rested"


for _kind in (ThreadDice, InlineDice, ProcessDice, AsyncDice, ReplayedDice):
    register(f"branching/{_kind.__name__}-v0", _kind)


class BySeed:
    """The same two first actions always, then what the seed says."""

    def __init__(self, choices) -> None:
        self.choices = choices

    async def act(self, view: View) -> Sampled:
        number = (
            len(view.path) if len(view.path) < 2 else random.Random(view.seed).randrange(len(self.choices))
        )
        return Sampled(self.choices[number], (1,), (2,), (-0.5,), finish_reason="stop")


THROWS = [call("throw", keep=True), call("throw", keep=False)]
SEARCHES = [
    call("search", query="river"),
    call("search", query="capital"),
    call("search", query="mountain"),
    call("answer", text="Paris"),
]
SETTINGS = RolloutSettings(max_turns=6)


async def opened(task: Task):
    host = kind_of(task.env).new_host(task, SETTINGS)
    await host.open()
    return host


async def branches_and_direct(task: Task, policy: BySeed, seeds):
    """Four episodes that branch off after turn 2, and the same from the root."""
    trunk = await opened(task)
    shown, path = await trunk.reset(task), []
    for _ in range(2):
        sampled = await act(policy, View(path, shown.observation, trunk.tools, trunk.env), 10)
        before, shown = shown, await trunk.step(sampled.action)
        path.append(record(path, before, sampled, shown, False, (0.0, 0.0)))
    start = await fork(trunk, path, shown)
    hosts = [trunk, *[await opened(task) for _ in range(2)]]
    # In the trunk's own environment too, and twice in one.
    branches = [
        await play(host, task, policy, SETTINGS, seed=seed, start=start)
        for host, seed in zip([*hosts, hosts[1]], seeds, strict=True)
    ]
    direct = [await play(hosts[2], task, policy, SETTINGS, seed=seed) for seed in seeds]
    for host in hosts:
        assert await host.close() is None
    return branches, direct


@pytest.mark.parametrize(
    ("env", "choices"),
    [
        ("agentrl/Search-v0", SEARCHES),
        ("branching/ThreadDice-v0", THROWS),
        ("branching/InlineDice-v0", THROWS),
        ("branching/ProcessDice-v0", THROWS),
        ("branching/AsyncDice-v0", THROWS),
        ("branching/ReplayedDice-v0", THROWS),
    ],
)
def test_four_branches_are_four_direct_episodes(env, choices):
    task = Task(env, 7)
    branches, direct = asyncio.run(branches_and_direct(task, BySeed(choices), range(4)))
    assert branches == direct
    assert len({tuple(turn.action for turn in episode) for episode in direct}) > 1
    tree = RolloutTree(task)
    graft(tree, branches[0][:2])
    for branch in branches:
        graft(tree, branch[2:], parent=1)
    assert tree.children(1) == [i for i, turn in enumerate(tree) if turn.parent == 1]
    assert len(tree.children(1)) == len(tree.leaves()) == 4
    assert [[text_of(turn.observation) for turn in e.turns] for e in tree.episodes()] == [
        [text_of(turn.observation) for turn in episode] for episode in direct
    ]


@pytest.mark.parametrize("kind", ["ThreadDice", "AsyncDice"])
def test_a_snapshot_that_breaks_is_an_infrastructure_failure(kind):
    async def main():
        task = Task(f"branching/{kind}-v0", 1, "train", {"bad": "raise"})
        host = await opened(task)
        await host.reset(task)
        with pytest.raises(InfrastructureFailure, match="snapshot failed: RuntimeError: no room"):
            await host.snapshot()
        assert host.dirty
        await host.close()

    asyncio.run(main())


def test_a_snapshot_has_a_deadline():
    async def main():
        task = Task("branching/ThreadDice-v0", 1, "train", {"bad": "hang"})
        host = kind_of(task.env).new_host(task, RolloutSettings(step_seconds=0.1))
        await host.open()
        await host.reset(task)
        with pytest.raises(DeadlineExceeded, match="snapshot"):
            await host.snapshot()
        await host.close()
        assert host.abandoned

    asyncio.run(main())


def test_a_snapshot_of_another_kind_is_refused():
    async def main():
        first, second = Task("branching/ThreadDice-v0", 1), Task("branching/InlineDice-v0", 1)
        host, other = await opened(first), await opened(second)
        await host.reset(first)
        snapshot = await host.snapshot()
        with pytest.raises(Exception, match="does not fit"):
            await other.restore(snapshot)
        await host.close()
        await other.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["ThreadDice", "InlineDice", "AsyncDice", "ReplayedDice"])
def test_the_environment_itself_forks_in_an_event_loop(kind):
    async def main():
        env = kind_of(f"branching/{kind}-v0").env_class()
        await env.areset(seed=3)
        await env.astep(THROWS[0])
        snapshot = await env.asnapshot()
        want = (await env.astep(THROWS[0]))[0]
        await env.astep(THROWS[0])
        await env.arestore(snapshot)
        assert (await env.astep(THROWS[0]))[0] == want
        await env.aclose()

    asyncio.run(main())
