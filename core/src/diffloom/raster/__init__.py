"""The raster layer: what a renderer stands on. See README.md next to this file."""

from diffloom.raster.appearance import Appearance, appearance
from diffloom.raster.arena import Arena, array_of
from diffloom.raster.cut import Split, clip_near
from diffloom.raster.interpolate import interpolate
from diffloom.raster.layout import BehindNearError, Layout, cut_layout, whole_layout
from diffloom.raster.light import DEFAULT_LIGHTS, harmonics, irradiance, light_tables, shade
from diffloom.raster.normals import vertex_normals
from diffloom.raster.project import camera_points, camera_tensors, frames_of, project
from diffloom.raster.rasterise import Raster, rasterise
from diffloom.raster.scene import check_scene
from diffloom.raster.soft_mask import soft_mask
from diffloom.raster.texture import sample_texture
from diffloom.raster.topology import Topology, topology_of

__all__ = [
    "DEFAULT_LIGHTS",
    "Appearance",
    "Arena",
    "BehindNearError",
    "Layout",
    "Raster",
    "Split",
    "Topology",
    "appearance",
    "array_of",
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
