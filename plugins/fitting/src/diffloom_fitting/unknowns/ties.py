"""Ties: maps from a shorter vector, to move only part of the unknowns or several of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.unknowns.layout import UnknownLayout


@dataclass(frozen=True)
class Tie:
    """Map from a short vector to the full one.

    Args:
        index: (full size,), entry of the short vector that each full entry follows; -1 for entries that stay. Entries
            that share an index move as one.
        base: (full size,), values of the entries that stay.
        offset: (full size,), added to the short vector's entry.
    """

    index: Tensor
    base: Tensor
    offset: Tensor

    @property
    def size(self) -> int:
        """Length of the short vector."""
        return int(self.index.max()) + 1

    def expand(self, short: Tensor) -> Tensor:
        """Return the full vector.

        Args:
            short: The short vector.

        Returns:
            The full vector, differentiable with respect to the short one.
        """
        moved = short[self.index.clamp(min=0)] + self.offset
        return torch.where(self.index >= 0, moved, self.base)

    def reduce(self, full: Tensor) -> Tensor:
        """Return the short vector nearest to a full one.

        Args:
            full: The full vector.

        Returns:
            The short vector: means of the entries that move as one.
        """
        follows = self.index >= 0
        total = torch.zeros(self.size, dtype=full.dtype).index_add(0, self.index[follows], full[follows])
        count = torch.bincount(self.index[follows], minlength=self.size).to(full.dtype)
        return total / count


def make_tie(
    layout: UnknownLayout, base: Tensor, only: Sequence[str] | None, shared: Sequence[str], together: Sequence[str] = ()
) -> Tie:
    """Build the tie of a stage.

    Args:
        layout: Positions of all unknowns.
        base: (size,), the full vector.
        only: Names of the unknowns that move; None for all.
        shared: Unknowns whose rows take one value.
        together: Unknowns whose rows move by the same amount and so keep their differences (in log space, their
            ratios).

    Returns:
        The tie.
    """
    names = [slot.name for slot in layout.slots]
    joined = (*shared, *together)
    for name in (*(only or ()), *joined):
        if name not in names:
            raise InputError(
                f"stage: there is no unknown {name!r}{suggest_name(name, names) or '.'} There are: {', '.join(names)}"
            )
    parts = []
    count = 0
    for slot in layout.slots:
        if only is not None and slot.name not in only:
            parts.append(torch.full((slot.size,), -1, dtype=torch.long))
            continue
        row = slot.size // slot.shape[0] if slot.name in joined and slot.shape else slot.size
        parts.append(count + torch.arange(slot.size) % row)
        count += row
    if count == 0:
        raise InputError("stage.only: no unknown moves; name at least one")
    index, none = torch.cat(parts), torch.zeros_like(base.detach())
    tie = Tie(index, base.detach().clone(), none)
    kept = torch.cat([torch.full((slot.size,), slot.name in together) for slot in layout.slots]) & (index >= 0)
    return replace(tie, offset=torch.where(kept, tie.base - tie.expand(tie.reduce(tie.base)), none))
