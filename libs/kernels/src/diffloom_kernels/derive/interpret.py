"""Device functions as plain Python, which run at once: one call is quicker than compiling it."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from .source import plain_function

#: Interpreted functions, and global names of interpreted modules, by the identity of what they were made from; the
#: originals are held so that their identities stay taken.
_functions: dict[int, tuple[Any, FunctionType]] = {}
_modules: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}


def interpreted(function: Any) -> Any:
    """Return a device function, with all device functions that it calls, as plain Python.

    Args:
        function: Device function.

    Returns:
        Python function of the same arguments: integers, numpy floats, arrays and tuples of these.
    """
    plain = plain_function(function)
    if not isinstance(plain, FunctionType):
        return function
    if id(plain) not in _functions:
        made = FunctionType(plain.__code__, _interpreted_names(plain.__globals__), plain.__name__, plain.__defaults__,
                            _interpreted_cells(plain))  # fmt: skip
        _functions[id(plain)] = (plain, made)
    return _functions[id(plain)][1]


def _interpreted_names(names: dict[str, Any]) -> dict[str, Any]:
    """Return the global names of a module, with its device functions interpreted."""
    if id(names) not in _modules:
        made: dict[str, Any] = {}
        _modules[id(names)] = (names, made)  # before it is filled, because modules may refer to each other
        made |= {name: _interpreted_value(value) for name, value in names.items()}
    return _modules[id(names)][1]


def _interpreted_cells(function: FunctionType) -> tuple[CellType, ...] | None:
    """Return the variables that a function takes from around it, with device functions interpreted."""
    if function.__closure__ is None:
        return None
    return tuple(CellType(_interpreted_value(cell.cell_contents)) for cell in function.__closure__)


def _interpreted_value(value: Any) -> Any:
    """Return an object, interpreted if it is a device function."""
    return interpreted(value) if hasattr(value, "py_func") else value
