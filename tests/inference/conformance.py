"""What every engine promises, as checks over a factory of engines: `await check(make)` raises where one does not hold.

`make(model, max_context=..., max_batch=..., slots=...)` returns an engine over a transformers model. Checks that
need an engine's own switches (slots, a broken forward pass) are beside the engine's tests.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentrl.core.failures import UserError
from agentrl.inference.distribution import log_distribution
from agentrl.inference.engine import Completion, ContextOverflow, Engine, Sampling

VOCABULARY = 61
Make = Callable[..., Engine]

DISTRIBUTIONS = {
    "plain": {},
    "hot": {"temperature": 1.7},
    "cold": {"temperature": 0.4},
    "top_k": {"top_k": 5},
    "top_p": {"top_p": 0.7},
    "min_p": {"min_p": 0.2},
    "all": {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "min_p": 0.05},
}


def tiny(seed: int = 0, layers: int = 2) -> LlamaForCausalLM:
    """A random Llama whose distributions are neither flat nor certain."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            initializer_range=0.4,
        )
        return LlamaForCausalLM(config).eval()


def prompt(seed: int, length: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng([seed, length]).integers(0, VOCABULARY, length).tolist())


@torch.no_grad()
def expected(model: Any, given: tuple[int, ...], done: Completion, sampling: Sampling) -> list[float]:
    """Log-probabilities of a completion by one plain forward pass over everything."""
    ids = torch.tensor([[*given, *done.ids]])
    logits = model(ids, use_cache=False).logits[0, len(given) - 1 : -1]
    return log_distribution(logits, sampling).gather(-1, ids[0, len(given) :, None]).squeeze(-1).tolist()


def assert_exact(model: Any, given: tuple[int, ...], done: Completion, sampling: Sampling) -> None:
    assert list(done.logprobs) == pytest.approx(expected(model, given, done, sampling), abs=1e-4)
    assert done.prompt_tokens == len(given)
    assert all(value <= 0 for value in done.logprobs)


def nothing_pending() -> None:
    """The running test is the only task left."""
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def logprobs_are_those_of_a_plain_forward_pass(make: Make) -> None:
    model = tiny()
    engine = make(model)
    asked = [
        (prompt(i, 1 + 3 * i), Sampling(**settings, max_tokens=6 + i, seed=i))
        for i, settings in enumerate(DISTRIBUTIONS.values())
    ]
    found = await asyncio.gather(*(engine.generate(*one) for one in asked))
    for (given, sampling), done in zip(asked, found, strict=True):
        assert len(done.ids) == sampling.max_tokens
        assert_exact(model, given, done, sampling)
    await engine.aclose()
    nothing_pending()


async def greedy_takes_the_likeliest_token_with_logprob_0(make: Make) -> None:
    model = tiny()
    engine = make(model)
    given = prompt(3, 9)
    done = await engine.generate(given, Sampling(temperature=0, max_tokens=5))
    with torch.no_grad():
        logits = model(torch.tensor([[*given, *done.ids]])).logits[0, len(given) - 1 : -1]
    assert list(done.ids) == logits.argmax(-1).tolist()
    assert done.logprobs == (0.0,) * 5
    await engine.aclose()


async def ragged_requests_that_come_and_go_do_not_disturb_each_other(make: Make) -> None:
    model = tiny()
    engine = make(model, max_batch=8)
    rng = np.random.default_rng(0)

    async def one(i: int) -> None:
        given = prompt(i, int(rng.integers(1, 60)))
        sampling = Sampling(max_tokens=int(rng.integers(1, 20)), seed=i)
        for _ in range(int(rng.integers(0, 12))):
            await asyncio.sleep(0)
        assert_exact(model, given, await engine.generate(given, sampling), sampling)

    await asyncio.gather(*(one(i) for i in range(64)))
    await engine.aclose()
    nothing_pending()


