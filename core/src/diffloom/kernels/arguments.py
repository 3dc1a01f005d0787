"""Arguments of a run: tensors become arrays that share their memory, and everything gets a key to look code up by.

This is the whole cost of calling compiled code, so it takes care to be quick.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import _dispatcher

from .rowtypes import has_rows_of_four

_PLAIN = frozenset((np.ndarray, int, float, bool))


class OnGpu(Exception):  # noqa: N818  not an error: it turns a run towards the GPU
    """An argument is in GPU memory."""


def as_host(args: tuple) -> tuple:
    """Tensors, also inside tuples, as numpy arrays over the same memory; raises OnGpu at the first CUDA array."""
    host = []
    for value in args:
        kind = type(value)
        if kind in _PLAIN:
            host.append(value)
        elif kind is tuple:
            host.append(as_host(value))
        elif (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
            if value.is_cuda:
                raise OnGpu
            host.append(value.detach().numpy() if value.requires_grad else value.numpy())
        elif hasattr(value, "__cuda_array_interface__"):
            raise OnGpu
        else:
            host.append(value)
    return tuple(host)


def is_cuda(value) -> bool:
    """Whether value is, or holds, an array in GPU memory."""
    try:
        as_host((value,))
    except OnGpu:
        return True
    return False


def host_key(host: tuple):
    """What compiled code depends on in host arguments: their types, and which have rows of four."""
    return _dispatcher.compute_fingerprint(host), _rows_of_four(host)


def _rows_of_four(host: tuple) -> list | tuple:
    return tuple(
        [
            has_rows_of_four(value) if type(value) is np.ndarray else _rows_of_four(value)
            for value in host
            if type(value) is np.ndarray or type(value) is tuple
        ]
    )


def device_key(value):
    """As host_key for one argument of a run on CUDA."""
    if isinstance(value, tuple):
        return tuple(map(device_key, value))
    if hasattr(value, "is_c_contiguous"):
        layout = "C" if value.is_c_contiguous() else "F" if value.is_f_contiguous() else "A"
        return (value.dtype.str, value.ndim, layout)
    return type(value).__name__


def real_type(program: str, names: tuple[str, ...], args: tuple):
    """The one float type of the arrays in args; refuses a mixture."""
    found: dict[np.dtype, str] = {}
    for name, value in zip(names, args, strict=True):
        _collect(name, value, found)
    if len(found) > 1:
        said = ", ".join(f"{name} is {dtype}" for dtype, name in found.items())
        raise TypeError(f"{program}: arrays of different precision ({said}); give all of them the same dtype")
    return next(iter(found)).type if found else np.float64


def _collect(name: str, value, found: dict) -> None:
    if isinstance(value, tuple):
        for k, entry in enumerate(value):
            _collect(f"{name}[{k}]", entry, found)
        return
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") == "f":
        found.setdefault(np.dtype(dtype), name)


def with_real_scalars(value, real):
    """Python floats, also inside tuples, as scalars of type ``real``, so that they do not widen float32."""
    if type(value) is float:
        return real(value)
    if isinstance(value, tuple):
        return tuple([with_real_scalars(entry, real) for entry in value])
    return value


def has_floats(value) -> bool:
    """Whether value is, or holds, a Python float."""
    return type(value) is float or (isinstance(value, tuple) and any(map(has_floats, value)))
