"""Kernel layer: device functions, small linear algebra, and programs that run on any target.

README.md next to this file explains how to write a kernel. The stub ``__init__.pyi`` says where each name is defined.
"""

from __future__ import annotations

import os

from diffloom.lazy import lazy_exports

if os.environ.get("DIFFLOOM_INTERPRET", "") not in ("", "0"):
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported: device functions stay plain functions too

__getattr__, __dir__ = lazy_exports(__name__)
