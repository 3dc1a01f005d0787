"""Sheets to simulate: grids, discs, the planar walker, and any surface mesh."""

from diffloom_physics_cloth.meshes.disc import disc
from diffloom_physics_cloth.meshes.grid import grid, irregular_grid
from diffloom_physics_cloth.meshes.sheet import Sheet
from diffloom_physics_cloth.meshes.staggered import staggered_grid
from diffloom_physics_cloth.meshes.surface_mesh import from_trimesh, load
from diffloom_physics_cloth.meshes.table import make_sheet
from diffloom_physics_cloth.meshes.walker import walker

__all__ = ["Sheet", "disc", "from_trimesh", "grid", "irregular_grid", "load", "make_sheet", "staggered_grid", "walker"]
