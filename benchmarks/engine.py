"""Batched multi-turn sampling against calling `generate` anew on the whole history every turn.

64 episodes of a policy of the built-in one's size, at once: a prompt of 80 tokens, then 8 turns of 12 sampled and 40 shown
tokens. Two baselines, both transformers' `generate` on the whole history, anew every turn: one call for every
episode (what concurrent episodes without a batcher do), and one call for all of them in lock-step (all histories are of one
length here, so that it needs no padding: its best case). Everything in the same run, alternating, on one thread; the ratio
of the medians counts.
"""

from __future__ import annotations

import asyncio
import statistics
import time
import warnings

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.inference.engine import Sampling
from agentrl.inference.hf import HFEngine

EPISODES, TURNS, SAMPLED, SHOWN, PROMPT, VOCABULARY = 64, 8, 12, 40, 80, 1200


def small_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def prompts(turn: int, count: int) -> torch.Tensor:
    """Token ids that are shown; the same in every round."""
    generator = torch.Generator().manual_seed(turn)
    return torch.randint(1, VOCABULARY, (EPISODES, count), generator=generator)


async def with_engine(engine: HFEngine) -> int:
    """Play all episodes through the engine; returns the tokens sampled."""

    async def episode(index: int) -> int:
        history = prompts(0, PROMPT)[index].tolist()
        for turn in range(TURNS):
            completion = await engine.generate(
                tuple(history), Sampling(max_tokens=SAMPLED, seed=index * TURNS + turn)
            )
            history += [*completion.ids, *shown[turn][index]]
        return TURNS * SAMPLED

    shown = [prompts(turn + 1, SHOWN).tolist() for turn in range(TURNS)]
    return sum(await asyncio.gather(*(episode(index) for index in range(EPISODES))))


@torch.inference_mode()
def with_generate(model: LlamaForCausalLM, rows: int) -> int:
    """Play all episodes with `generate` on the whole history, `rows` episodes a call."""
    history = prompts(0, PROMPT)
    for turn in range(TURNS):
        pieces = [
            model.generate(
                part,
                attention_mask=torch.ones_like(part),
                do_sample=True,
                max_new_tokens=SAMPLED,
                min_new_tokens=SAMPLED,
                pad_token_id=0,
            )
            for part in history.split(rows)
        ]
        history = torch.cat([torch.cat(pieces), prompts(turn + 1, SHOWN)], dim=1)
    return EPISODES * TURNS * SAMPLED


def run(quick: bool = False) -> BenchResult:
    """`speedup_vs_generate` is against one call per episode and turn, `speedup_vs_batched_generate` against one call for all
    episodes in lock-step (its best case, so held to 2 only)."""
    warnings.simplefilter("ignore", FutureWarning)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return measure(1 if quick else 3)
    finally:
        torch.set_num_threads(threads)


def measure(rounds: int) -> BenchResult:
    model = small_llama()
    engine_rates, single_rates, batch_rates = [], [], []
    for _ in range(rounds):
        engine = HFEngine(model, max_context=1024, max_batch=EPISODES)
        began = time.perf_counter()
        engine_rates.append(asyncio.run(with_engine(engine)) / (time.perf_counter() - began))
        began = time.perf_counter()
        batch_rates.append(with_generate(model, EPISODES) / (time.perf_counter() - began))
        began = time.perf_counter()
        single_rates.append(with_generate(model, 1) / (time.perf_counter() - began))
    figures = {
        "engine_tokens_per_s": statistics.median(engine_rates),
        "generate_tokens_per_s": statistics.median(single_rates),
        "batched_generate_tokens_per_s": statistics.median(batch_rates),
        "prompt_tokens_cached": engine.stats.cached_tokens / engine.stats.prompt_tokens,
        "occupancy": engine.stats.occupancy,
    }
    figures["speedup_vs_generate"] = figures["engine_tokens_per_s"] / figures["generate_tokens_per_s"]
    figures["speedup_vs_batched_generate"] = (
        figures["engine_tokens_per_s"] / figures["batched_generate_tokens_per_s"]
    )
    return BenchResult(
        figures, (Target("speedup_vs_generate", ">=", 3.0), Target("speedup_vs_batched_generate", ">=", 2.0))
    )
