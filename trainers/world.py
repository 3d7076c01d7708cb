"""The ranks that train together: who I am, sums over everybody, and a place to wait for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """`rank` of `size` processes; alone, every operation does nothing."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls) -> World:
        """The world that torch.distributed knows of, or a world of one."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return cls(torch.distributed.get_rank(), torch.distributed.get_world_size())
        return cls()

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This rank's part of a list that every rank holds."""
        return items[self.rank :: self.size]

    def sum_(self, tensors: Iterable[torch.Tensor]) -> None:
        """Replace every tensor by its sum over the ranks, in place."""
        if self.size > 1:
            for tensor in tensors:
                torch.distributed.all_reduce(tensor)

    def max_(self, tensors: Iterable[torch.Tensor]) -> None:
        """Replace every tensor by its elementwise maximum over the ranks, in place."""
        if self.size > 1:
            for tensor in tensors:
                torch.distributed.all_reduce(tensor, op=torch.distributed.ReduceOp.MAX)

    def barrier(self) -> None:
        if self.size > 1:
            torch.distributed.barrier()
