"""Sheets: grids, discs, the planar walker, and any surface mesh."""

from diffloom_physics_cloth.meshes.shapes import disc, grid, irregular_grid, staggered_grid, walker
from diffloom_physics_cloth.meshes.sheet import Sheet
from diffloom_physics_cloth.meshes.table import convert_trimesh, load_sheet, make_sheet

__all__ = [
    "Sheet",
    "convert_trimesh",
    "disc",
    "grid",
    "irregular_grid",
    "load_sheet",
    "make_sheet",
    "staggered_grid",
    "walker",
]
