"""Parameters that may change from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from diffloom.fixed_order import broadcast


def per_step(name: str, params: Mapping[str, Tensor], control: Mapping[str, Tensor], shape: Sequence[int]) -> Tensor:
    """The values of a ``per_step`` parameter: (steps, *shape) from the control if it drives it, else (1, *shape)."""
    if name in control:
        rows = control[name]
        narrow = rows.dim() - 1
        return broadcast(
            rows.reshape(rows.shape[0], *[1] * (len(shape) - narrow), *rows.shape[1:]), (rows.shape[0], *shape)
        )
    return broadcast(params[name], (1, *shape))
