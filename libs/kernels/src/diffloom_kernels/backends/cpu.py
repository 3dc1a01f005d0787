"""The CPU targets: compiling generated source with numba."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from numba import njit

from ..compile.cache import cache_folder, locked, write_once
from ..compile.notices import notice
from ..compile.stored_code import read_code, write_code
from ..language import DEVICE_OPTIONS, device
from ..simd import element_at, lane_count, run_at
from . import team_kernels as team
from .numba_internals import CompileResult, dumps, global_compiler_lock
from .whole_program import EntryCompiler, runnable

#: Where a compile result that was taken apart has its signature.
_SIGNATURE = list(signature(CompileResult._rebuild).parameters).index("signature") - 1

_PASS = {**DEVICE_OPTIONS, "forceinline": False}


def namespace() -> dict[str, object]:
    """Names that generated CPU source uses."""
    return {
        "device": device,
        "_dl_entry": njit(**{**_PASS, "pipeline_class": EntryCompiler}, nogil=True),
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
    """A module made from generated text, kept as a file for whoever wants to read it or step through it."""
    path = cache_folder() / f"{name}.py"
    write_once(path, text)
    module = ModuleType(f"diffloom_generated.{name}")
    module.__file__ = str(path)
    module.__dict__.update(names)
    # looked up by name when compiled code is loaded from disk
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


@contextlib.contextmanager
def loaded(name: str, text: str, names: dict[str, object]) -> Iterator[ModuleType]:
    """A module for as long as something is compiled from it or loaded.

    The finished code needs none of it, and what numba knows of a module takes many times the memory of its machine
    code.
    """
    module = load_module(name, text, names)
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)
        module.__dict__.clear()


def compiled(module: ModuleType, entry: str, kinds: tuple[Any, ...], title: str) -> Callable[..., Any]:
    """Function ``entry`` of the module, compiled for arguments of these types or loaded from disk.

    The module's name tells what it was made from, types included, so it names the file of its code too. What is
    returned unpacks its arguments as those types without looking: call it with such arguments only.
    """
    function = getattr(module, entry)
    path = Path(str(module.__file__)).with_suffix(".code")
    stored: Callable[..., Any] | None = _load(function, path, kinds)
    if stored is not None:
        return stored
    with locked(path):
        stored = _load(function, path, kinds)
        if stored is not None:  # compiled by another process meanwhile
            return stored
        notice(f"compiling {title} (once; kept in {path.parent})")
        function.compile(kinds)
        result = function.overloads[kinds]
        if not result.library.has_dynamic_globals:  # addresses of this process
            write_code(path, dumps(result._reduce()))
    return runnable(result)


def assembly(module: ModuleType, entry: str, kinds: tuple[Any, ...]) -> str:
    """Machine code of function ``entry`` as text."""
    function = getattr(module, entry)
    function.compile(kinds)
    return str(function.inspect_asm(kinds))


@global_compiler_lock  # type: ignore[untyped-decorator]
def _load(function: Any, path: Path, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Compiled code from disk, or None if there is none that can be used.

    numba's own cache would first load all it knows about compiling, which takes longer than everything else here
    together; finished code needs none of it.
    """
    payload = read_code(path)
    if payload is None:
        return None
    try:
        parts = pickle.loads(payload)
        if parts[_SIGNATURE].args != kinds:  # code for other arguments would take ours for something else
            return None
        found = CompileResult._rebuild(function.targetctx, *parts)
    except Exception:  # whole, but not what this numba can use: compile anew
        return None
    return cast("Callable[..., Any]", found.entry_point)
