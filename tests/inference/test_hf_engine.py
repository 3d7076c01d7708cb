"""`HFEngine` keeps the engine's promises, in the event loop and in a thread, and its own beyond them."""

import asyncio
import copy

import conformance
import numpy as np
import pytest
import torch
from conformance import assert_exact, nothing_pending, prompt, tiny, turns

from agentrl.core.failures import InfrastructureFailure
from agentrl.inference.engine import Sampling
from agentrl.inference.hf import HFEngine, uniforms


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def inline(model, **settings):
    return HFEngine(model, **{"max_context": 256, "threaded": False, **settings})


def threaded(model, **settings):
    return HFEngine(model, **{"max_context": 256, "threaded": True, **settings})


@pytest.mark.parametrize("make", [inline, threaded])
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check, make):
    await check(make)


async def test_episodes_that_outnumber_the_slots_are_evicted_and_stay_exact():
    model = tiny()
    engine = inline(model, max_batch=2, slots=2)
    for given, done in [pair for e in await asyncio.gather(*map(turns_of(engine), range(8))) for pair in e]:
        assert_exact(model, given, done, Sampling())
    await engine.aclose()


def turns_of(engine):
    return lambda seed: turns(engine, seed)


async def test_two_runs_are_the_same_bit_for_bit():
    async def run():
        engine = inline(tiny(), max_batch=5, slots=7)
        found = await asyncio.gather(*(turns(engine, seed) for seed in range(12)))
        await engine.aclose()
        return found, engine.stats.requests, engine.stats.decode_steps, engine.stats.cached_tokens

    assert await run() == await run()


@pytest.mark.parametrize("make", [inline, threaded])
async def test_a_crash_fails_what_runs_and_the_engine_goes_on(make):
    model = tiny()
    engine = make(model, max_batch=2)
    broken = [True]

    def crash(*_):
        if broken[0]:
            raise RuntimeError("out of memory")

    running = [
        asyncio.ensure_future(engine.generate(prompt(i, 6), Sampling(max_tokens=30, seed=i)))
        for i in range(2)
    ]
    for _ in range(12):
        await asyncio.sleep(0)
    hook = model.model.layers[1].register_forward_pre_hook(crash)
    results = await asyncio.gather(*running, return_exceptions=True)
    assert all(isinstance(result, InfrastructureFailure) for result in results)
    assert "out of memory" in str(results[0])
    assert not engine._pool.busy.any()
    hook.remove()
    # What the crash left in the slots is not trusted.
    done = await engine.generate(prompt(0, 6), Sampling(max_tokens=5, seed=0))
    assert done.cached_tokens == 0
    assert_exact(model, prompt(0, 6), done, Sampling())
    await engine.aclose()
    nothing_pending()


async def test_a_crash_leaves_those_that_wait():
    model = tiny()
    engine = inline(model, max_batch=1)
    left = [1]

    def crash(*_):
        if left[0]:
            left[0] -= 1
            raise RuntimeError("once")

    model.model.register_forward_pre_hook(crash)
    sampling = Sampling(max_tokens=4, seed=0)
    first, second = await asyncio.gather(
        *(engine.generate(prompt(i, 6), sampling) for i in range(2)), return_exceptions=True
    )
    assert isinstance(first, InfrastructureFailure)
    assert_exact(model, prompt(1, 6), second, sampling)
    await engine.aclose()


async def test_weights_that_are_no_numbers_fail_instead_of_sampling():
    model = tiny()
    engine = inline(copy.deepcopy(model))
    broken = {name: torch.full_like(value, torch.nan) for name, value in model.named_parameters()}
    await engine.load_weights(broken.items(), 1)
    for sampling in (Sampling(), Sampling(temperature=0), Sampling(top_p=0.5)):
        with pytest.raises(InfrastructureFailure, match="finite"):
            await engine.generate(prompt(0, 5), sampling)
    await engine.load_weights(model.named_parameters(), 2)
    done = await engine.generate(prompt(0, 5), Sampling(max_tokens=3, seed=0))
    assert_exact(model, prompt(0, 5), done, Sampling())
    await engine.aclose()


@pytest.mark.parametrize("make", [inline, threaded])
def test_an_engine_outlives_an_event_loop_that_was_interrupted(make):
    # One call of `rollout` is one event loop.
    model = tiny()
    engine = make(model, max_batch=2, slots=2)

    async def interrupted() -> None:
        asked = [engine.generate(prompt(i, 5), Sampling(max_tokens=100)) for i in range(3)]
        async with asyncio.timeout(0.02):
            await asyncio.gather(*asked)

    async def whole() -> None:
        async with asyncio.timeout(30):
            await engine.load_weights(model.named_parameters(), 1)
        for given, done in await turns(engine, 1):
            assert_exact(model, given, done, Sampling())

    with pytest.raises(TimeoutError):
        asyncio.run(interrupted())
    asyncio.run(whole())
    asyncio.run(whole())
    assert not engine._pool.busy.any()
    asyncio.run(engine.aclose())


async def test_two_loads_in_a_row_wait_for_what_runs_and_the_last_one_stays():
    model = tiny()
    engine = inline(model)
    running = asyncio.ensure_future(engine.generate(prompt(0, 5), Sampling(max_tokens=20, seed=0)))
    for _ in range(10):
        await asyncio.sleep(0)
    loads = [engine.load_weights(tiny(seed).named_parameters(), seed) for seed in (1, 2)]
    late = engine.generate(prompt(0, 5), Sampling(max_tokens=4, seed=0))
    done, _, _, after = await asyncio.gather(running, *loads, late)
    assert (done.weight_version, after.weight_version) == (0, 2)
    assert_exact(tiny(2), prompt(0, 5), after, Sampling())
    await engine.aclose()
    nothing_pending()


@pytest.mark.filterwarnings("error")
async def test_nothing_that_it_calls_is_deprecated():
    engine = inline(tiny())
    await turns(engine, 0)
    await engine.aclose()


async def test_slots_come_back_after_every_way_to_end():
    engine = inline(tiny(), max_batch=4, slots=4)
    tasks = [
        asyncio.ensure_future(engine.generate(prompt(i, 6), Sampling(max_tokens=50, seed=i)))
        for i in range(4)
    ]
    for _ in range(12):
        await asyncio.sleep(0)
    assert engine._pool.busy.all()
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not engine._pool.busy.any()
    assert engine.stats.aborted == 1
    await engine.aclose()


async def test_a_prefix_longer_than_the_first_allocation_survives_growth():
    model = tiny()
    engine = inline(model)
    given = prompt(0, 100)
    first = await engine.generate(given, Sampling(max_tokens=60, seed=0))
    longer = (*given, *first.ids, *prompt(1, 40))
    second = await engine.generate(longer, Sampling(max_tokens=5, seed=1))
    assert second.cached_tokens == 159
    assert_exact(model, given, first, Sampling())
    assert_exact(model, longer, second, Sampling())
    await engine.aclose()


def test_uniform_numbers_are_uniform_and_unrelated():
    seeds, counts = np.meshgrid(np.arange(200, dtype=np.uint64), np.arange(200, dtype=np.uint64))
    u = uniforms(seeds, counts)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 0.005
    assert abs(u.var() - 1 / 12) < 0.001
    assert abs(np.corrcoef(u[:, :-1].ravel(), u[:, 1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(u[:-1].ravel(), u[1:].ravel())[0, 1]) < 0.02
    assert len(np.unique(u)) == u.size