async def turns(engine: Engine, seed: int, count: int = 4) -> list[tuple[tuple[int, ...], Completion]]:
    """An episode: each turn's prompt is everything so far and something new."""
    fed: tuple[int, ...] = ()
    out = []
    for turn in range(count):
        fed = (*fed, *prompt(10 * seed + turn, 3 + (seed + turn) % 5))
        done = await engine.generate(fed, Sampling(max_tokens=4, seed=100 * seed + turn))
        out.append((fed, done))
        fed = (*fed, *done.ids)
    return out


async def a_reused_prefix_changes_nothing(make: Make) -> None:
    model = tiny()
    engine = make(model)
    episodes = await asyncio.gather(*(turns(engine, seed) for seed in range(6)))
    await engine.aclose()
    for episode in episodes:
        for turn, (given, done) in enumerate(episode):
            fresh = make(copy.deepcopy(model))
            seed = 100 * episodes.index(episode) + turn
            alone = await fresh.generate(given, Sampling(max_tokens=4, seed=seed))
            await fresh.aclose()
            assert alone.cached_tokens == 0
            assert done.ids == alone.ids
            assert done.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
            # All but the new observation and the token that was sampled last.
            assert turn == 0 or done.cached_tokens >= len(episode[turn - 1][0]) + 3


async def siblings_of_one_prompt_are_sampled_apart(make: Make) -> None:
    model = tiny()
    engine = make(model)
    given = prompt(5, 17)
    asked = [Sampling(max_tokens=6, seed=seed) for seed in range(8)]
    found = await asyncio.gather(*(engine.generate(given, sampling) for sampling in asked))
    assert len({done.ids for done in found}) > 4
    for sampling, done in zip(asked, found, strict=True):
        assert_exact(model, given, done, sampling)
    await engine.aclose()


async def frequencies_match_the_distribution(make: Make) -> None:
    model = tiny()
    engine = make(model, max_batch=64)
    given = prompt(7, 5)
    for settings in ({}, {"temperature": 1.5, "top_k": 7}):
        draws = 3000
        found = await asyncio.gather(
            *(engine.generate(given, Sampling(**settings, max_tokens=1, seed=seed)) for seed in range(draws))
        )
        counts = np.bincount([done.ids[0] for done in found], minlength=VOCABULARY)
        with torch.no_grad():
            logits = model(torch.tensor([given])).logits[0, -1]
        p = log_distribution(logits, Sampling(**settings)).exp().double().numpy()
        assert counts[p == 0].sum() == 0
        likely = p * draws >= 5
        rest = max(draws * p[~likely].sum(), 1e-9)
        chi = ((counts[likely] - draws * p[likely]) ** 2 / (draws * p[likely])).sum()
        chi += (counts[~likely].sum() - rest) ** 2 / rest if rest >= 5 else 0.0
        freedom = likely.sum()
        # Mean `freedom`, standard deviation sqrt(2 freedom): five of them are never reached by chance.
        assert chi < freedom + 5 * np.sqrt(2 * freedom)
    await engine.aclose()


async def a_stop_id_ends_a_completion_and_belongs_to_it(make: Make) -> None:
    engine = make(tiny())
    given = prompt(1, 4)
    free = await engine.generate(given, Sampling(max_tokens=20, seed=3))
    stop = free.ids[7]
    first = free.ids.index(stop)
    done = await engine.generate(given, Sampling(max_tokens=20, seed=3, stop_ids=(stop,)))
    assert (done.ids, done.finish_reason) == (free.ids[: first + 1], "stop")
    assert free.finish_reason == "length"
    await engine.aclose()


