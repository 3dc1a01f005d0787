"""Arguments of the pipelines, recorded while a tiny scene is drawn forward and backward: types for the CUDA check."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import RecordedCalls, record_calls
from diffloom_raster import make_sample_scene

from .pipeline_kernels import program
from .renderer import CoverageRenderer


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    if pipeline == "prepare":
        args[1].screen.fill(1.0)  # in front of the near plane


def recorded_arguments(dtype: Any) -> RecordedCalls:
    """Return the arguments by pipeline, in float32 or float64."""
    surface, camera, lights = make_sample_scene(dtype)
    renderer = CoverageRenderer(target="cuda")
    with record_calls(program, _answer) as noted:
        made = renderer.render(surface, camera, lights, ("rgba", "depth", "face_index"))
        assert made.rgba is not None
        assert made.depth is not None
        (made.rgba.sum() + made.depth.sum()).backward()
    return noted


program.samples = recorded_arguments
