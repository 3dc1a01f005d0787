"""What can be told of a surface at each of its vertices, over time: strain of any model, stress where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom_fitting.scene.scene import Scene
from diffloom_studio.playback.bodies import Body
from diffloom_studio.playback.strain import strain

FIELDS = ("strain", "stress")
PEAKS = 0.005  # the share of values that may lie above a scale
STIFF = 1e-3  # strain below which a body counts as rigid: small triangles far from the origin are rounded by 1e-5


@dataclass(frozen=True)
class Field:
    """values: (frames, vertices), NaN where a vertex has none. unit: "" for a fraction."""

    name: str
    unit: str
    values: NDArray[np.float64]

    @property
    def most(self) -> float:
        """What all but one value in two hundred stay below: a single peak does not darken the rest. 0 where there is
        none."""
        known = self.values[np.isfinite(self.values)]
        return float(np.quantile(known, 1.0 - PEAKS)) if known.size else 0.0


def strain_field(body: Body) -> Field:
    """The strain of a surface since the first of its times."""
    return Field("strain", "", strain(body.vertices[0], body.vertices, body.faces))


def stress_field(scene: Scene, body: Body) -> Field | None:
    """The stress that the scene's model tells; None where it has none."""
    with torch.no_grad():
        found = scene.model.stress(body.trajectory, body.params, body.control)
    if found is None:
        return None
    return Field("stress", found.unit, found.values.double().expand(len(body.times), -1).cpu().numpy())


def field_of(name: str, scene: Scene, body: Body) -> Field | None:
    """The field called "strain" or "stress"; None where the body has none."""
    return strain_field(body) if name == "strain" else stress_field(scene, body)


def common_scale(fields: Mapping[str, Field]) -> float:
    """The value at the upper end of one scale for all bodies, by name, so that their colours can be compared: that of
    the fit where it has one, which a wild first guess does not darken."""
    known = {name: field.most for name, field in fields.items()}
    return known.get("fit", 0.0) or max(known.values(), default=0.0)


def scale_text(most: float, unit: str) -> str:
    """What the colours mean, such as "from 0 to 3.2 kPa and above"."""
    if unit == "":
        return f"from 0 to {100.0 * most:.2g} % and above"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= factor:
            return f"from 0 to {most / factor:.3g} {prefix}{unit} and above"
    return f"from 0 to {most:.3g} {unit} and above"
