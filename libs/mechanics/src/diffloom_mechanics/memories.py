"""Memory of terms: internal variables by name, and as one array for each term."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.interfaces import InputError, State, complete_memory
from diffloom_mechanics.binding import CompiledSystem


def pack_memory(system: CompiledSystem, state: State) -> list[Tensor]:
    """Return the memory of each term that has any, (nodes or elements, numbers)."""
    specs = [spec for term in system.remembering for spec in term.memory]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two terms have an internal variable {name!r}; give each a name of its own")
    rows = {spec.axis: system.count_rows(term) for term in system.remembering for spec in term.memory}
    held = complete_memory(state, specs, rows).memory
    return [torch.cat([held[s.name].flatten(1) if s.row else held[s.name][:, None] for s in term.memory], dim=1)
            for term in system.remembering]  # fmt: skip


def unpack_memory(system: CompiledSystem, packed: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return internal variables (frames, nodes or elements, ...) by name."""
    found: dict[str, Tensor] = {}
    for term, rows in zip(system.remembering, packed, strict=True):
        parts = rows.split([spec.width for spec in term.memory], dim=2)
        found |= {spec.name: part.unflatten(2, spec.row) if spec.row else part[..., 0]
                  for spec, part in zip(term.memory, parts, strict=True)}  # fmt: skip
    return found
