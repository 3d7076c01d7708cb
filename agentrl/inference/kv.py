"""A pool of key/value rows that a transformers model writes to and reads from as its cache.

A slot holds the keys and values of one token sequence from position 0. `SlotCache` is a view for one forward
pass: each batch row writes its new tokens at their own positions of its own slot and attends to that slot. Rows
of unequal length need no padding of the past; the mask says what each query may see.

Where a slot lies in memory is the pool's business: before a decode step `pack` moves the running slots to the front
(only those that are not there yet), so that attention reads one slice instead of a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class KVPool:
    """Keys and values of token sequences in `slots` slots, and the bookkeeping of what they hold.

    Attributes:
        length: tokens that a slot has room for; grows when asked (`reserve`).
        tokens: ids whose keys and values are stored, shape (slots, length).
        counts: how many of them are valid, shape (slots,).
        busy: which slots a running request owns, shape (slots,).
        used: when each slot was last used, shape (slots,); the smallest is evicted first.
        row: where each slot lies in the tensors, shape (slots,).

    One more row than `slots` is kept: the padded queries of a ragged prefill write there.
    """

    def __init__(self, slots: int, length: int) -> None:
        self.slots, self.length = slots, length
        self.keys: dict[int, torch.Tensor] = {}
        self.values: dict[int, torch.Tensor] = {}
        self.tokens = np.full((slots, length), -1, np.int64)
        self.counts = np.zeros(slots, np.int64)
        self.busy = np.zeros(slots, bool)
        self.used = np.zeros(slots, np.int64)
        self.row = np.arange(slots)
        self._tick = 0

    @property
    def trash(self) -> int:
        """The row that nobody reads."""
        return self.slots

    def layer(self, index: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(keys, values) of a layer, each (slots + 1, heads, length, head size)."""
        if index not in self.keys:
            shape = (self.slots + 1, like.shape[1], self.length, like.shape[3])
            self.keys[index] = torch.zeros(shape, dtype=like.dtype, device=like.device)
            self.values[index] = torch.zeros(shape, dtype=like.dtype, device=like.device)
        return self.keys[index], self.values[index]

    def reserve(self, length: int) -> None:
        """Make room for sequences of `length` tokens; what is stored stays."""
        if length <= self.length:
            return
        more = max(length, 2 * self.length) - self.length
        for store in (self.keys, self.values):
            for index, tensor in store.items():
                store[index] = torch.nn.functional.pad(tensor, (0, 0, 0, more))
        self.tokens = np.pad(self.tokens, ((0, 0), (0, more)), constant_values=-1)
        self.length += more

    def take(self, prompt: np.ndarray) -> tuple[int, int]:
        """A slot for a request, and how many tokens of its prompt are already stored in it.

        The longest stored prefix wins. A slot that holds nothing but a prefix of the prompt is continued in
        place; otherwise the prefix is copied to the slot that was unused for longest.
        """
        n = min(len(prompt) - 1, self.length)
        same = self.tokens[:, :n] == prompt[:n]
        shared = np.where(same.all(axis=1), n, same.argmin(axis=1)) if n else np.zeros(self.slots, np.int64)
        shared = np.minimum(shared, self.counts)
        best = int(shared.argmax())
        kept = int(shared[best])
        if kept and not self.busy[best] and kept == self.counts[best]:
            slot = best
        else:
            slot = int(np.where(self.busy, np.iinfo(np.int64).max, self.used).argmin())
            if kept and slot != best:
                self.copy(best, slot, kept)
        self.busy[slot] = True
        self.counts[slot] = kept
        self.tokens[slot, :kept] = prompt[:kept]
        return slot, kept

    def write(self, slot: int, start: int, ids: np.ndarray) -> None:
        """Note that the slot now holds `ids` from position `start`."""
        end = start + len(ids)
        self.tokens[slot, start:end] = ids
        self.counts[slot] = end

    def release(self, slot: int) -> None:
        """Give a slot back; what it holds stays until it is evicted."""
        self._tick += 1
        self.busy[slot], self.used[slot] = False, self._tick

    def forget(self) -> None:
        """Drop everything stored: the weights that computed it are gone."""
        self.counts[:] = 0
        self.tokens[:] = -1

    def copy(self, source: int, target: int, tokens: int) -> None:
        """Copy the first `tokens` tokens of one slot into another."""
        a, b = int(self.row[source]), int(self.row[target])
        for store in (self.keys, self.values):
            for tensor in store.values():
                tensor[b, :, :tokens] = tensor[a, :, :tokens]

    def pack(self, slots: np.ndarray) -> np.ndarray:
        """Move `slots` to the first rows; returns the order of `slots` in which they lie there now."""
        n = len(slots)
        taken = np.zeros(n, bool)
        taken[self.row[slots][self.row[slots] < n]] = True
        holes = iter(np.flatnonzero(~taken))
        at = np.empty(self.slots, np.int64)
        at[self.row] = np.arange(self.slots)
        for slot in slots[self.row[slots] >= n]:
            hole = next(holes)
            self._swap(int(slot), int(at[hole]))
        return np.argsort(self.row[slots])

    def _swap(self, one: int, two: int) -> None:
        """Exchange the places of two slots."""
        a, b = int(self.row[one]), int(self.row[two])
        tokens = int(max(self.counts[one], self.counts[two]))
        for store in (self.keys, self.values):
            for tensor in store.values():
                kept = tensor[a, :, :tokens].clone()
                tensor[a, :, :tokens] = tensor[b, :, :tokens]
                tensor[b, :, :tokens] = kept
        self.row[one], self.row[two] = b, a


class SlotCache:
    """What the model takes for its cache during one forward pass.

    Args:
        write_rows, write_positions: where each new token goes in the pool's tensors, shape (rows, queries).
        read_rows: what each batch row attends to, shape (rows,); None for the pool's first rows, in order.
        span: how many positions are read.
    """

    is_compileable = False

    def __init__(
        self,
        pool: KVPool,
        write_rows: torch.Tensor,
        write_positions: torch.Tensor,
        read_rows: torch.Tensor | None,
        span: int,
    ) -> None:
        self.pool, self.read_rows, self.span = pool, read_rows, span
        self.write_rows, self.write_positions = write_rows, write_positions

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store new keys and values, (rows, heads, queries, head size); return those to attend to."""
        keys, values = self.pool.layer(layer_idx, key)
        # Index arrays around a slice put their axes first: (rows, queries, heads, head size).
        keys[self.write_rows, :, self.write_positions] = key.transpose(1, 2)
        values[self.write_rows, :, self.write_positions] = value.transpose(1, 2)
        if self.read_rows is None:
            return keys[: len(key), :, : self.span], values[: len(key), :, : self.span]
        seen_keys = keys[:, :, : self.span].index_select(0, self.read_rows)
        seen_values = values[:, :, : self.span].index_select(0, self.read_rows)
        return seen_keys, seen_values

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0
