"""Translation of device functions for numba-cuda-mlir, which has types and a registry of its own.

A device function is rebuilt from its code object, with all names in it translated in turn. Functions with overloads
(see ``overloaded``) get a rule there that calls ours: types are translated one way, the implementation the other. The
corrections of numba-cuda-mlir that this needs are in ``mlir_patches``.
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
_kept: list[dict[str, Any]] = []  # keeps the dictionaries alive, so that their ids stay unique
_functions: dict[Any, Any] = {}


def device_function(function: Callable[..., Any]) -> Any:
    """Return a device function made of generated source, whose names are translated already."""
    _register_rules()
    return cuda.jit(device=True)(function)


def translate_value(value: Any) -> Any:
    """Return a global of device code, translated for numba-cuda-mlir."""
    if is_jitted(value):
        if value not in _functions:
            made = device_function(translate_names(value.py_func))
            _functions.setdefault(value, made)  # cyclic references: the recursion may have made it
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
    """Register how a record is built from its fields inside a kernel, which numba-cuda-mlir can type but not lower."""

    def build(lowering: Any, target: Any, args: Any, kwargs: Any) -> None:
        lowering.store_var(target, tuple(lowering.load_var(arg) for arg in args))

    extending.lower_builtin(record, every.VarArg(every.Any))(build)
    extending.refresh_registries(typing=False)


def translate_names(function: python.FunctionType) -> python.FunctionType:
    """Return a copy of a function with translated globals and closure."""
    cells = tuple(python.CellType(translate_value(cell.cell_contents)) for cell in function.__closure__ or ())
    names = _translate_globals(function.__globals__)
    made = python.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__module__ = function.__module__
    return made


def _translate_globals(names: dict[str, Any]) -> dict[str, Any]:
    """Return the translated globals of a module, memoised."""
    if id(names) not in _globals:
        made = _globals[id(names)] = dict(names)  # registered before it is filled, because modules refer to each other
        _kept.append(names)
        made.update({name: translate_value(value) for name, value in names.items()})
    return _globals[id(names)]


@functools.cache
def _register_rules() -> None:
    """Register all overloads with numba-cuda-mlir."""
    by_function: dict[Callable[..., Any], list[Callable[..., Any]]] = {}
    for function, rule in OVERLOADS:
        by_function.setdefault(function, []).append(rule)
    for function, rules in by_function.items():
        extending.overload(function, typing_registry=extending.typing_registry)(_make_rule(function, rules))


def _make_rule(function: Callable[..., Any], rules: list[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a typing rule over numba-cuda-mlir's types that calls rules over numba's types."""

    def answer(*kinds: Any) -> Any:
        given = tuple(map(numba_type, kinds))
        for rule in rules:
            found = rule(*given)
            if found is not None:
                return translate_names(PORTABLE[function](*given) if function in PORTABLE else found)
        return None

    # numba-cuda-mlir passes types by name, so the rule needs the parameter names of the function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    scope: dict[str, Any] = {"answer": answer}
    exec(f"def rule({', '.join(names)}): return answer({', '.join(names)})", scope)
    rule: Callable[..., Any] = scope["rule"]
    return rule


def numba_type(kind: Any) -> Any:
    """Return numba's type for a type of numba-cuda-mlir, for the types of device functions' arguments."""
    if isinstance(kind, mlir_types.Array):
        return numba_types.Array(numba_type(kind.dtype), kind.ndim, kind.layout)
    if isinstance(kind, mlir_types.BaseTuple):
        return numba_types.Tuple(tuple(map(numba_type, kind.types)))  # type: ignore[attr-defined]
    if isinstance(kind, mlir_types.IntegerLiteral):
        return numba_types.IntegerLiteral(kind.literal_value)
    if isinstance(kind, mlir_types.NoneType):
        return numba_types.none
    return getattr(numba_types, str(kind))
