"""The one decorator of the kernel layer."""

from __future__ import annotations

from numba import njit

#: Compiler options of every function that runs inside a kernel.
#: _nrt=False: no reference counting, so taking an array out of a tuple is free (and allocating is a compile error).
#: No "contract", which fuses a b + c d one way for scalars and another for lanes, and no "arcp", which turns vector
#: divisions into approximate reciprocals: either would part lanes from scalars in the last bit.
DEVICE_OPTIONS = {
    "_nrt": False,
    "error_model": "numpy",
    "fastmath": {"nsz"},
    "forceinline": True,
}


def device(function):
    """Make ``function`` callable from kernels on every target: scalar CPU, SIMD lanes, CUDA and the simulator.

    The body must not allocate, raise, or use float literals directly; take constants through the dtype of an array
    (``R = x.dtype.type`` then ``R(0.5)``) so that float32 stays float32.
    """
    return njit(**DEVICE_OPTIONS)(function)
