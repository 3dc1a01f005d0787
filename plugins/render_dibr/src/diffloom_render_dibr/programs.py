"""Arguments of the pipelines, recorded while a tiny scene is drawn forward and backward: types for the CUDA check."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from diffloom_kernels import RecordedCalls, record_calls
from diffloom_raster import make_sample_scene

from .pipeline_kernels import PROGRAMS
from .renderer import DibrRenderer


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    """Replace the results of a recorded pipeline: all points lie in front of the near plane."""
    if pipeline == "prepare":
        args[1].screen.fill(1.0)  # in front of the near plane


def recorded_arguments(dtype: Any, compat: Literal["kaolin"] | None = None) -> RecordedCalls:
    """Return the arguments of each pipeline, in float32 or float64, by our rules or Kaolin's."""
    surface, camera, lights = make_sample_scene(dtype)
    renderer = DibrRenderer(compat=compat, target="cuda")
    with record_calls(PROGRAMS[compat is not None], _answer) as noted:
        made = renderer.render(surface, camera, lights, ("rgba", "depth"))
        assert made.rgba is not None
        assert made.depth is not None
        (made.rgba.sum() + made.depth.sum()).backward()
    return noted


PROGRAMS[False].samples = recorded_arguments
PROGRAMS[True].samples = partial(recorded_arguments, compat="kaolin")
