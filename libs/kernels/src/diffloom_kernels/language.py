"""Language of kernels: decorators of device functions, launches, and values that are settled before compiling.

A *device* function computes one element. A *generic* function is a device function over records that hold device
functions, tuples of terms and the like; it is specialised for the structure of the records when it is compiled. A
*pipeline* is a plain function that launches device functions over elements. Called as plain Python all of them run
without compilation, so that a debugger can step through them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from numba import config
from numba.extending import overload

from .backends.numba_mode import compiler

#: True to compile kernels with bounds checks (DIFFLOOM_BOUNDS=1), which are slow.
BOUNDS = os.environ.get("DIFFLOOM_BOUNDS", "") not in ("", "0")

#: Compiler options of every function that runs inside a kernel. The fast-math flags "contract", which fuses a b + c d
#: differently for scalars and vectors, and "arcp", which makes vector divisions approximate reciprocals, are left out:
#: either would make lanes differ from scalars in the last bit.
DEVICE_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"nsz"},
    "forceinline": True,
    "boundscheck": BOUNDS,
    **compiler.OPTIONS,
}

Anything = TypeVar("Anything")


#: Hand-written adjoints of functions of numbers, by the Python function; derived adjoints call them.
HAND_WRITTEN: dict[Callable[..., Any], Any] = {}


def device(
    function: Callable[..., Any] | None = None, *, inline: bool = True, adjoint_of: Callable[..., Any] | None = None
) -> Any:
    """Decorate a function to be callable from kernels on every target: scalar CPU, SIMD lanes, CUDA and the simulator.

    The body must not allocate or raise. Floats come from the dtype of an array (``R = x.dtype.type``, then ``R(0.5)``),
    because literals would widen float32.

    Args:
        function: Function of one element.
        inline: True to force inlining at every call. False leaves it to LLVM: for long bodies with loops that several
            passes share.
        adjoint_of: Function of numbers whose adjoint this is: it takes the same arguments and the cotangent of the
            result, and returns the cotangents of all that are floats. Derived adjoints of its callers call it.

    Returns:
        Function that compiled code can call; the plain function if compilation is disabled.
    """
    if function is None:
        return partial(device, inline=inline, adjoint_of=adjoint_of)
    made = function
    if not config.DISABLE_JIT:
        made = compiler.make_device_function(function, {**DEVICE_OPTIONS, "forceinline": inline})
    if adjoint_of is not None:
        HAND_WRITTEN[getattr(adjoint_of, "py_func", adjoint_of)] = made
    return made


#: Generic rules given to `overloaded`, in order, for compilers that do not read numba's registry.
OVERLOADS: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


#: Rules without LLVM code by function, for compilers that do not take it.
PORTABLE: dict[Callable[..., Any], Callable[..., Any]] = {}


def overloaded(
    function: Callable[..., Any], target: str = "generic", portable: Callable[..., Any] | None = None
) -> Callable[[Anything], Anything]:
    """Return a decorator of the typing rule that selects the compiled implementation of ``function``.

    Args:
        function: Plain function that kernels call by name.
        target: "generic" for all targets, or "cpu" for the CPU alone, which takes precedence there.
        portable: Rule without LLVM code, for compilers that do not take it.

    Returns:
        Decorator; the rule takes the types of the arguments and returns a function, or None if it does not apply.
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
    """Mark a device function over records, which is specialised for every structure of records that it is given.

    It may call functions that a record holds (``nodes.drift(...)``), pass on the entries of a record (``*term.data``),
    and use ``static``.

    Args:
        function: Function of one element.

    Returns:
        The same function, marked.
    """
    function.__generic__ = True  # type: ignore[attr-defined]
    return function


def static(value: Anything) -> Anything:
    """Mark an expression as a compile-time constant.

    ``for term in static(system.terms)`` is unrolled, of ``if static(nodes.width == 3)`` one branch remains, and
    ``tuple(f(c) for c in static(range(nodes.width)))`` is expanded.

    Args:
        value: Expression of lengths of tuples, functions, flags, strings, None and ``Const`` numbers of records; the
            contents of arrays are not known.

    Returns:
        ``value``.
    """
    return value


class Const(int):
    """Integer in a record that is a compile-time constant (see ``static``)."""


def launch(n: int, body: Callable[..., Any], *args: Any) -> None:
    """Call ``body(i, *args)`` for i = 0 ... n-1, in any order and in parallel.

    Args:
        n: Number of elements.
        body: Device function of one element.
        *args: Further arguments of the body, the same for all elements.
    """
    for i in range(n):
        body(i, *args)


def launch_lanes(n: int, body: Callable[..., Any], *args: Any) -> None:
    """Launch ``body`` as ``launch`` does, on the CPU in SIMD lanes: it gets runs of consecutive elements.

    Args:
        n: Number of elements.
        body: Device function of one element or run.
        *args: Further arguments of the body, the same for all elements.
    """
    for i in range(n):
        body(i, *args)


def launch_runs(n: int, body: Callable[..., Any], *args: Any) -> None:
    """Launch ``body`` as ``launch_lanes`` does, without a scalar remainder loop.

    Args:
        n: Number of elements, a multiple of 8.
        body: Device function of a run.
        *args: Further arguments of the body, the same for all elements.
    """
    for i in range(n):
        body(i, *args)


class _Independent:
    """Context manager type of ``independent``; it does nothing in interpreted mode."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_exc: object) -> None:
        return None


#: Context manager: ``with independent:`` fuses launches that do not depend on each other into one pass or CUDA kernel.
independent = _Independent()

LAUNCHES = (launch, launch_lanes, launch_runs)