async def lengths_end_where_they_must(make: Make) -> None:
    engine = make(tiny(), max_context=12)
    one = await engine.generate(prompt(0, 5), Sampling(max_tokens=1))
    assert (len(one.ids), one.finish_reason) == (1, "length")
    full = await engine.generate(prompt(0, 5), Sampling(max_tokens=50))
    assert (len(full.ids), full.finish_reason) == (7, "length")
    last = await engine.generate(prompt(0, 11), Sampling(max_tokens=50))
    assert len(last.ids) == 1
    for length in (12, 40):
        with pytest.raises(ContextOverflow) as caught:
            await engine.generate(prompt(0, length), Sampling())
        assert (caught.value.prompt_tokens, caught.value.limit) == (length, 12)
    await engine.aclose()


async def bad_requests_are_refused_and_hurt_nobody(make: Make) -> None:
    model = tiny()
    engine = make(model)
    good = asyncio.ensure_future(engine.generate(prompt(0, 5), Sampling(max_tokens=10, seed=0)))
    await asyncio.sleep(0)
    for bad in ((), (1, VOCABULARY), (-1, 2)):
        with pytest.raises(UserError):
            await engine.generate(bad, Sampling(max_tokens=2))
    assert_exact(model, prompt(0, 5), await good, Sampling())
    await engine.aclose()


async def any_integer_is_a_seed(make: Make) -> None:
    engine = make(tiny())
    for seed in (-1, 2**63, 2**64 - 1, 2**80 + 5):
        first, second = [
            await engine.generate(prompt(0, 5), Sampling(max_tokens=8, seed=seed)) for _ in range(2)
        ]
        assert first.ids == second.ids
    await engine.aclose()


