"""Uneven ground: heights on a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError, ParamSpec
from diffloom_mechanics import TermContext
from diffloom_mechanics.contact.obstacle_contact import Shape
from diffloom_mechanics.contact.obstacle_term import UPRIGHT, Obstacle, Quaternion, orientation_spec, touching


@final
@dataclass(frozen=True, kw_only=True)
class HeightField(Obstacle):
    """Ground whose height is given on a grid and smoothed by quadratic B-splines between.

    heights: rows along x of columns along z [m], 3 by 3 or more; the middle of the grid is at ``position``. spacing: of
    the grid along x and z [m]. scale: factor on all heights. orientation: quaternion w x y z. There is nothing to touch
    half a cell from the outermost heights and beyond. Differentiable: position, orientation, scale and contact; not the
    heights and the spacing.
    """

    heights: Sequence[Sequence[float]] = ((0.0,) * 3,) * 3
    spacing: float | tuple[float, float] = 1.0
    scale: float = 1.0
    orientation: Quaternion = UPRIGHT

    #: The distance is measured to the tangent below a point, so its force has no exact energy.
    claims: ClassVar[tuple[str, ...]] = ("dissipative",)

    def __post_init__(self) -> None:
        try:
            found = np.array(self.heights, dtype=np.float64)
        except ValueError:
            found = np.zeros(0)
        if found.ndim != 2 or min(found.shape) < 3 or not np.isfinite(found).all():
            raise InputError(f"heights: got shape {found.shape}; expected finite numbers, 3 or more rows and columns")
        if not min(self._cells) > 0.0:
            raise InputError(f"spacing: got {self.spacing!r}; expected lengths above 0, one or two")
        object.__setattr__(self, "heights", tuple(tuple(row) for row in found.tolist()))

    @classmethod
    def example(cls, context: TermContext) -> HeightField:
        """Hills, one of which reaches over the lowest point."""
        at = touching(context)
        x, z = np.meshgrid(np.arange(9.0), np.arange(9.0), indexing="ij")
        hills = 0.2 * at.extent * (np.sin(0.9 * x + 0.3) + np.cos(0.7 * z - 0.4 * x))
        middle = np.array([0.125, 0.75, 0.125])
        top = float(middle @ hills[3:6, 3:6] @ middle)
        place = (at.point + torch.tensor([0.0, at.depth - 1.1 * top, 0.0])).tolist()
        turn: Quaternion = (1.0, 0.02, 0.05, -0.01)
        return cls(
            position=(place[0], place[1], place[2]), heights=hills.tolist(), spacing=(0.6 * at.extent, 0.5 * at.extent),
            scale=1.1, orientation=turn, **at.contact,
        )  # fmt: skip

    @property
    def _cells(self) -> tuple[float, float]:
        x, z = (self.spacing, self.spacing) if isinstance(self.spacing, (int, float)) else self.spacing
        return float(x), float(z)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        scale = ParamSpec("scale", self.scale, "", "factor on all heights")
        return (scale, orientation_spec(self.orientation))

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import height_distance, height_distance_adjoint

        heights = np.array(self.heights)
        table = np.concatenate([self._cells, heights.reshape(-1)])
        layout = np.array(heights.shape, dtype=np.int32)
        return Shape(height_distance, height_distance_adjoint, layout, table, slope=np.inf)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["scale"].reshape(1)
