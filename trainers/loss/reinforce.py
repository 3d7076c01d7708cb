"""The plain policy gradient: L = -A log pi. No ratio, so only right for one update on fresh samples.

Williams 1992 (doi:10.1007/BF00992696); the loss of GPG (arXiv:2504.02546).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def reinforce(
    new: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token losses, shape (tokens,), and which tokens are clipped (none)."""
    return -advantages * new, new.detach() != new.detach()
