"""Arguments of the pipelines, recorded while a tiny scene is drawn forward and backward: types for the CUDA check."""

from __future__ import annotations

from typing import Any

import torch

from diffloom_kernels import RecordedCalls, record_calls
from diffloom_raster import make_sample_scene

from .pipeline_kernels import program
from .renderer import SoftRasRenderer


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    """Replace the results of recorded pipelines, so that all later pipelines are recorded too."""
    if pipeline == "prepare":
        args[2].fill(1.0)  # in front of the near plane
    elif pipeline == "cover_first":
        args[-1].hits.fill(9.0)  # more fragments than count, so that the limits are looked for as well


def recorded_arguments(dtype: Any) -> RecordedCalls:
    """Return the arguments of each pipeline, in float32 or float64."""
    surface, camera, lights = make_sample_scene(dtype)
    renderer = SoftRasRenderer(faces_per_pixel=1, target="cuda")
    with record_calls(program, _answer) as noted:
        for outputs in (("silhouette",), ("rgba", "depth"), ("face_index",)):
            made = renderer.render(surface, camera, lights, outputs)
            shown = [p.sum() for p in (made.rgba, made.silhouette, made.depth) if p is not None]
            if shown:
                torch.stack(shown).sum().backward()
    return noted


program.samples = recorded_arguments
