"""The library: whether it is there, and loading it when it is first needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from diffloom.interfaces import InputError

#: The variant that is chosen where none has been: compiled for the CPU by LLVM, with derivatives, rgb.
VARIANT = "llvm_ad_rgb"
INSTALL = "pip install 'diffloom-render-mitsuba[mitsuba]' and LLVM (on Debian: apt install libllvm19)"


@functools.cache
def why_unavailable() -> str | None:
    """Why Mitsuba cannot be used here, or None. A shared library that is missing shows only when something is run."""
    try:
        mi = importlib.import_module("mitsuba")
        if mi.variant() is None or "_ad_rgb" not in mi.variant():
            mi.set_variant(VARIANT)
            mi.set_log_level(mi.LogLevel.Error)  # it warns of every mesh that is open
        importlib.import_module("drjit").eval(mi.Float(1.0) + mi.Float(2.0))
    except Exception as cause:
        return f"unavailable: Mitsuba 3 does not run ({type(cause).__name__}: {str(cause).strip()[:200]})"
    return None


def load() -> tuple[Any, Any]:
    """The modules mitsuba and drjit, with a variant chosen; InputError that says what to install."""
    reason = why_unavailable()
    if reason is not None:
        raise InputError(f'the renderer "mitsuba" is {reason}; install it with {INSTALL}, or draw with "softras"')
    return importlib.import_module("mitsuba"), importlib.import_module("drjit")


def use_threads(count: int) -> None:
    """Let Dr.Jit use so many threads. With one, gradients have the same bits every time."""
    _, dr = load()
    if dr.thread_count() != count:
        dr.set_thread_count(count)
