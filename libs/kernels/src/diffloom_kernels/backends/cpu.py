"""CPU targets: compilation of generated source with numba."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType

from numba import njit

from ..compile.cache import cache_folder, write_once
from ..language import DEVICE_OPTIONS, device
from ..simd import element_at, lane_count, run_at
from ..tangents import arithmetic as _arithmetic, functions as _functions  # noqa: F401  registers the operators
from . import team_kernels as team
from .numba_mode import compiler

_PASS = {**DEVICE_OPTIONS, "forceinline": False}


def namespace() -> dict[str, object]:
    """Return the global names that generated CPU source uses."""
    return {
        "device": device,
        "_dl_entry": partial(compiler.make_entry, options={**_PASS, "nogil": True}),
        "_dl_inner": njit(**DEVICE_OPTIONS),
        "_dl_pass": njit(**_PASS),
        "_dl_lane_count": lane_count,
        "_dl_run_at": run_at,
        "_dl_element_at": element_at,
        "_dl_first_tile": team.first_tile,
        "_dl_share": team.share,
        "_dl_next_tile": team.next_tile,
    }


def load_module(name: str, text: str, names: dict[str, object]) -> ModuleType:
    """Return a module made from generated text, which is kept as a file for reading and debugging."""
    path = cache_folder() / f"{name}.py"
    write_once(path, text)
    module = ModuleType(f"diffloom_generated.{name}")
    module.__file__ = str(path)
    module.__dict__.update(names)
    # numba looks modules up by name when it loads compiled code from disk
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


@contextlib.contextmanager
def temporary_module(name: str, text: str, names: dict[str, object]) -> Iterator[ModuleType]:
    """Context manager: a module that exists while code is compiled from it or loaded.

    Compiled code does not need it, and numba's data about a module takes many times the memory of its machine code.
    """
    module = load_module(name, text, names)
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)
        module.__dict__.clear()
