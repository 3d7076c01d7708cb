"""Eight episodes of Code-v0 at once, for ever: the chaos test kills this process in the middle of them."""

import asyncio
import itertools
import sys

from agentrl.core.registry import make


async def episodes(backend: str, first: int) -> None:
    env = make("Code-v0", sandbox=backend)
    for seed in itertools.count(first, 8):
        await env.areset(seed=seed)
        done = False
        while not done:
            _, _, terminated, truncated, _ = await env.astep(env.expert())
            done = terminated or truncated
        print("episode", flush=True)


async def main(backend: str) -> None:
    await asyncio.gather(*(episodes(backend, first) for first in range(8)))


asyncio.run(main(sys.argv[1]))
