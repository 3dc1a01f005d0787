"""Handing device functions to numba-cuda-mlir, which has types and a registry of its own.

A device function is made anew from its code, with all that it names translated in turn. Functions with rules (see
``overloaded``) get a rule there that asks ours: types go one way, what is to be called goes the other. What of
numba-cuda-mlir itself has to be mended for that is in ``mlir_patches``.
"""

from __future__ import annotations

import functools
import types as python
from collections.abc import Callable
from typing import Any

from numba.core import types as numba_types
from numba.extending import is_jitted

from ..language import OVERLOADS, PORTABLE
from . import mlir_patches

try:
    from numba_cuda_mlir import cuda, extending, types as mlir_types
    from numba_cuda_mlir.numba_cuda import types as every
except ImportError as error:
    raise ImportError(f"this needs numba-cuda-mlir: pip install 'diffloom-core[cuda-mlir]' ({error})") from error

mlir_patches.apply()

_globals: dict[int, dict[str, Any]] = {}
_kept: list[dict[str, Any]] = []  # the dictionaries whose ids are taken
_functions: dict[Any, Any] = {}


def device_function(function: Callable[..., Any]) -> Any:
    """A function of generated source, whose names are translated already."""
    _register_rules()
    return cuda.jit(device=True)(function)


def translated(value: Any) -> Any:
    """A global of device code as numba-cuda-mlir takes it."""
    if is_jitted(value):
        if value not in _functions:
            made = device_function(with_translated_names(value.py_func))
            _functions.setdefault(value, made)  # modules name each other: it may have been made on the way
        return _functions[value]
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        _let_kernels_build(value)
    if value is numba_types:
        return mlir_types
    if isinstance(value, numba_types.Type):
        return getattr(mlir_types, value.name)
    return value


@functools.cache
def _let_kernels_build(record: type) -> None:
    """Say how a record is made of its fields inside a kernel, which numba-cuda-mlir can type but not write."""

    def build(lowering: Any, target: Any, args: Any, kwargs: Any) -> None:
        lowering.store_var(target, tuple(lowering.load_var(arg) for arg in args))

    extending.lower_builtin(record, every.VarArg(every.Any))(build)
    extending.refresh_registries(typing=False)


def with_translated_names(function: python.FunctionType) -> python.FunctionType:
    """A function with translated globals and closure."""
    cells = tuple(python.CellType(translated(cell.cell_contents)) for cell in function.__closure__ or ())
    names = _translated_globals(function.__globals__)
    made = python.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__module__ = function.__module__
    return made


def _translated_globals(names: dict[str, Any]) -> dict[str, Any]:
    if id(names) not in _globals:
        made = _globals[id(names)] = dict(names)  # known before it is filled: modules name each other
        _kept.append(names)
        made.update({name: translated(value) for name, value in names.items()})
    return _globals[id(names)]


@functools.cache
def _register_rules() -> None:
    by_function: dict[Callable[..., Any], list[Callable[..., Any]]] = {}
    for function, rule in OVERLOADS:
        by_function.setdefault(function, []).append(rule)
    for function, rules in by_function.items():
        extending.overload(function, typing_registry=extending.typing_registry)(_asking(function, rules))


def _asking(function: Callable[..., Any], rules: list[Callable[..., Any]]) -> Callable[..., Any]:
    """A rule over numba-cuda-mlir's types that asks rules over numba's."""

    def answer(*kinds: Any) -> Any:
        given = tuple(map(numba_type, kinds))
        for rule in rules:
            found = rule(*given)
            if found is not None:
                return with_translated_names(PORTABLE[function](*given) if function in PORTABLE else found)
        return None

    # it is asked by name, with the names of the function's own arguments
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    scope: dict[str, Any] = {"answer": answer}
    exec(f"def rule({', '.join(names)}): return answer({', '.join(names)})", scope)
    rule: Callable[..., Any] = scope["rule"]
    return rule


def numba_type(kind: Any) -> Any:
    """numba's type for one of numba-cuda-mlir's, as far as device functions are given any."""
    if isinstance(kind, mlir_types.Array):
        return numba_types.Array(numba_type(kind.dtype), kind.ndim, kind.layout)
    if isinstance(kind, mlir_types.BaseTuple):
        return numba_types.Tuple(tuple(map(numba_type, kind.types)))  # type: ignore[attr-defined]
    if isinstance(kind, mlir_types.IntegerLiteral):
        return numba_types.IntegerLiteral(kind.literal_value)
    if isinstance(kind, mlir_types.NoneType):
        return numba_types.none
    return getattr(numba_types, str(kind))
