"""Arguments of a call: tensors become numpy arrays over the same memory, and all arguments together a cache key.

This is the overhead of every call of compiled code, so it is written for speed. *Records* are NamedTuples of arrays,
numbers, further records and compile-time values: functions, flags, strings and ``Const`` numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.numba_mode import compiler
from ..language import Const
from ..rowtypes import KNOWN

_argument_key = compiler.argument_key

Key = tuple[Any, ...]
Arrays = list[NDArray[Any]]


class OnGpu(Exception):  # noqa: N818  not an error: it redirects a call to the GPU
    """Signal that an argument is in GPU memory."""


class BoundRecord:
    """Record whose arrays keep their memory from call to call: it is converted once, and passed at no cost afterwards.

    The contents of the arrays may change; the arrays must not be moved or reallocated.

    Args:
        record: Record of arrays, numbers and compile-time values.
        like: Array whose float type Python floats take, if the record itself has no array of floats.
    """

    __slots__ = ("_given", "_host", "_real", "key")

    def __init__(self, record: tuple[Any, ...], like: Any = None) -> None:
        self._given = record
        self._host: tuple[Any, ...] | None = None
        arrays: Arrays = []
        statics: list[Any] = []
        try:
            (plain,) = as_host((record,), arrays, statics)
            if like is not None:
                as_host((like,), arrays, [])
        except OnGpu:
            self.key: Key = ()
            return
        self._real = next((a.dtype.type for a in arrays if a.dtype.kind == "f"), np.float64)
        self._host = with_real_scalars(plain, self._real) if float in statics else plain
        self.key = (_argument_key(self._host), *_columns(arrays), *statics)

    @property
    def record(self) -> Any:
        """Record with numpy arrays in place of tensors, unless they are in GPU memory."""
        return self._given if self._host is None else with_real_scalars(convert_tensors(self._given), self._real)

    @property
    def host(self) -> tuple[Any, ...]:
        """Record as plain tuples of numpy arrays.

        Raises:
            OnGpu: The arrays are in GPU memory.
        """
        if self._host is None:
            raise OnGpu
        return self._host


def convert_arguments(args: Sequence[Any]) -> tuple[list[Any], Key]:
    """Return arguments as compiled code takes them, and the key that its specialisation depends on."""
    arrays: Arrays = []
    statics: list[Any] = []
    loose = as_host([None if type(value) is BoundRecord else value for value in args], arrays, statics)
    host: list[Any] = list(loose)
    for k, value in enumerate(args):
        if type(value) is BoundRecord:
            host[k] = value.host
            statics.append(value.key)
    return host, (_argument_key(loose), *_columns(arrays), *statics)


def as_host(args: Sequence[Any], arrays: Arrays, statics: list[Any], record: bool = False) -> tuple[Any, ...]:
    """Return arguments with tensors, also those inside tuples, as numpy arrays over the same memory.

    Args:
        args: Arguments, or entries of a record.
        arrays: List that receives every array, in order.
        statics: List that receives record types, compile-time values of records, and ``float`` for every Python float.
        record: True if ``args`` are entries of a record, whose booleans are compile-time values.

    Returns:
        Converted arguments.

    Raises:
        OnGpu: An array is in GPU memory.
    """
    host = list(args)
    for k, value in enumerate(args):
        kind = type(value)
        if kind is np.ndarray:
            arrays.append(value)
        elif kind is int or value is None:
            pass
        elif kind in _records:
            statics.append(kind)
            host[k] = as_host(value, arrays, statics, True)
        elif kind in _tensors:
            if value.is_cuda:
                raise OnGpu
            host[k] = array = value.detach().numpy() if value.requires_grad else value.numpy()
            arrays.append(array)
        elif kind is tuple:
            host[k] = as_host(value, arrays, statics)
        elif kind in _for_the_compiler:
            statics.append(value)
            host[k] = None
        elif kind is float:
            statics.append(kind)
        elif kind is bool:
            if record:
                statics.append(value)
        else:
            host[k] = _convert_new_type(value, arrays, statics)
    return tuple(host)


#: Types met so far: records, tensors, and compile-time values, which are not passed.
_records: set[type] = set()
_tensors: set[type] = set()
_for_the_compiler: set[type] = set()


def _convert_new_type(value: Any, arrays: Arrays, statics: list[Any]) -> Any:
    """Convert a value whose type was not met before, and note its type."""
    if isinstance(value, Const):
        statics.append(int(value))
        return int(value)
    if isinstance(value, tuple):
        _records.add(type(value))
    elif (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        _tensors.add(type(value))
    elif isinstance(value, str) or (callable(value) and not hasattr(value, "shape")):
        _for_the_compiler.add(type(value))
    else:
        if hasattr(value, "__cuda_array_interface__"):
            raise OnGpu
        return value
    return as_host((value,), arrays, statics)[0]


def _columns(arrays: Arrays) -> list[int]:
    """Return the last axes that the compiler may know, else 0; numba's key covers the memory order."""
    return [columns if (columns := array.shape[-1]) in KNOWN else 0 for array in arrays if array.ndim > 1]


