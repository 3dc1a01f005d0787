"""Compiling programs with what numba documents: the plain mode (``DIFFLOOM_PLAIN_NUMBA=1``).

Device functions and entries are ordinary ``njit`` functions, machine code is kept by numba's own cache, and arguments
are unpacked by numba's own wrapper. Results have the same bits as those of ``whole_program``, which has the functions
of this module too; compiling takes longer, and so does the way of the arguments of a run into compiled code.
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

from ..compile.cache import locked, writers
from ..compile.notices import notice

#: In names of what is called from several places and stays a function: the optimiser would make a copy for each.
SHARED = "_dl_shared"

#: Name of this way to compile, and compiler options of device functions that it has beside the public ones.
NAME = "plain numba"
OPTIONS: dict[str, Any] = {}
#: None: numba does not document the lock that it holds while it compiles.
COMPILER_LOCK: Any = None


def make_device_function(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for compiled code."""
    return njit(**options)(function)


def make_entry(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the entry of a program, to be compiled, and kept by numba's cache where only the user can write."""
    folder = _numba_cache(Path(function.__code__.co_filename))
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        return njit(**options, cache=writers(folder.stat()) is None)(function)
    return njit(**options)(function)


def _numba_cache(source: Path) -> Path:
    """Folder in which numba keeps machine code of functions of a file."""
    return source.parent / "__pycache__"


def compile_entry(entry: Any, kinds: tuple[Any, ...], path: Path, title: str) -> Callable[..., Any]:
    """Compile the entry of a program for arguments of these types, or have numba load it from disk.

    Args:
        entry: From ``make_entry``.
        kinds: numba's types of the arguments.
        path: File that the entry's program is named by.
        title: Name of the program in messages.
    """
    with locked(path):
        if not any(_numba_cache(path).glob(f"{path.stem}.*.nbi")):
            notice(f"compiling {title} (once; kept in {path.parent})")
        try:
            return cast("Callable[..., Any]", entry.compile(kinds))
        except NumbaError:
            raise
        except Exception:  # of a damaged file, or one that numba cannot use: compile anew
            for file in _numba_cache(path).glob(f"{path.stem}.*"):
                file.unlink(missing_ok=True)
            return cast("Callable[..., Any]", entry.compile(kinds))


def get_assembly(entry: Any, kinds: tuple[Any, ...]) -> str:
    """Return the machine code of an entry as text."""
    anew = njit(**{name: value for name, value in entry.targetoptions.items() if name != "nopython"})(entry.py_func)
    anew.compile(kinds)
    return str(anew.inspect_asm(kinds))


def argument_key(value: Any) -> Any:
    """Return what of a value makes numba take it for another type."""
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
    told = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return repr((llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), told))
