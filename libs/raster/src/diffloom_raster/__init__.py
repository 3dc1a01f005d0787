"""Raster layer: operations that renderers are built of, each with an adjoint. The names are in ``__init__.pyi``.

Device functions for kernels are in ``diffloom_raster.kernels``, the records that kernels take in
``diffloom_raster.records``.
"""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
