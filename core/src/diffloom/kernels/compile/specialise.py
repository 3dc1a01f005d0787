"""Writing a pipeline out for the records it is given: loops over terms unrolled, functions in records named.

The compilers know arrays, numbers and tuples of them. A record also holds functions, tuples of unlike terms, flags and
widths; all that is known before compiling, and what follows from it is settled here, on syntax trees. What is left is
plain code: the same statements in the same order.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..language import LAUNCHES, Const, static, together
from .arguments import rebuilt
from .prune import Uses, leaves
from .read import MARKERS, Source, tree_of


class Unknown:
    """A value that is known only at run time; nothing can be asked of it before."""

    def __repr__(self) -> str:
        return "a value that may differ from run to run"

    def _ask(self, *_other: object) -> Any:
        raise TypeError(f"it depends on {self!r}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _ask  # type: ignore[assignment]
    __bool__ = __len__ = __iter__ = __index__ = __getitem__ = __add__ = __sub__ = __mul__ = _ask
    __hash__ = object.__hash__


UNKNOWN = Unknown()
Values = dict[str, Any]


def specialise(pipeline: FunctionType, args: tuple[Any, ...]) -> Source:
    """The source of ``pipeline`` and of all it reaches, written out for arguments of this structure."""
    maker = _Maker()
    maker.function(pipeline, [_masked(value) for value in args], pipeline.__name__)
    return maker.source


def _masked(value: Any, in_record: bool = False) -> Any:
    """An argument without what may differ from run to run."""
    if isinstance(value, tuple):
        return rebuilt(value, [_masked(entry, type(value) is not tuple) for entry in value])
    if isinstance(value, Const | str) or value is None or is_function(value):
        return value
    return value if in_record and type(value) is bool else UNKNOWN


def structure(value: Any) -> Any:
    """What of a value code may be written for: two values of one structure share it."""
    if isinstance(value, tuple):
        return (type(value), *map(structure, value))
    return "unknown" if isinstance(value, Unknown) else value


def is_function(value: Any) -> bool:
    """Whether this is a function or type, or one made ready for the compiler."""
    return callable(value) and not hasattr(value, "shape")


@functools.cache
def launches(function: Any) -> bool:
    """Whether a plain function is a pipeline: it launches, itself or through another one."""
    if not isinstance(function, FunctionType) or hasattr(function, "__generic__"):
        return False
    names = function.__code__.co_names
    if any(name in MARKERS for name in names):
        return True
    called = [function.__globals__.get(name) for name in names]
    return any(launches(other) for other in called if isinstance(other, FunctionType) and other is not function)


class _Maker:
    """Functions written so far, each once for a structure of its arguments."""

    def __init__(self) -> None:
        self.source = Source()
        self.uses = Uses()
        self._made: dict[Any, str] = {}

    def function(self, function: FunctionType, values: list[Any], wanted: str) -> str:
        """The name of ``function`` written for these arguments."""
        key = (function, structure(tuple(values)))
        if key in self._made:
            return self._made[key]
        tree = tree_of(function)
        taken = [argument.arg for argument in tree.args.args]
        if len(taken) != len(values):
            raise TypeError(f"{function.__name__} takes {len(taken)} arguments ({', '.join(taken)}), {len(values)} given")
        name = self._made[key] = self._free(wanted)
        tree.name = name
        self.source.functions[name] = tree  # its place; what it calls comes before it when written
        writer = _Writer(self, function, dict(zip(taken, values, strict=True)), tree)
        tree.body = writer.block(tree.body) or [ast.Pass()]
        if not launches(function):
            tree.decorator_list = [ast.Name("device", ast.Load())]
        del self.source.functions[name]
        self.source.functions[name] = tree
        self.uses.add(tree, values)
        return name

    def bind(self, value: object, wanted: str) -> str:
        """A global name for an object."""
        for name, known in self.source.names.items():
            if known is value:
                return name
        name = self._free(wanted)
        self.source.names[name] = value
        return name

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.source.names or name in self.source.functions or name in self._made.values():
            number += 1
            name = f"{wanted}_{number}"
        return name


class _Writer(ast.NodeTransformer):
    """One function's way through its statements, with what is known of its variables."""

    def __init__(self, maker: _Maker, function: FunctionType, values: Values, tree: ast.FunctionDef) -> None:
        self.maker, self.function, self.values = maker, function, values
        stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        self.locals = {*values, *stored}
        self.unrolled = 0

    # What is known

    def known(self, node: ast.expr) -> Any:
        """The value of an expression as far as it is known."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return self.values.get(node.id, UNKNOWN)
            return self._global(node.id)
        if isinstance(node, ast.Attribute):
            base = self.known(node.value)
            if isinstance(base, tuple | ModuleType) and hasattr(base, node.attr):
                return getattr(base, node.attr)
        elif isinstance(node, ast.Subscript):
            base, index = self.known(node.value), self.known(node.slice)
            if isinstance(base, tuple) and isinstance(index, int):
                return base[index]
        elif isinstance(node, ast.Tuple):
            return tuple(self.known(entry) for entry in node.elts)
        elif (inner := self._static(node)) is not None:
            return self.settled(inner)
        elif isinstance(node, ast.Call) and not node.keywords:
            made = self.known(node.func)
            if isinstance(made, type) and issubclass(made, tuple) and hasattr(made, "_fields"):
                return made(*[self.known(entry) for entry in node.args])
        return UNKNOWN

    def _global(self, name: str) -> Any:
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        user = self.function.__name__
        raise NameError(f"{user} refers to {name}, which is not defined where it was written")

    def settled(self, node: ast.expr) -> Any:
        """The value of ``static(node)``."""
        found_names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        bound = {n.id for n in found_names if isinstance(n.ctx, ast.Store)}  # by a comprehension inside
        names = {n.id for n in found_names} - bound
        space = {name: self.known(ast.Name(name, ast.Load())) for name in names}
        try:
            found = eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<static>", "eval"), space)
        except Exception as error:
            raise TypeError(f"{self.function.__name__}: static({ast.unparse(node)}) is not known before compiling: {error}") from error
        if isinstance(found, Unknown):
            raise TypeError(f"{self.function.__name__}: static({ast.unparse(node)}) is {found!r}")
        return found

    def _static(self, node: ast.expr | None) -> ast.expr | None:
        """The argument of ``static(...)`` if the expression is that."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            if self.known(node.func) is static:
                return node.args[0]
        return None

    # Statements

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements written out, up to where the function surely returns."""
        made: list[ast.stmt] = []
        for statement in statements:
            made += self.statement(statement)
            if made and isinstance(made[-1], ast.Return):
                break
        return made

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """One statement written out: none, one or several."""
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.While):
            return self._open([ast.While(self.visit(node.test), node.body, node.orelse)], node.body)
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, ast.Assign):
            return self._assign(node)
        if isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.values.pop(node.target.id, None)
        return [self.visit(node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        over = self._static(node.iter)
        if over is not None:
            return [made for entry in self._entries(over) for made in self._once(node.target, entry, node.body)]
        loop = ast.For(node.target, self.visit(node.iter), node.body, node.orelse)
        return self._open([loop], [ast.Assign([node.target], node.iter), *node.body])

    def _open(self, made: list[Any], inside: list[Any]) -> list[ast.stmt]:
        """A loop that stays one: of what is assigned inside nothing is known before or after."""
        touched = {n.id for s in inside for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in touched:
            self.values.pop(name, None)
        made[0].body = self.block(made[0].body)
        for name in touched:
            self.values.pop(name, None)
        return made

    def _if(self, node: ast.If) -> list[ast.stmt]:
        condition = self._static(node.test)
        if condition is not None:
            return self.block(node.body if self.settled(condition) else node.orelse)
        before = dict(self.values)
        test = self.visit(node.test)
        body = self.block(node.body)
        after, self.values = self.values, before
        orelse = self.block(node.orelse)
        self.values = {k: v for k, v in self.values.items() if k in after and after[k] is v}
        return [ast.If(test, body or [ast.Pass()], orelse)]

    def _with(self, node: ast.With) -> list[ast.stmt]:
        if self.known(node.items[0].context_expr) is not together:
            raise TypeError(f"{self.function.__name__}, line {node.lineno}: only `with together:` may be used here")
        made = self.block(node.body)
        aliases = [s for s in made if getattr(s, "of_unrolling", False)]
        rest = [s for s in made if not getattr(s, "of_unrolling", False)]
        return [*aliases, ast.With([ast.withitem(ast.Name("together", ast.Load()))], rest, lineno=node.lineno)] if rest else aliases

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        known = self.known(node.value)
        value = self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.values[target.id] = known
            else:
                for name in [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]:
                    self.values.pop(name, None)
        if is_function(known):
            return []
        return [ast.Assign([self.visit(target) for target in node.targets], value)]

    # Unrolling

    def _entries(self, node: ast.expr) -> list[ast.expr]:
        """An expression for each entry of a sequence that is known."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = self.known(node.func)
            if name is reversed:
                return self._entries(node.args[0])[::-1]
            if name is tuple:
                return self._entries(node.args[0])
            if name is enumerate:
                return [ast.Tuple([ast.Constant(k), e], ast.Load()) for k, e in enumerate(self._entries(node.args[0]))]
            if name is zip:
                rows = zip(*map(self._entries, node.args), strict=True)
                return [ast.Tuple(list(row), ast.Load()) for row in rows]
        found = self.settled(node)
        if isinstance(found, range):
            return [ast.Constant(k) for k in found]
        return [_entry(node, k) for k in range(len(found))]

    def _once(self, target: ast.expr, entry: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
        """One round of an unrolled loop."""
        made: list[ast.stmt] = []
        renamed: dict[str, ast.expr] = {}
        for name, value in _pairs(target, entry):
            if isinstance(value, ast.Constant):
                renamed[name.id] = value
                continue
            self.unrolled += 1
            alias = f"{name.id}_{self.unrolled}"
            self.locals.add(alias)
            self.values[alias] = self.known(value)
            renamed[name.id] = ast.Name(alias, ast.Load())
            if not is_function(self.values[alias]):
                statement = ast.Assign([ast.Name(alias, ast.Store())], self.visit(copy.deepcopy(value)))
                statement.of_unrolling = True  # type: ignore[attr-defined]
                made.append(statement)
        return made + self.block([_Rename(renamed).visit(copy.deepcopy(s)) for s in body])

    # Expressions

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if (inner := self._static(node)) is not None:
            return ast.Constant(self.settled(inner))
        function = self.known(node.func)
        if function is tuple and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._tuple(node.args[0])
        if any(function is known for known in LAUNCHES):
            return self._launch(node, function)
        args = self._args(node.args)
        values = [self.known(argument) for argument in args]
        made = [self.visit(argument) for argument in args]
        if hasattr(function, "__generic__") or launches(function):
            made = [ast.Constant(None) if is_function(v) else m for m, v in zip(made, values, strict=True)]
        return ast.Call(self._callee(node.func, function, values), made, [self.visit(k) for k in node.keywords])

    def _launch(self, node: ast.Call, function: Callable[..., Any]) -> ast.expr:
        if len(node.args) < 2 or node.keywords:
            return node  # explained where launches are read
        given = self._args(node.args[2:])
        values = [UNKNOWN, *(self.known(argument) for argument in given)]
        body = self._callee(node.args[1], self.known(node.args[1]), values)
        args = [self.visit(node.args[0]), body]
        args += [ast.Constant(None) if is_function(self.known(a)) else self.visit(a) for a in given]
        for k, value in enumerate(values):
            if isinstance(value, tuple) and isinstance(args[k + 1], ast.Name | ast.Attribute | ast.Subscript):
                assert isinstance(body, ast.Name)
                names = leaves(value, self.maker.uses.of(body.id, k), _is_settled)
                types = {kind: self.maker.bind(kind, kind.__name__) for kind in _record_types(value)}
                args[k + 1].pruned = (value, names, types)  # type: ignore[attr-defined]
        return ast.Call(ast.Name(function.__name__, ast.Load()), args, [])

    def _args(self, args: list[ast.expr]) -> list[ast.expr]:
        """Arguments with ``*record`` written out."""
        made: list[ast.expr] = []
        for argument in args:
            if isinstance(argument, ast.Starred):
                value = self.known(argument.value)
                if not isinstance(value, tuple):
                    raise TypeError(
                        f"{self.function.__name__}: {ast.unparse(argument)} is not known; pass the arguments by "
                        "position, one by one or as *record"
                    )
                made += [_entry(argument.value, k) for k in range(len(value))]
            else:
                made.append(argument)
        return made

    def _callee(self, node: ast.expr, function: Any, values: list[Any]) -> ast.expr:
        if isinstance(function, Unknown):
            return self.visit(node)
        if isinstance(function, FunctionType) and (hasattr(function, "__generic__") or launches(function)):
            return ast.Name(self.maker.function(function, values, function.__name__), ast.Load())
        return self._named(node, function)

    def _named(self, node: ast.expr, value: Any) -> ast.expr:
        """A function, type or global by a name of its own."""
        if isinstance(node, ast.Name) and hasattr(builtins, node.id) and getattr(builtins, node.id) is value:
            return node
        wanted = getattr(value, "__name__", "") or (node.id if isinstance(node, ast.Name) else "named")
        return ast.Name(self.maker.bind(value, wanted if wanted.isidentifier() else "named"), ast.Load())

    def _tuple(self, node: ast.GeneratorExp) -> ast.expr:
        (loop,) = node.generators
        over = self._static(loop.iter)
        if over is None or not isinstance(loop.target, ast.Name):
            raise TypeError(f"{self.function.__name__}: {ast.unparse(node)} must run over static(...)")
        rounds = [_Rename({loop.target.id: e}).visit(copy.deepcopy(node.elt)) for e in self._entries(over)]
        return ast.Tuple([self.visit(e) for e in rounds], ast.Load())

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        condition = self._static(node.test)
        if condition is not None:
            made: ast.expr = self.visit(node.body if self.settled(condition) else node.orelse)
            return made
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.locals and isinstance(node.ctx, ast.Load):
            value = self._global(node.id)
            if isinstance(value, ModuleType) or not hasattr(builtins, node.id):
                return self._global_name(node, value)
        elif isinstance(node.ctx, ast.Load):
            value = self.values.get(node.id)
            if is_function(value):
                return self._named(node, value)
            if type(value) is int:
                return ast.Constant(value)
        return node

    def _global_name(self, node: ast.Name, value: Any) -> ast.expr:
        for name, known in self.maker.source.names.items():
            if known is value:
                return ast.Name(name, node.ctx)
        return ast.Name(self.maker.bind(value, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.known(node)
        if is_function(value) and isinstance(self.known(node.value), tuple):
            return self._named(node, value)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        of_record = isinstance(self.known(node.value), tuple) and isinstance(self.known(node.slice), int)
        self.generic_visit(node)
        node.of_record = of_record  # type: ignore[attr-defined]
        return node


def _is_settled(value: Any) -> bool:
    """Whether nothing of a value is left for run time."""
    return isinstance(value, str) or value is None or is_function(value)


def _record_types(value: Any) -> Iterator[type]:
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield type(value)
        for entry in value:
            yield from _record_types(entry)


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.names[node.id]) if node.id in self.names else node


def _pairs(target: ast.expr, entry: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """What each name of a loop's target stands for."""
    if isinstance(target, ast.Name):
        yield target, entry
    elif isinstance(target, ast.Tuple) and isinstance(entry, ast.Tuple):
        for inner, value in zip(target.elts, entry.elts, strict=True):
            yield from _pairs(inner, value)
    else:
        raise TypeError(f"cannot unroll over {ast.unparse(target)} in {ast.unparse(entry)}")


def _entry(sequence: ast.expr, k: int) -> ast.expr:
    return ast.Subscript(copy.deepcopy(sequence), ast.Constant(k), ast.Load())
