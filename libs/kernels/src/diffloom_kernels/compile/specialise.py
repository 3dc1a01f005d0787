"""Partial evaluation of a pipeline for its records: unrolls loops over terms and resolves functions held in records.

The compilers take arrays, numbers and tuples of them. A record also holds functions, tuples of unlike terms, flags and
widths, all of which are known before compiling. They are resolved here on syntax trees; plain code remains, with the
same statements in the same order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from ..language import independent
from .expressions import Expressions
from .prune import Uses
from .read import NameReplacer, Source, copy_node, copy_tree
from .static_values import Known, has_launches, is_function, mask_runtime_values, stored_names, structure


def specialise(pipeline: FunctionType, args: tuple[Any, ...]) -> Source:
    """Return the source of ``pipeline`` and of all functions it reaches, specialised for the structure of ``args``."""
    maker = Maker()
    maker.function(pipeline, [mask_runtime_values(value) for value in args], pipeline.__name__)
    return maker.source


class Maker:
    """Memoised specialisations of functions, one for each structure of their arguments."""

    def __init__(self) -> None:
        self.source = Source()
        self.uses = Uses()
        self._made: dict[Any, str] = {}

    def function(self, function: FunctionType, values: list[Any], wanted: str) -> str:
        """Return the name of ``function`` specialised for arguments of these known values."""
        key = (function, structure(tuple(values)))
        if key in self._made:
            return self._made[key]
        tree = copy_tree(function)
        taken = [argument.arg for argument in tree.args.args]
        if len(taken) != len(values):
            names = ", ".join(taken)
            raise TypeError(f"{function.__name__} takes {len(taken)} arguments ({names}), {len(values)} given")
        name = self._made[key] = self._free(wanted)
        tree.name = name
        self.source.functions[name] = tree  # reserves the name; moved behind its callees below
        known = Known(function, dict(zip(taken, values, strict=True)), tree)
        tree.body = _Statements(known, Expressions(self, known)).block(tree.body) or [ast.Pass()]
        if not has_launches(function):
            tree.decorator_list = [ast.Name("device", ast.Load())]
        del self.source.functions[name]
        self.source.functions[name] = tree
        self.uses.add(tree, values)
        return name

    def bind(self, value: object, wanted: str) -> str:
        """Return a global name that stands for an object."""
        for name, known in self.source.names.items():
            if known is value:
                return name
        name = self._free(wanted)
        self.source.names[name] = value
        return name

    def _free(self, wanted: str) -> str:
        """Return an unused name like ``wanted``."""
        name, number = wanted, 1
        while name in self.source.names or name in self.source.functions or name in self._made.values():
            number += 1
            name = f"{wanted}_{number}"
        return name


class _Statements:
    """Specialises the statements of one function."""

    def __init__(self, known: Known, expressions: Expressions) -> None:
        self.known, self.expressions = known, expressions
        self.unrolled = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the specialised statements up to an unconditional return."""
        made: list[ast.stmt] = []
        for statement in statements:
            made += self.statement(statement)
            if made and isinstance(made[-1], ast.Return):
                break
        return made

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the statements that one statement becomes: none, one or several."""
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.While):
            return self._open([ast.While(self.expressions.visit(node.test), node.body, node.orelse)], node.body)
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, ast.Assign):
            return self._assign(node)
        if isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.known.values.pop(node.target.id, None)
        return [self.expressions.visit(node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        """Unroll a loop over a static sequence, or keep it as a loop."""
        over = self.known.static_argument(node.iter)
        if over is not None:
            return [made for entry in self.known.entries(over) for made in self._once(node.target, entry, node.body)]
        loop = ast.For(node.target, self.expressions.visit(node.iter), node.body, node.orelse)
        return self._open([loop], [ast.Assign([node.target], node.iter), *node.body])

    def _open(self, made: list[Any], inside: list[Any]) -> list[ast.stmt]:
        """Specialise a loop that remains: variables assigned inside are unknown before and after it."""
        touched = stored_names(inside)
        self.known.forget(touched)
        made[0].body = self.block(made[0].body)
        self.known.forget(touched)
        return made

    def _if(self, node: ast.If) -> list[ast.stmt]:
        """Select the branch of a static condition, or specialise both branches and keep the values they agree on."""
        condition = self.known.static_argument(node.test)
        if condition is not None:
            return self.block(node.body if self.known.evaluate_static(condition) else node.orelse)
        before = dict(self.known.values)
        test = self.expressions.visit(node.test)
        body = self.block(node.body)
        after, self.known.values = self.known.values, before
        orelse = self.block(node.orelse)
        self.known.values = {k: v for k, v in self.known.values.items() if k in after and after[k] is v}
        return [ast.If(test, body or [ast.Pass()], orelse)]

    def _with(self, node: ast.With) -> list[ast.stmt]:
        """Specialise a ``with independent`` block; aliases of unrolled loops move in front of it."""
        if self.known.of(node.items[0].context_expr) is not independent:
            user = self.known.function.__name__
            raise TypeError(f"{user}, line {node.lineno}: only `with independent:` may be used here")
        made = self.block(node.body)
        aliases = [s for s in made if getattr(s, "of_unrolling", False)]
        rest = [s for s in made if not getattr(s, "of_unrolling", False)]
        if not rest:
            return aliases
        return [*aliases, ast.With([ast.withitem(ast.Name("independent", ast.Load()))], rest, lineno=node.lineno)]

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Specialise an assignment, and note the value of its target."""
        known = self.known.of(node.value)
        value = self.expressions.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.known.values[target.id] = known
            else:
                self.known.forget(stored_names([target]))
        if is_function(known):
            return []
        return [ast.Assign([self.expressions.visit(target) for target in node.targets], value)]

    def _once(self, target: ast.expr, entry: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return one iteration of an unrolled loop, with the loop variables replaced by aliases."""
        made: list[ast.stmt] = []
        renamed: dict[str, ast.expr] = {}
        for name, value in _pairs(target, entry):
            if isinstance(value, ast.Constant):
                renamed[name.id] = value
                continue
            self.unrolled += 1
            alias = f"{name.id}_{self.unrolled}"
            self.known.locals.add(alias)
            self.known.values[alias] = self.known.of(value)
            renamed[name.id] = ast.Name(alias, ast.Load())
            if not is_function(self.known.values[alias]):
                statement = ast.Assign([ast.Name(alias, ast.Store())], self.expressions.visit(copy_node(value)))
                statement.of_unrolling = True  # type: ignore[attr-defined]
                made.append(statement)
        return made + self.block([NameReplacer(renamed).visit(copy_node(s)) for s in body])


def _pairs(target: ast.expr, entry: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Yield each name in a loop's target with the expression it stands for."""
    if isinstance(target, ast.Name):
        yield target, entry
    elif isinstance(target, ast.Tuple) and isinstance(entry, ast.Tuple):
        for inner, value in zip(target.elts, entry.elts, strict=True):
            yield from _pairs(inner, value)
    else:
        raise TypeError(f"cannot unroll over {ast.unparse(target)} in {ast.unparse(entry)}")
