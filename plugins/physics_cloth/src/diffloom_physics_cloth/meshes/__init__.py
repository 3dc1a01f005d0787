"""Sheets to simulate: grids, discs, the planar walker, and any surface mesh."""

from diffloom_physics_cloth.meshes.shapes import disc, grid, irregular_grid, staggered_grid, walker
from diffloom_physics_cloth.meshes.sheet import Sheet
from diffloom_physics_cloth.meshes.table import from_trimesh, load, make_sheet

__all__ = ["Sheet", "disc", "from_trimesh", "grid", "irregular_grid", "load", "make_sheet", "staggered_grid", "walker"]
