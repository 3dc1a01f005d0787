"""Compile-time values: the structure of records is known (lengths, functions, flags), the contents of arrays are
not.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

from ..language import Const, static
from .arguments import rebuild
from .read import MARKERS, NameReplacer, copy_node


class UnknownValue:
    """Value known only at run time; every operation on it raises TypeError."""

    def __repr__(self) -> str:
        return "a value known only at run time"

    def _ask(self, *_other: object) -> Any:
        """Raise TypeError."""
        raise TypeError(f"it depends on {self!r}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _ask
    __bool__ = __len__ = __iter__ = __index__ = __getitem__ = __add__ = __sub__ = __mul__ = _ask
    __hash__ = object.__hash__


UNKNOWN = UnknownValue()
Values = dict[str, Any]


def mask_runtime_values(value: Any, in_record: bool = False) -> Any:
    """Return an argument with ``UNKNOWN`` in place of everything that may differ from call to call."""
    if isinstance(value, tuple):
        return rebuild(value, [mask_runtime_values(entry, type(value) is not tuple) for entry in value])
    if isinstance(value, Const | str) or value is None or is_function(value):
        return value
    return value if in_record and type(value) is bool else UNKNOWN


def structure(value: Any) -> Any:
    """Return the key of a masked value: values of one structure share a specialisation."""
    if isinstance(value, tuple):
        return (type(value), *map(structure, value))
    return "unknown" if isinstance(value, UnknownValue) else value


def is_function(value: Any) -> bool:
    """Return True if a value is a function, a type, or a device function."""
    return callable(value) and not hasattr(value, "shape")


@functools.cache
def has_launches(function: Any) -> bool:
    """Return True if a plain function is a pipeline, which launches directly or through another function."""
    if not isinstance(function, FunctionType) or hasattr(function, "__generic__"):
        return False
    names = function.__code__.co_names
    if any(name in MARKERS for name in names):
        return True
    called = [function.__globals__.get(name) for name in names]
    return any(has_launches(other) for other in called if isinstance(other, FunctionType) and other is not function)


class Known:
    """Known values of one function's variables at the statement that is being specialised.

    ``values`` holds them by name, and a missing name is unknown; ``locals`` holds the names of all variables.
    """

    def __init__(self, function: FunctionType, values: Values, tree: ast.FunctionDef) -> None:
        self.function, self.values = function, values
        self.locals = {*values, *stored_names([tree])}
        self._is_pipeline = has_launches(function)

    def of(self, node: ast.expr) -> Any:
        """Return the value of an expression, with ``UNKNOWN`` for the parts that are not known."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return self.values.get(node.id, UNKNOWN)
            return self.global_value(node.id)
        if isinstance(node, ast.Attribute):
            base = self.of(node.value)
            if isinstance(base, tuple | ModuleType) and hasattr(base, node.attr):
                return getattr(base, node.attr)
        elif isinstance(node, ast.Subscript):
            base, index = self.of(node.value), self.of(node.slice)
            if isinstance(base, tuple) and isinstance(index, int):
                return base[index]
        elif isinstance(node, ast.Tuple):
            expanded = self.tuple_entries(node)
            return UNKNOWN if expanded is None else tuple(self.of(entry) for entry in expanded)
        elif (inner := self.static_argument(node)) is not None:
            return self.evaluate_static(inner)
        elif self._is_pipeline and (expanded := self.static_entries(node)) is not None:
            # Pipelines only: device functions would be specialised for the numbers of some callers.
            return tuple(self.of(entry) for entry in expanded)
        elif isinstance(node, ast.Call) and not node.keywords:
            made = self.of(node.func)
            if isinstance(made, type) and issubclass(made, tuple) and hasattr(made, "_fields"):
                return made(*[self.of(entry) for entry in node.args])
        return UNKNOWN

    def global_value(self, name: str) -> Any:
        """Return the object behind a global name of the function."""
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        user = self.function.__name__
        raise NameError(f"{user} refers to {name}, which is not defined in its module")

    def evaluate_static(self, node: ast.expr) -> Any:
        """Return the value of ``static(node)``.

        Raises:
            TypeError: The value is known only at run time.
        """
        found_names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        bound = {n.id for n in found_names if isinstance(n.ctx, ast.Store)}  # by a comprehension in the expression
        names = {n.id for n in found_names} - bound
        space = {name: self.of(ast.Name(name, ast.Load())) for name in names}
        try:
            found = eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<static>", "eval"), space)
        except Exception as error:
            raise TypeError(f"{self._describe(node)} is not known before compiling: {error}") from error
        if isinstance(found, UnknownValue):
            raise TypeError(f"{self._describe(node)} is {found!r}")
        return found

    def _describe(self, node: ast.expr) -> str:
        """Return the text of a ``static`` expression for messages."""
        return f"{self.function.__name__}: static({ast.unparse(node)})"

    def static_argument(self, node: ast.expr | None) -> ast.expr | None:
        """Return the argument of an expression ``static(...)``, or None if it is another expression."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1):
            return None
        return node.args[0] if self.of(node.func) is static else None

    def entries(self, node: ast.expr) -> list[ast.expr]:
        """Return an expression for each entry of a known sequence."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = self.of(node.func)
            if name is reversed:
                return self.entries(node.args[0])[::-1]
            if name is tuple:
                return self.entries(node.args[0])
            if name is enumerate:
                return [ast.Tuple([ast.Constant(k), e], ast.Load()) for k, e in enumerate(self.entries(node.args[0]))]
            if name is zip:
                rows = zip(*map(self.entries, node.args), strict=True)
                return [ast.Tuple(list(row), ast.Load()) for row in rows]
        found = self.evaluate_static(node)
        if isinstance(found, range) or (found and all(type(k) is int for k in found)):
            return [ast.Constant(k) for k in found]
        return [entry(node, k) for k in range(len(found))]

    def static_entries(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the entries of ``tuple(... for entry in static(...))``, or None if the expression is another one."""
        if not (isinstance(node, ast.Call) and self.of(node.func) is tuple and len(node.args) == 1):
            return None
        (made,) = node.args
        if not isinstance(made, ast.GeneratorExp):
            return None
        (loop,) = made.generators
        over = self.static_argument(loop.iter)
        if over is None or not isinstance(loop.target, ast.Name):
            raise TypeError(f"{self.function.__name__}: {ast.unparse(made)} must run over static(...)")
        return [NameReplacer({loop.target.id: e}).visit(copy_node(made.elt)) for e in self.entries(over)]

    def tuple_entries(self, node: ast.Tuple) -> list[ast.expr] | None:
        """Return the entries of a tuple display with ``*tuple`` expanded, or None if the length of one is not known."""
        made: list[ast.expr] = []
        for part in node.elts:
            if not isinstance(part, ast.Starred):
                made.append(part)
                continue
            value = self.of(part.value)
            if not isinstance(value, tuple):
                return None
            made += [entry(part.value, k) for k in range(len(value))]
        return made

    def forget(self, names: set[str]) -> None:
        """Mark these variables as unknown."""
        for name in names:
            self.values.pop(name, None)


def stored_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that are assigned inside these nodes."""
    inside = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
    return {n.id for n in inside if not isinstance(n.ctx, ast.Load)}


def is_settled(value: Any) -> bool:
    """Return True if a value is a compile-time constant as a whole."""
    return isinstance(value, str) or value is None or is_function(value)


def record_types(value: Any) -> Iterator[type]:
    """Yield the types of the records in a value, its own included."""
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield type(value)
        for entry in value:
            yield from record_types(entry)


def entry(sequence: ast.expr, k: int) -> ast.expr:
    """Return entry k of a sequence as an expression."""
    return ast.Subscript(copy_node(sequence), ast.Constant(k), ast.Load())
