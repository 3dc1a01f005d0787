"""Kernels written once: device functions, small vectors and matrices, and programs that run them on any target.

README.md next to this file says how to write a kernel. The stub ``__init__.pyi`` says where each name is defined.
"""

from __future__ import annotations

import os

from diffloom.lazy import lazy_exports

if os.environ.get("DIFFLOOM_INTERPRET", "") not in ("", "0"):
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported: device functions stay plain functions too

__getattr__, __dir__ = lazy_exports(__name__)
