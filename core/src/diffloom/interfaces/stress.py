"""How hard a surface is strained against: the stress that a model shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.errors import InputError

#: Units in which a stress is given, the one that is kept first where bodies of a world differ.
UNITS = ("Pa", "N/m")


@dataclass(frozen=True)
class Stress:
    """Stress at the vertices of a surface, as one number each: von Mises's.

    values: (frames, vertices), not below 0; NaN at vertices of what has none, such as a rigid body of a world. unit:
    "Pa", or "N/m" for a sheet whose thickness is not known.
    """

    values: Tensor
    unit: str = "Pa"

    def __post_init__(self) -> None:
        if self.values.dim() != 2:
            raise InputError(f"Stress: values have shape {tuple(self.values.shape)}; expected (frames, vertices)")
        if self.unit not in UNITS:
            raise InputError(f"Stress: unit is {self.unit!r}; expected {' or '.join(map(repr, UNITS))}")


def join_stresses(parts: Sequence[Stress | None], counts: Sequence[int], frames: int) -> Stress | None:
    """The stress of surfaces that are drawn as one; None where no part has any.

    counts: vertices of each part. Stresses of two units cannot be compared: pressures are kept, and the others are NaN.
    """
    given = {part.unit for part in parts if part is not None}
    if not given:
        return None
    unit = next(unit for unit in UNITS if unit in given)
    kept = [None if part is None or part.unit != unit else part.values for part in parts]
    like = next(values for values in kept if values is not None)
    rows = [
        like.new_full((frames, count), torch.nan) if values is None else values.expand(frames, -1)
        for values, count in zip(kept, counts, strict=True)
    ]
    return Stress(torch.cat(rows, dim=1), unit)
