"""`HFEngine`: a transformers model, batched turn by turn.

Requests join the running batch between any two decode steps and leave it as soon as they are done; the keys and
values of what an episode was fed stay in its slot, so that its next turn computes only the new tokens. One
completion is sampled by one version of the weights. With inline environments and `threaded=False` the batches,
and so every bit of the results, are a function of the requests alone.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.inference.distribution import draw, log_distribution
from agentrl.inference.engine import Completion, ContextOverflow, FinishReason, Sampling
from agentrl.inference.kv import KVPool, SlotCache

SETTLE = 3
"""Turns of the event loop between two steps: enough for an inline environment to answer and ask again."""

PREFILL_TOKENS = 16_384
"""Most tokens (padding included) of one prefill."""

THREAD_FROM = 20_000_000
"""Parameters from which a forward pass is long enough to move out of the event loop."""


@dataclass(slots=True)
class Request:
    """One completion on its way."""

    prompt: np.ndarray
    sampling: Sampling
    future: asyncio.Future[Completion]
    seed: int
    slot: int = -1
    cached: int = 0
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finished: FinishReason | None = None
    aborted: bool = False


@dataclass(slots=True)
class EngineStats:
    """Counts since the engine was made. Occupancy is the mean number of rows of a decode step."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prefilled_tokens: int = 0
    sampled_tokens: int = 0
    decode_steps: int = 0
    aborted: int = 0
    forward_seconds: float = 0.0

    @property
    def occupancy(self) -> float:
        return self.sampled_tokens / self.decode_steps if self.decode_steps else 0.0


