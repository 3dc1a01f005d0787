"""Mitsuba and Dr.Jit, loaded on first use."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from diffloom.interfaces import InputError

#: Default variant: compiled for the CPU by LLVM, with derivatives, rgb.
VARIANT = "llvm_ad_rgb"
#: Oldest LLVM that compiles the photorealistic mode.
OLDEST_LLVM = 17
INSTALL = "pip install 'diffloom-render-mitsuba[mitsuba]' and LLVM (on Debian: apt install libllvm19)"


@functools.cache
def why_unavailable() -> str | None:
    """Return the reason why Mitsuba cannot be used, or None. A missing shared library shows only when a kernel runs."""
    try:
        mi = importlib.import_module("mitsuba")
        if mi.variant() is None or "_ad_rgb" not in mi.variant():
            mi.set_variant(VARIANT)
            mi.set_log_level(mi.LogLevel.Error)  # it warns of every mesh that is open
        importlib.import_module("drjit").eval(mi.Float(1.0) + mi.Float(2.0))
    except Exception as cause:
        return f"unavailable: Mitsuba 3 does not run ({type(cause).__name__}: {str(cause).strip()[:200]})"
    return None


def check_llvm() -> None:
    """Raise InputError if the LLVM that Dr.Jit found would end the process while it compiles a path tracer.

    Dr.Jit 1.5 uses LLVM's minimum of numbers, which LLVM translates for x86 since release 17.
    """
    _, dr = load()
    version = tuple(dr.detail.llvm_version())
    if tuple(int(part) for part in dr.__version__.split(".")[:2]) >= (1, 5) and version[0] < OLDEST_LLVM:
        raise InputError(
            f"mitsuba, mode photorealistic: Dr.Jit {dr.__version__} found LLVM {'.'.join(map(str, version))}, which "
            f"cannot compile it; expected {OLDEST_LLVM} or later: apt install libllvm19, or set DRJIT_LIBLLVM_PATH"
        )


def load() -> tuple[Any, Any]:
    """Return the modules mitsuba and drjit, with a variant chosen; InputError says how to install them."""
    reason = why_unavailable()
    if reason is not None:
        raise InputError(f'the renderer "mitsuba" is {reason}; install it with {INSTALL}, or draw with "softras"')
    return importlib.import_module("mitsuba"), importlib.import_module("drjit")


def use_threads(count: int) -> None:
    """Set the number of threads of Dr.Jit. With one, gradients have the same bits every time."""
    _, dr = load()
    if dr.thread_count() != count:
        dr.set_thread_count(count)
