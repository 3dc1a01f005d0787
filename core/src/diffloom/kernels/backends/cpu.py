"""The CPU targets: compiling generated source with numba."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from numba import njit
from numba.core.compiler_lock import global_compiler_lock

from ..compile.cache import cache_folder, locked, write_once
from ..compile.notices import notice
from ..language import DEVICE_OPTIONS, device
from ..simd import element_at, lane_count, run_at
from . import team_kernels as team
from .whole_program import EntryCompiler, runnable

_PASS = {**DEVICE_OPTIONS, "forceinline": False}


def namespace(cache: bool = True) -> dict[str, object]:
    """Names that generated CPU source uses. cache: keep compiled code on disk."""
    return {
        "device": device,
        "_dl_entry": njit(**{**_PASS, "pipeline_class": EntryCompiler}, cache=cache, nogil=True),
        "_dl_inner": njit(**DEVICE_OPTIONS),
        "_dl_pass": njit(**_PASS),
        "_dl_lane_count": lane_count,
        "_dl_run_at": run_at,
        "_dl_element_at": element_at,
        "_dl_enter_pass": team.enter_pass,
        "_dl_take_tile": team.take_tile,
        "_dl_leave_tile": team.leave_tile,
        "_dl_wait_for_team": team.wait_for_team,
    }


def load_module(name: str, text: str, names: dict[str, object]) -> ModuleType:
    """A module made from generated text, kept as a file so that numba can cache what it compiles from it."""
    path = cache_folder() / f"{name}.py"
    write_once(path, text)
    module = ModuleType(f"diffloom_generated.{name}")
    module.__file__ = str(path)
    module.__dict__.update(names)
    # numba looks the module up by name when it loads compiled code from disk
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

    What is returned unpacks its arguments as those types without looking: call it with such arguments only.
    """
    function = getattr(module, entry)
    stored: Callable[..., Any] | None = _load(function, kinds)
    if stored is not None:
        return stored
    path = Path(str(module.__file__))
    with locked(path):
        stored = _load(function, kinds)
        if stored is not None:  # compiled by another process meanwhile
            return stored
        notice(f"compiling {title} (once; kept in {path.parent})")
        function.compile(kinds)
    return runnable(function.overloads[kinds])


def assembly(module: ModuleType, entry: str, kinds: tuple[Any, ...]) -> str:
    """Machine code of function ``entry`` as text."""
    function = getattr(module, entry)
    function.compile(kinds)
    return str(function.inspect_asm(kinds))


@global_compiler_lock  # type: ignore[untyped-decorator]
def _load(function: Any, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Compiled code from disk, or None.

    numba would first load all it knows about compiling, which takes longer than everything else here together;
    finished code needs none of it.
    """
    context = function.targetctx
    context.refresh = lambda: None
    try:
        found = function._cache.load_overload(kinds, context)
    finally:
        del context.refresh
    if found is None:
        return None
    return cast("Callable[..., Any]", found.entry_point)
