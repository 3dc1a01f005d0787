"""Arguments of a run: tensors become arrays that share their memory, and everything gets a key to look code up by.

This is the whole cost of calling compiled code, so it takes care to be quick.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import _dispatcher

from .rowtypes import known_columns

_SCALARS = frozenset((int, float, bool))


class OnGpu(Exception):  # noqa: N818  not an error: it turns a run towards the GPU
    """An argument is in GPU memory."""


def as_host(args: tuple, arrays: list | None = None) -> tuple:
    """Tensors, also inside tuples, as numpy arrays over the same memory; raises OnGpu at the first CUDA array.

    arrays: gets every array, in order.
    """
    arrays = [] if arrays is None else arrays
    host = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            arrays.append(value)
        elif kind is tuple:
            value = as_host(value, arrays)
        elif kind not in _SCALARS:
            value = _from_elsewhere(value)
            if type(value) is np.ndarray:
                arrays.append(value)
        host.append(value)
    return tuple(host)


def _from_elsewhere(value):
    """What is no number, tuple or array of numpy's, as an array where it is one."""
    if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        if value.is_cuda:
            raise OnGpu
        return value.detach().numpy() if value.requires_grad else value.numpy()
    if hasattr(value, "__cuda_array_interface__"):
        raise OnGpu
    return value


def is_cuda(value) -> bool:
    """Whether value is, or holds, an array in GPU memory."""
    try:
        as_host((value,))
    except OnGpu:
        return True
    return False


def host_key(host: tuple, arrays: list) -> tuple:
    """What compiled code depends on in host arguments: their types, and which arrays have rows of known length.

    arrays: those among the arguments, in order.
    """
    columns = [known_columns(array) for array in arrays if array.ndim > 1]
    return _dispatcher.compute_fingerprint(host), *columns


def file_key(host: tuple) -> tuple:
    """The same to tell files of compiled code apart: lengths are told of every array, as arguments are nested."""
    return _dispatcher.compute_fingerprint(host), _known_columns(host)


def _known_columns(host: tuple) -> tuple:
    nested = [value for value in host if type(value) is np.ndarray or type(value) is tuple]
    return tuple([known_columns(v) if type(v) is np.ndarray else _known_columns(v) for v in nested])


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


def with_real_scalars_at(places: tuple[int, ...], host: tuple, real) -> list:
    """As with_real_scalars for the arguments at these places, which are known to hold floats."""
    typed = list(host)
    for k in places:
        typed[k] = with_real_scalars(host[k], real)
    return typed
