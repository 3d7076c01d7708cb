"""A policy behind an OpenAI-compatible chat server: for evaluation. It records no tokens, so nothing is trained on it.

Overload (429), server errors and broken connections are retried with growing pauses, then they are an infrastructure
failure; a request that the server refuses (another 4xx) is bad input and says what the server said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx

from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Message, to_dicts
from agentrl.inference.policy import Sampled, View

RETRIES = 4
FIRST_PAUSE = 0.5  # seconds; doubles with every retry


class ChatPolicy:
    """A model behind `POST {base_url}/chat/completions`.

    Args:
        base_url: e.g. `http://localhost:8000/v1`.
        model: its name there.
        api_key: sent as a bearer token if given.
        seconds: deadline of one request.

    Attributes:
        usage: prompt and completion tokens that the server counted.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "",
        temperature: float = 1.0,
        max_tokens: int = 256,
        seconds: float = 120.0,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self.model, self.temperature, self.max_tokens, self.pause = model, temperature, max_tokens, pause
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.client = httpx.AsyncClient(timeout=seconds, headers=headers)
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0}

    async def act(self, view: View) -> Sampled:
        """Ask the server for the next message.

        Raises:
            InfrastructureFailure: the server does not answer, or answers nonsense, also after the retries.
            UserError: the server refuses the request.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "messages": conversation(view),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": view.seed % 2**31,
        }
        if view.tools:
            body["tools"] = list(view.tools)
        data = await self._ask(body)
        for key in self.usage:
            self.usage[key] += int((data.get("usage") or {}).get(key) or 0)
        try:
            choice = data["choices"][0]
            message = Message.from_dict({**choice["message"], "role": "assistant"})
        except (KeyError, IndexError, TypeError) as error:
            raise InfrastructureFailure(
                "generate", self.model, f"an answer without a message: {data!r:.200}"
            ) from error
        cut = choice.get("finish_reason") == "length"
        return Sampled(message, finish_reason="length" if cut else "stop")

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        problem = ""
        for attempt in range(RETRIES + 1):
            if attempt:
                await asyncio.sleep(self.pause * 2 ** (attempt - 1))
            try:
                answer = await self.client.post(self.url, json=body)
            except httpx.InvalidURL as error:
                raise UserError(f"{self.url} is not an address: {error}") from error
            except httpx.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == 429 or answer.status_code >= 500:
                problem = f"HTTP {answer.status_code}: {answer.text[:200]}"
                continue
            if answer.status_code >= 400:
                raise UserError(
                    f"{self.url} refuses the request (HTTP {answer.status_code}): {answer.text[:300]}"
                )
            try:
                data = answer.json()
            except ValueError:
                problem = f"not JSON: {answer.text[:200]!r}"
                continue
            if isinstance(data, dict):
                return data
            problem = f"not a JSON object: {answer.text[:200]!r}"
        raise InfrastructureFailure("generate", self.model, f"{self.url}, {RETRIES + 1} tries: {problem}")


def conversation(view: View) -> list[dict[str, Any]]:
    """The whole conversation so far, calls and answers joined by ids (some servers insist)."""
    out: list[dict[str, Any]] = []
    for turn in view.path:
        out += to_dicts(turn.observation)
        out.append(turn.action.to_dict())
    out += to_dicts(view.observation)
    return joined(out)


def joined(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give calls without an id the id that their answers carry."""
    out = [dict(message) for message in messages]
    for index, message in enumerate(out):
        answers = [m["tool_call_id"] for m in out[index + 1 :] if m["role"] == "tool"]
        calls = []
        for number, call in enumerate(message.get("tool_calls", ())):
            calls.append(
                {**call, "id": call.get("id") or (answers[number] if number < len(answers) else f"c{number}")}
            )
        if calls:
            message["tool_calls"] = calls
    return out