async def a_cancelled_request_frees_its_place(make: Make) -> None:
    model = tiny()
    engine = make(model, max_batch=2)
    endless = [
        asyncio.ensure_future(engine.generate(prompt(i, 6), Sampling(max_tokens=200, seed=i)))
        for i in range(3)
    ]
    for _ in range(20):
        await asyncio.sleep(0)
    for task in endless:
        task.cancel()
    results = await asyncio.gather(*endless, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    sampling = Sampling(max_tokens=5, seed=9)
    others = await asyncio.wait_for(
        asyncio.gather(*(engine.generate(prompt(i, 8), sampling) for i in range(5))), timeout=30
    )
    for i, done in enumerate(others):
        assert_exact(model, prompt(i, 8), done, sampling)
    await engine.aclose()
    nothing_pending()


async def a_neighbour_of_a_cancelled_request_goes_on(make: Make) -> None:
    model = tiny()
    engine = make(model)
    sampling = Sampling(max_tokens=40, seed=1)
    stays = asyncio.ensure_future(engine.generate(prompt(1, 6), sampling))
    leaves = asyncio.ensure_future(engine.generate(prompt(2, 6), sampling))
    for _ in range(20):
        await asyncio.sleep(0)
    leaves.cancel()
    assert_exact(model, prompt(1, 6), await stays, sampling)
    await asyncio.gather(leaves, return_exceptions=True)
    await engine.aclose()


async def new_weights_are_sampled_from_and_never_mixed(make: Make) -> None:
    models = [tiny(seed) for seed in range(4)]
    engine = make(copy.deepcopy(models[0]), max_batch=4)
    given = prompt(1, 10)

    async def one(i: int) -> Completion:
        for _ in range(3 * i):
            await asyncio.sleep(0)
        return await engine.generate(given, Sampling(max_tokens=12, seed=i))

    asked = [asyncio.ensure_future(one(i)) for i in range(16)]
    for version in range(1, 4):
        for _ in range(15):
            await asyncio.sleep(0)
        await engine.load_weights(models[version].named_parameters(), version)
    found = await asyncio.gather(*asked)
    for done in found:
        assert_exact(models[done.weight_version], given, done, Sampling())
    last = await engine.generate(given, Sampling(max_tokens=12, seed=0))
    assert last.weight_version == 3
    assert_exact(models[3], given, last, Sampling())
    await engine.aclose()
    nothing_pending()


async def a_prefix_of_older_weights_is_not_reused(make: Make) -> None:
    old, new = tiny(0), tiny(1)
    engine = make(copy.deepcopy(old))
    await engine.generate(prompt(1, 10), Sampling(max_tokens=3, seed=0))
    await engine.load_weights(new.named_parameters(), 1)
    done = await engine.generate(prompt(1, 10), Sampling(max_tokens=3, seed=0))
    assert done.cached_tokens == 0
    assert_exact(new, prompt(1, 10), done, Sampling())
    await engine.aclose()


async def wrong_weights_leave_the_old_ones(make: Make) -> None:
    model, other = tiny(0), tiny(1)
    engine = make(copy.deepcopy(model))
    whole = dict(other.named_parameters())
    name = "model.norm.weight"
    wrong = (
        {key: value for key, value in whole.items() if key != name},
        {**whole, "surplus": torch.zeros(1)},
        {**whole, name: torch.zeros(3)},
    )
    for tensors in wrong:
        with pytest.raises(UserError, match="weight"):
            await engine.load_weights(tensors.items(), 7)
        done = await engine.generate(prompt(2, 6), Sampling(max_tokens=4, seed=0))
        assert done.weight_version == 0
        assert_exact(model, prompt(2, 6), done, Sampling())
    await engine.aclose()


async def a_seed_decides_whatever_else_is_in_the_batch(make: Make) -> None:
    model = tiny()
    engine = make(model)
    mine = (prompt(0, 12), Sampling(max_tokens=15, seed=42))
    alone = await engine.generate(*mine)
    for crowd in (1, 7):
        found, *_ = await asyncio.gather(
            engine.generate(*mine),
            *(engine.generate(prompt(i + 1, 20), Sampling(max_tokens=9)) for i in range(crowd)),
        )
        assert found.ids == alone.ids
        assert found.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
    await engine.aclose()


async def more_requests_than_rows_wait_for_their_turn(make: Make) -> None:
    model = tiny()
    engine = make(model, max_batch=8)
    sampling = Sampling(max_tokens=7, seed=0)
    found = await asyncio.gather(*(engine.generate(prompt(i, 4 + i % 9), sampling) for i in range(64)))
    for i, done in enumerate(found):
        assert_exact(model, prompt(i, 4 + i % 9), done, sampling)
    await engine.aclose()


async def closing_twice_is_closing_once(make: Make) -> None:
    engine = make(tiny())
    running = asyncio.ensure_future(engine.generate(prompt(0, 4), Sampling(max_tokens=200)))
    for _ in range(10):
        await asyncio.sleep(0)
    await asyncio.gather(engine.aclose(), engine.aclose())
    await engine.aclose()
    (result,) = await asyncio.gather(running, return_exceptions=True)
    assert type(result).__name__ == "InfrastructureFailure"
    with pytest.raises(Exception, match="closed"):
        await engine.generate(prompt(0, 4), Sampling())
    nothing_pending()


CHECKS: tuple[Callable[[Make], Awaitable[None]], ...] = (
    logprobs_are_those_of_a_plain_forward_pass,
    greedy_takes_the_likeliest_token_with_logprob_0,
    ragged_requests_that_come_and_go_do_not_disturb_each_other,
    a_reused_prefix_changes_nothing,
    siblings_of_one_prompt_are_sampled_apart,
    frequencies_match_the_distribution,
    a_stop_id_ends_a_completion_and_belongs_to_it,
    lengths_end_where_they_must,
    bad_requests_are_refused_and_hurt_nobody,
    any_integer_is_a_seed,
    a_cancelled_request_frees_its_place,
    a_neighbour_of_a_cancelled_request_goes_on,
    new_weights_are_sampled_from_and_never_mixed,
    a_prefix_of_older_weights_is_not_reused,
    wrong_weights_leave_the_old_ones,
    a_seed_decides_whatever_else_is_in_the_batch,
    more_requests_than_rows_wait_for_their_turn,
    closing_twice_is_closing_once,
)