class HFEngine:
    """An engine around a transformers causal language model.

    Args:
        model: any decoder with ordinary full attention (Llama, Qwen2, Qwen3, SmolLM2 ...). The engine owns it: give
            it a copy of what is being trained.
        max_context: most tokens of prompt and completion.
        max_batch: most rows that decode together.
        slots: sequences whose keys and values are kept, at least `max_batch`.
        threaded: run forward passes in a thread; by default for models on a GPU or above 20 M parameters.
    """

    def __init__(
        self,
        model: Any,
        *,
        max_context: int,
        max_batch: int = 64,
        slots: int | None = None,
        threaded: bool | None = None,
    ) -> None:
        if max_context < 2:
            raise UserError(f"a context of {max_context} tokens has no room for a prompt and a completion")
        self.model = model.eval()
        self.max_context, self.max_batch = max_context, max_batch
        self.device = next(model.parameters()).device
        size = sum(parameter.numel() for parameter in model.parameters())
        self.threaded = (self.device.type != "cpu" or size > THREAD_FROM) if threaded is None else threaded
        self.weight_version = 0
        self.stats = EngineStats()
        # Newer transformers call the cache `cache`, older ones `past_key_values`.
        takes = inspect.signature(model.get_decoder().forward).parameters
        self._cache_name = "cache" if "cache" in takes else "past_key_values"
        self._vocabulary = int(model.get_input_embeddings().weight.shape[0])
        self._pool = KVPool(max(slots or 2 * max_batch, max_batch), min(128, max_context))
        self._waiting: list[Request] = []
        self._active: list[Request] = []
        self._runner: asyncio.Task[None] | None = None
        self._loading = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread = ThreadPoolExecutor(1, "agentrl-engine") if self.threaded else None
        self._closed = False
        self._counter = 0

    # -- the contract ------------------------------------------------------------------------------

    async def generate(self, prompt_ids: tuple[int, ...], sampling: Sampling) -> Completion:
        """See `Engine.generate`."""
        if self._closed:
            raise InfrastructureFailure("generate", "HFEngine", "the engine is closed")
        if len(prompt_ids) >= self.max_context:
            raise ContextOverflow(len(prompt_ids), self.max_context)
        if not prompt_ids:
            raise UserError("a prompt has at least one token")
        if min(prompt_ids) < 0 or max(prompt_ids) >= self._vocabulary:
            # Refused here: in the batch it would break the forward pass of everybody else, too.
            raise UserError(f"a prompt has a token id outside the vocabulary of {self._vocabulary}")
        self._counter += 1
        seed = self._counter if sampling.seed is None else sampling.seed
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        request = Request(np.asarray(prompt_ids, np.int64), sampling, future, seed % 2**64)
        self._waiting.append(request)
        self._start()
        try:
            return await future
        except asyncio.CancelledError:
            request.aborted = True
            raise

    async def load_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`. Running completions end on the old weights first; others wait.

        Raises:
            UserError: a name or a shape that the model does not have; nothing is loaded then.
        """
        given = dict(named_tensors)
        self._check(given)
        self._loading += 1
        try:
            while self._active:
                self._start()  # what ran them may have ended with its event loop
                self._idle.clear()
                await self._idle.wait()
            own = dict(self.model.named_parameters())
            with torch.no_grad():
                for name, tensor in given.items():
                    own[name].copy_(tensor)
            self.weight_version = version
            self._pool.forget()
        finally:
            self._loading -= 1
            if self._waiting:
                self._start()

    async def aclose(self) -> None:
        """See `Engine.aclose`."""
        self._closed = True
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.cancel()
            await asyncio.gather(runner, return_exceptions=True)
        waiting, self._waiting = self._waiting, []
        self._fail(InfrastructureFailure("generate", "HFEngine", "the engine was closed"), waiting)
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)

    # -- the runner --------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._runner is None:
            self._runner = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        """Step until nothing is left to do. Only one runs at a time."""
        try:
            while True:
                for _ in range(SETTLE):
                    await asyncio.sleep(0)
                self._drop_aborted()
                if not self._loading:
                    self._admit()
                if not self._active:
                    return
                try:
                    if self._thread is not None:
                        await until_done(self._thread.submit(self._step))
                    else:
                        self._step()
                except Exception as error:
                    self._fail(
                        InfrastructureFailure("generate", "HFEngine", f"{type(error).__name__}: {error}")
                    )
                    self._pool.forget()
                self._deliver()
        finally:
            self._runner = None
            self._idle.set()

    def _admit(self) -> None:
        free = min(self.max_batch - len(self._active), len(self._waiting))
        arrived, self._waiting = self._waiting[:free], self._waiting[free:]
        self._active += arrived

    def _drop_aborted(self) -> None:
        self.stats.aborted += sum(r.aborted for r in (*self._active, *self._waiting))
        for request in self._active:
            if request.aborted and request.slot >= 0:
                self._pool.release(request.slot)
        self._active = [r for r in self._active if not r.aborted]
        self._waiting = [r for r in self._waiting if not r.aborted]

    def _deliver(self) -> None:
        for request in self._active:
            if request.finished is None:
                continue
            self._pool.release(request.slot)
            completion = Completion(
                ids=tuple(request.ids),
                logprobs=tuple(request.logprobs),
                finish_reason=request.finished,
                weight_version=self.weight_version,
                prompt_tokens=len(request.prompt),
                cached_tokens=request.cached,
            )
            if not request.future.done():
                request.future.set_result(completion)
        self._active = [request for request in self._active if request.finished is None]
        if not self._active:
            self._idle.set()

    def _fail(self, failure: InfrastructureFailure, waiting: Iterable[Request] = ()) -> None:
        """End everything that runs, and `waiting`, with `failure`."""
        for request in (*self._active, *waiting):
            if request.slot >= 0:
                self._pool.release(request.slot)
            if not request.future.done():
                request.future.set_exception(failure)
        self._active = []
        self._idle.set()

    # -- forward passes ----------------------------------------------------------------------------

    @torch.inference_mode()
    def _step(self) -> None:
        """Prefill who has arrived, then decode one token for everybody else."""
        began = time.perf_counter()
        decoding = [request for request in self._active if request.ids]
        arrived = [request for request in self._active if not request.ids]
        if decoding:
            self._decode(decoding)
        if arrived:
            self._prefill(arrived)
        self.stats.forward_seconds += time.perf_counter() - began

    def _prefill(self, requests: list[Request]) -> None:
        leaders: dict[bytes, Request] = {}
        followers: list[tuple[Request, Request]] = []
        for request in requests:
            leader = leaders.setdefault(request.prompt.tobytes(), request)
            if leader is not request:
                followers.append((request, leader))
        first = list(leaders.values())
        self._pool.reserve(max(len(r.prompt) for r in first))
        for request in first:
            request.slot, request.cached = self._pool.take(request.prompt)
        logits = self._prefill_logits(first)
        rows = {id(request): index for index, request in enumerate(first)}
        for request in first:
            self._pool.write(request.slot, request.cached, request.prompt[request.cached :])
        for request, leader in followers:
            request.slot, request.cached = self._pool.take(request.prompt)
            # All but the last token is found by `take`; the last one is copied with the rest.
            self._pool.copy(leader.slot, request.slot, len(request.prompt))
            self._pool.write(request.slot, 0, request.prompt)
        for request in requests:
            self.stats.requests += 1
            self.stats.prompt_tokens += len(request.prompt)
            self.stats.cached_tokens += request.cached
        index = [rows[id(request)] for request in first] + [rows[id(leader)] for _, leader in followers]
        self._sample([*first, *(request for request, _ in followers)], logits[index])

    def _prefill_logits(self, requests: list[Request]) -> torch.Tensor:
        """Logits after the last prompt token, shape (requests, vocabulary); similar lengths go together."""
        order = sorted(range(len(requests)), key=lambda i: len(requests[i].prompt) - requests[i].cached)
        pieces: list[tuple[list[int], torch.Tensor]] = []
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order):
                longest = len(requests[order[end]].prompt) - requests[order[end]].cached
                if longest * (end + 1 - start) > PREFILL_TOKENS:
                    break
                end += 1
            chunk = order[start:end]
            pieces.append((chunk, self._prefill_chunk([requests[i] for i in chunk])))
            start = end
        out = torch.empty((len(requests), pieces[0][1].shape[-1]), dtype=torch.float32, device=self.device)
        for chunk, logits in pieces:
            out[chunk] = logits
        return out

    def _prefill_chunk(self, requests: list[Request]) -> torch.Tensor:
        news = [request.prompt[request.cached :] for request in requests]
        width = max(map(len, news))
        ids = np.zeros((len(news), width), np.int64)
        positions = np.zeros((len(news), width), np.int64)
        rows = self._pool.row[[request.slot for request in requests]]
        write = np.full((len(news), width), self._pool.trash, np.int64)
        for row, (request, new) in enumerate(zip(requests, news, strict=True)):
            ids[row, : len(new)] = new
            positions[row, : len(new)] = np.arange(request.cached, request.cached + len(new))
            write[row, : len(new)] = rows[row]
        last = np.array([len(new) - 1 for new in news])
        return self._forward(ids, positions, write, rows, last)

    def _decode(self, requests: list[Request]) -> None:
        slots = np.array([request.slot for request in requests], np.int64)
        order = self._pool.pack(slots)
        requests, slots = [requests[index] for index in order], slots[order]
        ids = np.array([[request.ids[-1]] for request in requests], np.int64)
        positions = self._pool.counts[slots]
        self._pool.reserve(int(positions.max()) + 1)
        rows = self._pool.row[slots]
        logits = self._forward(
            ids, positions[:, None], rows[:, None], None, np.zeros(len(requests), np.int64)
        )
        self._pool.tokens[slots, positions] = ids[:, 0]
        self._pool.counts[slots] += 1
        self.stats.decode_steps += 1
        self._sample(requests, logits)

    def _forward(
        self,
        ids: np.ndarray,
        positions: np.ndarray,
        write: np.ndarray,
        read: np.ndarray | None,
        last: np.ndarray,
    ) -> torch.Tensor:
        """float32 logits of query `last[i]` of row i, shape (rows, vocabulary); `write` and `read` as in `SlotCache`."""
        span = int(positions.max()) + 1
        place = torch.from_numpy(positions).to(self.device)
        cache = SlotCache(
            self._pool,
            torch.from_numpy(write).to(self.device),
            place,
            None if read is None else torch.from_numpy(read).to(self.device),
            span,
        )
        mask = (torch.arange(span, device=self.device) <= place[:, :, None])[:, None]
        hidden = self.model.get_decoder()(
            input_ids=torch.from_numpy(ids).to(self.device),
            attention_mask=mask,
            position_ids=place,
            use_cache=True,
            **{self._cache_name: cache},
        ).last_hidden_state
        rows = torch.arange(len(ids), device=self.device)
        picked = hidden[rows, torch.from_numpy(last).to(self.device)]
        self.stats.prefilled_tokens += int(last.sum() + len(last)) if ids.shape[1] > 1 else 0
        return self.model.get_output_embeddings()(picked).float()

    def _sample(self, requests: list[Request], logits: torch.Tensor) -> None:
        """Sample one token for every request, record it, and say who is finished."""
        if not torch.isfinite(logits.amax(dim=-1)).all():
            raise FloatingPointError("the model's logits are not finite numbers")
        groups: dict[tuple[float, int, float, float], list[int]] = {}
        for row, request in enumerate(requests):
            s = request.sampling
            groups.setdefault((s.temperature, s.top_k, s.top_p, s.min_p), []).append(row)
        seeds = np.array([request.seed for request in requests], np.uint64)
        counts = np.array([len(request.ids) for request in requests], np.uint64)
        u = torch.from_numpy(uniforms(seeds, counts))
        for rows in groups.values():
            whole = len(rows) == len(requests)
            part = logits if whole else logits[rows]
            logp = log_distribution(part, requests[rows[0]].sampling)
            chosen = draw(logp, u if whole else u[rows])
            values = logp.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
            for row, token, value in zip(rows, chosen.tolist(), values.tolist(), strict=True):
                self._record(requests[row], token, value)

    def _record(self, request: Request, token: int, logprob: float) -> None:
        request.ids.append(token)
        request.logprobs.append(min(0.0, logprob))
        self.stats.sampled_tokens += 1
        if token in request.sampling.stop_ids:
            request.finished = "stop"
        elif len(request.ids) >= request.sampling.max_tokens or (
            len(request.prompt) + len(request.ids) >= self.max_context
        ):
            request.finished = "length"

    def _check(self, given: dict[str, torch.Tensor]) -> None:
        own = {name: tuple(parameter.shape) for name, parameter in self.model.named_parameters()}
        for name in own:
            if name not in given:
                raise UserError(f"weights for the engine lack {name!r}")
        for name, tensor in given.items():
            if name not in own:
                raise UserError(f"weights for the engine hold {name!r}, which the model does not have")
            if tuple(tensor.shape) != own[name]:
                raise UserError(
                    f"weight {name!r} has shape {tuple(tensor.shape)}, the model's is {own[name]}"
                )


async def until_done(step: concurrent.futures.Future[None]) -> None:
    """Await a step; a cancellation waits for its end, so that none goes on unseen."""
    try:
        await asyncio.wrap_future(step)
    except asyncio.CancelledError:
        concurrent.futures.wait([step])
        raise


def uniforms(seeds: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) as a function of (seed, position): SplitMix64 (Steele et al. 2014), two rounds.

    Args:
        seeds, counts: uint64, the same shape.

    Returns:
        float64 with 53 random bits.
    """
    with np.errstate(over="ignore"):
        x = mix(seeds + np.uint64(0x9E3779B97F4A7C15))
        x = mix(x + (counts + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
