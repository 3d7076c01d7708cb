"""The chat client against a real local server that speaks the protocol, and misbehaves on demand."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import assistant, user
from agentrl.core.tree import Task
from agentrl.inference.chat_client import ChatPolicy
from agentrl.inference.policy import View
from agentrl.rollout import RolloutSettings, collect


class Server(BaseHTTPRequestHandler):
    """Answers like a model that searches the question and then answers with the last word it read."""

    failures: list[int | str] = []  # noqa: RUF012
    seen: list[dict] = []  # noqa: RUF012

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Server.seen.append({"path": self.path, "auth": self.headers.get("Authorization"), **body})
        if Server.failures:
            failure = Server.failures.pop(0)
            if isinstance(failure, int):
                return self.send(failure, "overloaded")
            return self.send(200, failure)
        last = body["messages"][-1]
        if last["role"] == "tool":
            message = tool_call("answer", {"text": last["content"].rstrip(".").split()[-1]}, "call-b")
        else:
            message = tool_call("search", {"query": "capital Mali"}, "call-a")
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        self.send(
            200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        )

    def send(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        """Quiet."""


def tool_call(name, arguments, id_):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id_, "type": "function", "function": function}],
    }


@pytest.fixture
def url():
    Server.failures, Server.seen = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


async def test_an_episode_through_a_server(url):
    policy = ChatPolicy(url, "m", api_key="secret", temperature=0.5)
    out = await collect([Task("agentrl/Search-v0", 0, "train", {"top_k": 1})], policy, RolloutSettings())
    await policy.aclose()
    turns = out.trees[0].turns
    assert [turn.action.tool_calls[0].name for turn in turns] == ["search", "answer"]
    assert turns[1].action.tool_calls[0].arguments == '{"text": "Bamako"}'
    assert policy.usage == {"prompt_tokens": 20, "completion_tokens": 6}
    first, second = Server.seen
    assert (first["path"], first["auth"], first["temperature"]) == (
        "/v1/chat/completions",
        "Bearer secret",
        0.5,
    )
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search", "read", "answer"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert second["messages"][2]["tool_calls"][0]["id"] == second["messages"][3]["tool_call_id"] == "call-a"


async def test_trouble_that_passes_is_waited_out(url):
    Server.failures = [500, 429, "not json at all"]
    policy = ChatPolicy(url, "m", pause=0.01)
    sampled = await policy.act(View((), (user("q"),), []))
    await policy.aclose()
    assert sampled.action is not None
    assert len(Server.seen) == 4


@pytest.mark.parametrize("failure", [503, "[]", '{"choices": []}'])
async def test_trouble_that_stays_is_ours_not_the_policys(url, failure):
    Server.failures = [failure] * 20
    policy = ChatPolicy(url, "m", pause=0.001)
    with pytest.raises(InfrastructureFailure, match="generate failed"):
        await policy.act(View((), (user("q"),), []))
    await policy.aclose()


async def test_a_refusal_is_bad_input_and_a_missing_server_is_not(url):
    Server.failures = [404]
    policy = ChatPolicy(url, "m", pause=0.001)
    with pytest.raises(UserError, match="HTTP 404"):
        await policy.act(View((), (user("q"),), []))
    await policy.aclose()
    nobody = ChatPolicy("http://127.0.0.1:9", "m", pause=0.001)
    with pytest.raises(InfrastructureFailure, match="5 tries"):
        await nobody.act(View((), (assistant("q"),), []))
    await nobody.aclose()
