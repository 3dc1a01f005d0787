"""Solids to make bodies of: primitives, small objects of our own, and any closed mesh."""

from diffloom_physics_rigid.shapes.catalogue import SHAPES, shape_by_name
from diffloom_physics_rigid.shapes.shape import RigidShape

__all__ = ["SHAPES", "RigidShape", "shape_by_name"]
