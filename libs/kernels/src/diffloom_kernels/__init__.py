"""Kernels written once: device functions, small vectors and matrices, and programs that run them on any target.

See README.md next to this file for how to write a kernel.
"""

from __future__ import annotations

import os

if os.environ.get("DIFFLOOM_INTERPRET", "") not in ("", "0"):
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported: device functions stay plain functions too

from diffloom.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
