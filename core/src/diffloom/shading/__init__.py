"""What every renderer shares: projection, cutting at the near plane, tiles, normals, lights and textures."""

from diffloom.shading.lights import DEFAULT_LIGHTS, harmonics, irradiance, shade
from diffloom.shading.near import Split, clip_near
from diffloom.shading.normals import vertex_normals
from diffloom.shading.projection import camera_points, frames_of, project
from diffloom.shading.texture import sample_texture

__all__ = [
    "DEFAULT_LIGHTS",
    "Split",
    "camera_points",
    "clip_near",
    "frames_of",
    "harmonics",
    "irradiance",
    "project",
    "sample_texture",
    "shade",
    "vertex_normals",
]
