"""Policies by name, for every command that lets somebody act."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentrl.core.failures import UserError
from agentrl.inference.engine import Sampling
from agentrl.inference.policy import ModelPolicy, Policy
from agentrl.inference.scripted import scripted_policy


class Engine(enum.StrEnum):
    expert = "expert"
    random = "random"
    human = "human"
    hf = "hf"
    server = "server"


@asynccontextmanager
async def open_policy(
    engine: Engine,
    *,
    model: str = "",
    base_url: str = "",
    temperature: float = 1.0,
    max_tokens: int = 256,
    history: int = 0,
) -> AsyncIterator[Policy]:
    """The policy that `--engine` and `--model` name, closed at the end.

    Raises:
        UserError: `hf` or `server` without what it needs, or a model that cannot be opened.
    """
    if engine is Engine.hf:
        from agentrl.inference.hf import HFEngine
        from agentrl.trainers.models import context_length, load_policy

        network, codec = load_policy(model or "tiny-search")
        hf = HFEngine(network, max_context=context_length(network))
        try:
            sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
            yield ModelPolicy(hf, codec, sampling, history=history)
        finally:
            await hf.aclose()
    elif engine is Engine.server:
        from agentrl.inference.chat_client import ChatPolicy

        if not base_url or not model:
            raise UserError("--engine server needs --base-url and --model")
        chat = ChatPolicy(base_url, model, temperature=temperature, max_tokens=max_tokens, history=history)
        try:
            yield chat
        finally:
            await chat.aclose()
    else:
        yield scripted_policy(engine.value)
