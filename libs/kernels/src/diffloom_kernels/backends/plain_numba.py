"""Compilation by documented parts of numba alone: the plain mode (``DIFFLOOM_PLAIN_NUMBA=1``).

Device functions and entries are ordinary ``njit`` functions, numba's own cache keeps machine code, and numba's wrapper
unpacks arguments. Results have the same bits as with ``whole_program``, which has the same functions as this module;
compiling and calls take longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
from llvmlite import binding as llvm
from numba import njit
from numba.core.errors import NumbaError

from ..compile.cache import hold_lock, writers
from ..compile.notices import notice

#: Part of the names of functions that must not be inlined, because they are called from many places.
SHARED = "_dl_shared"

#: Name of this mode, and its additional compiler options of device functions.
NAME = "plain numba"
OPTIONS: dict[str, Any] = {}
#: None: numba does not document the lock that it holds while it compiles.
COMPILER_LOCK: Any = None


def make_device_function(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for compiled code."""
    return njit(**options)(function)


def make_entry(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the entry of a program, to be compiled; numba caches it if only the user can write to the folder."""
    folder = _numba_cache(Path(function.__code__.co_filename))
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        return njit(**options, cache=writers(folder.stat()) is None)(function)
    return njit(**options)(function)


def _numba_cache(source: Path) -> Path:
    """Return the folder in which numba caches the functions of a file."""
    return source.parent / "__pycache__"


def compile_entry(entry: Any, kinds: tuple[Any, ...], path: Path, title: str) -> Callable[..., Any]:
    """Compile the entry of a program for arguments of these types, or have numba load it from disk.

    Args:
        entry: From ``make_entry``.
        kinds: numba's types of the arguments.
        path: File that the entry's program is named by.
        title: Name of the program in messages.
    """
    with hold_lock(path):
        if not any(_numba_cache(path).glob(f"{path.stem}.*.nbi")):
            notice(f"compiling {title} (once; kept in {path.parent})")
        try:
            return cast("Callable[..., Any]", entry.compile(kinds))
        except NumbaError:
            raise
        except Exception:  # the cached file is damaged, or numba cannot use it: compile anew
            for file in _numba_cache(path).glob(f"{path.stem}.*"):
                file.unlink(missing_ok=True)
            return cast("Callable[..., Any]", entry.compile(kinds))


def get_assembly(entry: Any, kinds: tuple[Any, ...]) -> str:
    """Return the machine code of an entry as text."""
    anew = njit(**{name: value for name, value in entry.targetoptions.items() if name != "nopython"})(entry.py_func)
    anew.compile(kinds)
    return str(anew.inspect_asm(kinds))


def argument_key(value: Any) -> Any:
    """Return the parts of a value that determine its numba type."""
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, layout, flags.writeable, flags.aligned
    if kind is tuple:
        return tuple(map(argument_key, value))
    if kind in (int, float, bool, type(None)):
        return kind
    return numba.typeof(value)


def describe_processor() -> str:
    """Return the processor that code is compiled for."""
    chosen = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return repr((llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), chosen))
