"""Specialisation of expressions: calls of functions in records, ``*record`` expansion, constants of ``static(...)``."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..language import LAUNCHES
from .prune import leaves
from .static_values import UNKNOWN, Known, UnknownValue, entry, has_launches, is_function, is_settled, record_types

if TYPE_CHECKING:
    from .specialise import Maker


class Expressions(ast.NodeTransformer):
    """Transformer of one function's expressions.

    ``maker`` specialises the functions that they call; ``known`` holds the known values of the variables.
    """

    def __init__(self, maker: Maker, known: Known) -> None:
        self.maker, self.known = maker, known

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Specialise a call: a ``static`` value, a ``tuple`` over a static sequence, a launch, or a function."""
        if (inner := self.known.static_argument(node)) is not None:
            return ast.Constant(self.known.evaluate_static(inner))
        function = self.known.of(node.func)
        if (expanded := self.known.static_entries(node)) is not None:
            return self._tuple(expanded)
        if any(function is known for known in LAUNCHES):
            return self._launch(node, function)
        args = self._args(node.args)
        values = [self.known.of(argument) for argument in args]
        made = [self._argument(argument) for argument in args]
        return ast.Call(self._callee(node.func, function, values), made, [self.visit(k) for k in node.keywords])

    def _launch(self, node: ast.Call, function: Callable[..., Any]) -> ast.expr:
        """Specialise a launch, and prune the records that it passes to the entries that the body reads."""
        if len(node.args) < 2 or node.keywords:
            return node  # launches_in reports the error
        given = self._args(node.args[2:])
        values = [UNKNOWN, *(self.known.of(argument) for argument in given)]
        body = self._callee(node.args[1], self.known.of(node.args[1]), values)
        args = [self.visit(node.args[0]), body, *(self._argument(argument) for argument in given)]
        for k, value in enumerate(values):
            if isinstance(value, tuple) and isinstance(args[k + 1], ast.Name | ast.Attribute | ast.Subscript):
                assert isinstance(body, ast.Name)
                names = leaves(value, self.maker.uses.of(body.id, k), is_settled)
                types = {kind: self.maker.bind(kind, kind.__name__) for kind in record_types(value)}
                args[k + 1].pruned = (value, names, types)
        return ast.Call(ast.Name(function.__name__, ast.Load()), args, [])

    def _argument(self, node: ast.expr) -> ast.expr:
        """Specialise an argument; a known function is called by name at its use, so None is passed in its place."""
        if is_function(self.known.of(node)) and isinstance(node, ast.Attribute | ast.Subscript):
            return ast.Constant(None)
        made: ast.expr = self.visit(node)
        return made

    def _args(self, args: list[ast.expr]) -> list[ast.expr]:
        """Return arguments with ``*record`` expanded."""
        made: list[ast.expr] = []
        for argument in args:
            if (
                isinstance(argument, ast.Starred)
                and (expanded := self.known.static_entries(argument.value)) is not None
            ):
                made += expanded
            elif isinstance(argument, ast.Starred):
                value = self.known.of(argument.value)
                if not isinstance(value, tuple):
                    raise TypeError(
                        f"{self.known.function.__name__}: {ast.unparse(argument)} is not a record known before "
                        "compiling; pass the arguments by position, one by one or as *record"
                    )
                made += [entry(argument.value, k) for k in range(len(value))]
            else:
                made.append(argument)
        return made

    def _callee(self, node: ast.expr, function: Any, values: list[Any]) -> ast.expr:
        """Return the name of the function that a call reaches, specialised if it is generic or a pipeline."""
        if isinstance(function, UnknownValue):
            made: ast.expr = self.visit(node)
            return made
        if isinstance(function, FunctionType) and (hasattr(function, "__generic__") or has_launches(function)):
            return ast.Name(self.maker.function(function, values, function.__name__), ast.Load())
        return self._name_global(node, function)

    def _name_global(self, node: ast.expr, value: Any) -> ast.expr:
        """Return a function, type or global under a global name."""
        if isinstance(node, ast.Name) and hasattr(builtins, node.id) and getattr(builtins, node.id) is value:
            return node
        wanted = getattr(value, "__name__", "") or (node.id if isinstance(node, ast.Name) else "named")
        return ast.Name(self.maker.bind(value, wanted if wanted.isidentifier() else "named"), ast.Load())

    def _tuple(self, static_entries: list[ast.expr]) -> ast.expr:
        """Return a tuple display of the entries."""
        made = [self.visit(e) for e in static_entries]
        # CPython builds displays of more than 30 entries from a list, which numba does not support.
        parts: list[ast.expr] = [ast.Tuple(made[k : k + 24], ast.Load()) for k in range(0, max(len(made), 1), 24)]
        return functools.reduce(lambda left, right: ast.BinOp(left, ast.Add(), right), parts)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """Expand ``*tuple`` in a tuple display."""
        expanded = self.known.tuple_entries(node)
        made = ast.Tuple(node.elts if expanded is None else expanded, node.ctx)
        self.generic_visit(made)
        return made

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Select the branch of a conditional expression with a ``static`` condition."""
        condition = self.known.static_argument(node.test)
        if condition is not None:
            made: ast.expr = self.visit(node.body if self.known.evaluate_static(condition) else node.orelse)
            return made
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name by the constant or function that it is known to be, and bind globals."""
        if node.id not in self.known.locals and isinstance(node.ctx, ast.Load):
            value = self.known.global_value(node.id)
            if isinstance(value, ModuleType) or not hasattr(builtins, node.id):
                return self._global_name(node, value)
        elif isinstance(node.ctx, ast.Load):
            value = self.known.values.get(node.id)
            if is_function(value):
                return self._name_global(node, value)
            if type(value) is int:
                return ast.Constant(value)
        return node

    def _global_name(self, node: ast.Name, value: Any) -> ast.expr:
        """Return the global name under which a value is bound."""
        for name, known in self.maker.source.names.items():
            if known is value:
                return ast.Name(name, node.ctx)
        return ast.Name(self.maker.bind(value, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace an attribute of a record that is a function by its global name."""
        value = self.known.of(node)
        if is_function(value) and isinstance(self.known.of(node.value), tuple):
            return self._name_global(node, value)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Mark a subscript that selects an entry of a record."""
        of_record = isinstance(self.known.of(node.value), tuple) and isinstance(self.known.of(node.slice), int)
        self.generic_visit(node)
        node.of_record = of_record  # type: ignore[attr-defined]
        return node
