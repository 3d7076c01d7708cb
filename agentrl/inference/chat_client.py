"""A policy behind an OpenAI-compatible chat server: for evaluation. It records no tokens, so nothing is trained on it.

Whose fault it is decides: overload, server errors, broken or slow connections and answers that are none are tried again
after growing pauses, then they are an infrastructure failure; a request that the server refuses is bad input and says
what the server said; a conversation that has outgrown the model's context ends the episode truncated.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import httpx

from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Message, to_dicts
from agentrl.inference.policy import Sampled, View, conversation

FIRST_PAUSE = 0.5  # seconds; doubles with every retry
LONGEST_PAUSE = 30.0  # seconds; also what a server may ask for at most
PASSING = frozenset((408, 409, 425, 429))  # and every 5xx
OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|maximum.{0,20}context|too many tokens", re.IGNORECASE
)


class ChatPolicy:
    """A model behind `POST {base_url}/chat/completions`. Calls may be concurrent, and from one event loop after another.

    Args:
        base_url: e.g. `http://localhost:8000/v1`.
        model: its name there.
        api_key: sent as a bearer token if given.
        temperature, top_p, max_tokens: how to sample; the seed is the turn's.
        seconds: deadline of one request, from connecting to the last byte.
        retries: how often a request is tried again.
        pause: seconds before the first retry.
        history: how many of the last turns the model is shown beside the first prompt; 0 for all.

    Attributes:
        usage: prompt and completion tokens that the server counted.
        retried: requests that had to be sent again.

    Raises:
        UserError: not an address.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens: int = 256,
        seconds: float = 120.0,
        retries: int = 4,
        pause: float = FIRST_PAUSE,
        history: int = 0,
    ) -> None:
        self.history = history
        self.url = address(base_url)
        self.model, self.seconds, self.retries, self.pause = model, seconds, retries, pause
        self.sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0}
        self.retried = 0
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def act(self, view: View) -> Sampled:
        """Ask the server for the next message.

        Raises:
            InfrastructureFailure: the server does not answer, or answers nonsense, also after the retries.
            UserError: the server refuses the request.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "messages": chat_messages(view, self.history),
            **self.sampling,
            "seed": view.seed % 2**31,
        }
        if view.tools:
            body["tools"] = list(view.tools)
        problem, wanted = "", 0.0
        for attempt in range(self.retries + 1):
            if attempt:
                self.retried += 1
                await asyncio.sleep(min(LONGEST_PAUSE, max(wanted, self.pause * 2 ** (attempt - 1))))
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await self._connection().post(self.url, json=body)
            except TimeoutError:
                problem = f"no answer within {self.seconds:g} s"
                continue
            except httpx.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code in PASSING or answer.status_code >= 500:
                problem, wanted = f"HTTP {answer.status_code}: {answer.text[:200]}", asked_pause(answer)
                continue
            if answer.status_code != 200:
                return self._refused(answer, view)
            try:
                return self._read(answer)
            except (ValueError, LookupError, TypeError, AttributeError):
                problem = f"an answer without a message: {answer.text[:200]!r}"
        raise InfrastructureFailure(
            "generate", self.model, f"{self.url}, {self.retries + 1} tries: {problem}"
        )

    async def aclose(self) -> None:
        """Close the connections of this event loop; idempotent."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = None

    def _connection(self) -> httpx.AsyncClient:
        """The client of this event loop: connections cannot move to another."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            # The deadline is ours: the client's own starts anew with every byte.
            self._client, self._loop = httpx.AsyncClient(timeout=None, headers=self._headers), loop
        return self._client

    def _read(self, answer: httpx.Response) -> Sampled:
        """The message in an answer.

        Raises:
            ValueError, LookupError, TypeError, AttributeError: there is none.
        """
        # A server may escape half a character, which nothing could send back.
        text = json.dumps(answer.json(), ensure_ascii=False)
        data = json.loads(text.encode("utf-8", "replace"))
        choice = data["choices"][0]
        message = Message.from_dict({**choice["message"], "role": "assistant"})
        usage = data.get("usage") or {}
        counted = {key: int(usage.get(key) or 0) for key in ("prompt_tokens", "completion_tokens")}
        for key, number in counted.items():
            self.usage[key] += number
        return Sampled(message, finish_reason="length" if choice.get("finish_reason") == "length" else "stop")

    def _refused(self, answer: httpx.Response, view: View) -> Sampled:
        """What a refusal means.

        Raises:
            UserError: bad input.
        """
        text = " ".join(answer.text.split())[:300]
        if view.path and answer.status_code in (400, 413, 422) and OVERFLOW.search(text):
            return Sampled(None, finish_reason="length")
        raise UserError(f"{self.url} refuses the request (HTTP {answer.status_code}): {text}")


def address(base_url: str) -> str:
    """Where chats go.

    Raises:
        UserError: not the address of a web server.
    """
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as error:
        raise UserError(f"{base_url!r} is not an address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UserError(f"{base_url!r} is not an address like http://localhost:8000/v1")
    return f"{base_url.rstrip('/')}/chat/completions"


def asked_pause(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait; 0 if it asks for nothing, or gives a date."""
    text = answer.headers.get("retry-after", "")
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 0.0


def chat_messages(view: View, history: int = 0) -> list[dict[str, Any]]:
    """The conversation so far, calls and answers joined by ids (some servers insist), without old reasoning
    (some refuse it)."""
    out = to_dicts(conversation(view, history))
    for message in out:
        message.pop("reasoning_content", None)
    return joined(out)


def joined(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls and the answers right behind them carry the same ids, each its own: those of the calls, made where missing
    or repeated."""
    out: list[dict[str, Any]] = []
    waiting: list[str] = []
    used: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            out.append({**message, "tool_call_id": waiting.pop(0)} if waiting else dict(message))
            continue
        calls, waiting = [], []
        for call in message.get("tool_calls", ()):
            name = call.get("id") or ""
            if not name or name in used:
                name = next(f"call-{n}" for n in range(len(used) + 1) if f"call-{n}" not in used)
            used.add(name)
            waiting.append(name)
            calls.append({**call, "id": name})
        out.append({**message, "tool_calls": calls} if calls else dict(message))
    return out
