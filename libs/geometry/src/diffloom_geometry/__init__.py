"""Meshes and rotations: shapes, files, checks, and sums over elements with gradients in a fixed order."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