def convert_tensors(value: Any) -> Any:
    """Return a value with numpy arrays in place of tensors and records unchanged."""
    if type(value) is BoundRecord:
        return value.record
    if isinstance(value, tuple):
        return rebuild(value, [convert_tensors(entry) for entry in value])
    if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return value


def rebuild(like: tuple[Any, ...], entries: list[Any]) -> tuple[Any, ...]:
    """Return a tuple or record of the type of ``like`` with these entries."""
    return tuple(entries) if type(like) is tuple else type(like)(*entries)


def is_cuda(value: Any) -> bool:
    """Return True if a value is, or holds, an array in GPU memory."""
    try:
        as_host((value,), [], [])
    except OnGpu:
        return True
    return False


def device_key(value: Any) -> Any:
    """Return the key that CUDA code depends on for one argument."""
    if isinstance(value, tuple):
        return (type(value), *map(device_key, value))
    if hasattr(value, "is_c_contiguous"):
        layout = "C" if value.is_c_contiguous() else "F" if value.is_f_contiguous() else "A"
        return (value.dtype.str, value.ndim, layout)
    if isinstance(value, Const | str | bool) or (callable(value) and not hasattr(value, "shape")):
        return value
    return type(value).__name__


def stable_text(key: Any) -> str:
    """Return a key as text that is the same in every process.

    Functions are given by name: their content is hashed with the source, and their representations hold addresses.
    """
    if isinstance(key, tuple):
        return f"({', '.join(map(stable_text, key))})"
    function = getattr(key, "py_func", key)
    return f"{function.__module__}.{function.__qualname__}" if hasattr(function, "__qualname__") else str(key)


def real_type(program: str, names: tuple[str, ...], args: Sequence[Any]) -> type[np.floating[Any]]:
    """Return the one float type of the arrays in ``args``.

    Raises:
        TypeError: Arrays differ in precision.
    """
    found: dict[np.dtype[Any], str] = {}
    for name, value in zip(names, args, strict=True):
        _collect(name, value, found)
    if len(found) > 1:
        listed = ", ".join(f"{name} is {dtype}" for dtype, name in found.items())
        raise TypeError(f"{program}: arrays of different precision ({listed}); give all of them the same dtype")
    return next(iter(found)).type if found else np.float64


def _collect(name: str, value: Any, found: dict[np.dtype[Any], str]) -> None:
    """Collect the float types in a value, each with the name of the first array that has it."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        for k, entry in enumerate(value):
            _collect(f"{name}.{fields[k]}" if fields else f"{name}[{k}]", entry, found)
        return
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") == "f":
        found.setdefault(np.dtype(dtype), name)


def with_real_scalars(value: Any, real: type[np.floating[Any]]) -> Any:
    """Return a value with its Python floats as scalars of type ``real``, so that they do not widen float32."""
    if type(value) is float:
        return real(value)
    if isinstance(value, tuple):
        return rebuild(value, [with_real_scalars(entry, real) for entry in value])
    return value


def has_floats(value: Any) -> bool:
    """Return True if a value is, or holds, a Python float."""
    return type(value) is float or (isinstance(value, tuple) and any(map(has_floats, value)))
