"""The raster layer: what a renderer stands on. See README.md next to this file."""

from diffloom_raster.appearance import Appearance, appearance
from diffloom_raster.cut import Split, clip_near
from diffloom_raster.interpolate import interpolate
from diffloom_raster.layout import BehindNearError, Layout, cut_layout, whole_layout
from diffloom_raster.light import DEFAULT_LIGHTS, harmonics, irradiance, light_tables, shade
from diffloom_raster.normals import vertex_normals
from diffloom_raster.project import camera_points, camera_tensors, frames_of, project
from diffloom_raster.rasterise import Raster, rasterise
from diffloom_raster.scene import check_scene
from diffloom_raster.soft_mask import soft_mask
from diffloom_raster.texture import sample_texture
from diffloom_raster.topology import Topology, topology_of

__all__ = [
    "DEFAULT_LIGHTS",
    "Appearance",
    "BehindNearError",
    "Layout",
    "Raster",
    "Split",
    "Topology",
    "appearance",
    "camera_points",
    "camera_tensors",
    "check_scene",
    "clip_near",
    "cut_layout",
    "frames_of",
    "harmonics",
    "interpolate",
    "irradiance",
    "light_tables",
    "project",
    "rasterise",
    "sample_texture",
    "shade",
    "soft_mask",
    "topology_of",
    "vertex_normals",
    "whole_layout",
]
