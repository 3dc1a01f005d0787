"""Arguments of the raster layer's pipelines, recorded while a triangle is drawn: types for the CUDA check."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import RecordedCalls, record_calls

from .drawing import make_sample_scene
from .lighting import compute_vertex_normals
from .pipelines import program
from .projection import project
from .rasterisation import draw_soft_mask, interpolate, rasterise
from .surfaces import sample_texture


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    """Replace the result of a recorded pipeline: no pixel shows a triangle."""
    if pipeline == "rasterise_pixels":
        args[7].face_index.fill(-1)


def recorded_arguments(dtype: Any) -> RecordedCalls:
    """Return the arguments of each pipeline, in float32 or float64."""
    surface, camera, _ = make_sample_scene(dtype)
    assert surface.texture is not None
    with record_calls(program, _answer) as noted:
        screen = project(surface.vertices, camera)
        raster = rasterise(screen, surface.faces, (camera.height, camera.width))
        values = interpolate(compute_vertex_normals(surface.vertices, surface.faces), surface.faces, raster)
        colours = sample_texture(surface.texture, values[..., :2])
        mask = draw_soft_mask(screen, surface.faces, raster.face_index, sharpness=1.0, reach=1.0)
        (colours.sum() + mask.sum() + raster.depth.sum()).backward()
    return noted


program.samples = recorded_arguments
