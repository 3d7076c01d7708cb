import os
import signal
import sys
import time

import pytest

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import call, text_of

pytest.importorskip("mcp")
from agentrl.core.tool import tool
from agentrl.envs.mcp.env import McpEnv
from agentrl.envs.mcp.server import write_state
from agentrl.tools.mcp import McpSession


def servers(marker):
    """Processes of servers whose command line has this in it."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read().decode()
            except OSError:
                continue
            if "agentrl.envs.mcp.server" in line and marker in line:
                found.append(int(name))
    return found


@pytest.mark.slow
def test_the_rules_hold():
    report = check_env("agentrl/Mcp-v0")
    assert report.ok, [check for check in report.checks if not check.ok]


def test_the_expert_a_killed_server_and_the_end():
    env = agentrl.make("Mcp-v0", deadline=10)
    try:
        for seed in range(3):
            env.reset(seed=seed)
            ended = False
            while not ended:
                _, _, ended, _, info = env.step(env.expert())
            assert info["success"]
            assert info["progress"] == 1.0
        env.reset(seed=0)
        folder = str(env.folder)
        (server,) = servers(folder)
        os.kill(server, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(InfrastructureFailure):
            env.step(call("listProjects"))
        assert time.monotonic() - began < 10
        env.reset(seed=0)
        assert servers(folder) != [server]
        assert "items" in text_of(env.step(call("listProjects"))[0])
    finally:
        env.close()
    assert not servers(folder)
    assert not os.path.exists(folder)


def test_any_server_in_an_environment_of_ones_own(tmp_path):
    tracker = agentrl.make("IssueTracker-v0")
    tracker.reset(seed=0)
    write_state(tmp_path / "state.json", tracker.world)

    class Count(McpEnv):
        """Count the users."""

        def assignment(self):
            return "How many users are there?"

        @tool
        def answer(self, number: int) -> str:
            """Answer. Args: number: how many."""
            self.finish(float(number == 6))
            return "the end"

    command = [
        sys.executable,
        "-m",
        "agentrl.envs.mcp.server",
        "tracker",
        "--state",
        str(tmp_path / "state.json"),
    ]
    env = Count(command=command)
    try:
        env.reset(seed=0)
        assert {"listUsers", "createIssue", "answer"} <= {item.name for item in env.tools}
        assert '"total": 6' in text_of(env.step(call("listUsers"))[0])
        info = env.step(call("getUser", login="nobody"))[4]
        assert info["tool_errors"][0]["message"].startswith("404 not_found")
        assert env.step(call("answer", number=6))[4]["success"]
    finally:
        env.close()
    assert not servers(str(tmp_path))


def test_a_server_that_does_not_start():
    with pytest.raises(UserError):
        McpSession()

    class Nothing(McpEnv):
        """Nothing."""

        def assignment(self):
            return "?"

    env = Nothing(command=[sys.executable, "-c", "pass"], deadline=10)
    with pytest.raises(InfrastructureFailure):
        env.reset(seed=0)
    env.close()
