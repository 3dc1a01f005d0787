"""Solids for bodies: primitives, small objects, and any closed mesh."""

from diffloom_physics_rigid.shapes.catalogue import SHAPES, build_shape
from diffloom_physics_rigid.shapes.shape import RigidShape

__all__ = ["SHAPES", "RigidShape", "build_shape"]
