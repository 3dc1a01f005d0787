"""Deformable solids of tetrahedra: the model "fem" of diffloom, and materials of your own."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
