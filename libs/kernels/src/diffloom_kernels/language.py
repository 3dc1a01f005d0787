"""What kernels and pipelines are written in: a decorator or two, launches, and what is settled before compiling.

A *device* function computes one element. A *generic* one does so too, over records that hold device functions, tuples
of terms and the like: what it makes of them is settled when it is compiled. A *pipeline* is a plain function that
launches device functions over elements. Called as plain Python all of them simply run, for a debugger to step through.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from numba import config
from numba.extending import overload

from .backends.numba_mode import compiler

#: Whether kernels are compiled with checks of every index (DIFFLOOM_BOUNDS=1): slow, for hunting faults.
BOUNDS = os.environ.get("DIFFLOOM_BOUNDS", "") not in ("", "0")

#: Compiler options of every function that runs inside a kernel.
#: No "contract", which fuses a b + c d one way for scalars and another for lanes, and no "arcp", which turns vector
#: divisions into approximate reciprocals: either would part lanes from scalars in the last bit.
DEVICE_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"nsz"},
    "forceinline": True,
    "boundscheck": BOUNDS,
    **compiler.OPTIONS,
}

Anything = TypeVar("Anything")


def device(function: Callable[..., Any] | None = None, *, inline: bool = True) -> Any:
    """Make ``function`` callable from kernels on every target: scalar CPU, SIMD lanes, CUDA and the simulator.

    The body must not allocate, raise, or use float literals directly; take constants through the dtype of an array
    (``R = x.dtype.type`` then ``R(0.5)``) so that float32 stays float32. ``@device(inline=False)`` leaves it to the
    compiler whether calls are written out: for long bodies with loops, which several passes share.
    """
    if function is None:
        return partial(device, inline=inline)
    if config.DISABLE_JIT:
        return function
    return compiler.make_device_function(function, {**DEVICE_OPTIONS, "forceinline": inline})


#: What `overloaded` was given for every target, in order: for compilers that do not read numba's registry.
OVERLOADS: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


#: Rules that use no LLVM code, by function: for compilers that do not take it.
PORTABLE: dict[Callable[..., Any], Callable[..., Any]] = {}


def overloaded(
    function: Callable[..., Any], target: str = "generic", portable: Callable[..., Any] | None = None
) -> Callable[[Anything], Anything]:
    """Decorate the rule that says, for types of arguments, what compiled code calls in place of ``function``.

    target: "cpu" for what only that target has; it goes before what every target has. portable: the rule for
    compilers that do not take the LLVM code which this one writes.
    """

    def register(rule: Anything) -> Anything:
        if target == "generic":
            OVERLOADS.append((function, cast("Callable[..., Any]", rule)))
        if portable is not None:
            PORTABLE[function] = portable
        overload(function, jit_options=DEVICE_OPTIONS, target=target)(rule)
        return rule

    return register


def generic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A device function over records. It may call functions that a record holds (``nodes.drift(...)``), pass on the
    entries of one (``*term.data``) and use ``static``; for every kind of record it is given it is compiled anew."""
    function.__generic__ = True  # type: ignore[attr-defined]
    return function


def static(value: Anything) -> Anything:
    """``value``, settled before compiling: a record's lengths, functions, flags, texts and ``Const`` numbers.

    ``for term in static(system.terms)`` is unrolled, of ``if static(nodes.width == 3)`` one branch is left, and
    ``tuple(f(c) for c in static(range(nodes.width)))`` is written out.
    """
    return value


class Const(int):
    """A whole number in a record that code may be compiled for (see ``static``)."""


def launch(n: int, body: Callable[..., Any], *args: Any) -> None:
    """Call ``body(i, *args)`` for i = 0 ... n-1, in any order and possibly at once."""
    for i in range(n):
        body(i, *args)


def launch_lanes(n: int, body: Callable[..., Any], *args: Any) -> None:
    """As launch, but on the CPU ``body`` gets runs of consecutive elements and computes them as SIMD lanes."""
    for i in range(n):
        body(i, *args)


def launch_runs(n: int, body: Callable[..., Any], *args: Any) -> None:
    """As launch_lanes where n holds whole runs only (a multiple of 8): no scalar body is compiled for a rest."""
    for i in range(n):
        body(i, *args)


class _Independent:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_exc: object) -> None:
        return None


#: ``with independent:`` around launches says that they do not depend on each other: one parallel pass, one CUDA kernel.
independent = _Independent()

LAUNCHES = (launch, launch_lanes, launch_runs)
