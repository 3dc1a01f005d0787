"""Reading schedules: their source, the launches in it and the names it refers to."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from dataclasses import dataclass, field
from types import FunctionType

from .launches import LAUNCHES, together

#: Names of launches: whether they use lanes, and whether a rest of less than a run may be left over.
_MARKERS = {"launch": (False, False), "launch_lanes": (True, True), "launch_runs": (True, False)}


@dataclass(frozen=True)
class Launch:
    """One launch statement: how many, which body, with what."""

    count: ast.expr
    body: ast.expr
    args: tuple[ast.expr, ...]
    lanes: bool
    rest: bool


@dataclass
class Source:
    """Functions as text, and the objects their free names stand for."""

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    names: dict[str, object] = field(default_factory=dict)

    def is_schedule(self, name: str) -> bool:
        """Whether function ``name`` launches something, itself or through another schedule."""
        return name in self.functions and not self.functions[name].decorator_list


def read_functions(functions: tuple[FunctionType, ...]) -> Source:
    """The source of schedules given as Python functions, and of the schedules they call."""
    source = Source()
    pending = list(functions)
    while pending:
        function = pending.pop()
        tree = _tree(function)
        if not isinstance(tree, ast.FunctionDef):
            raise TypeError(f"schedule {function!r} must be a plain function made with def")
        if function.__closure__:
            outer = ", ".join(function.__code__.co_freevars)
            raise TypeError(f"schedule {function.__name__} uses {outer} of an outer function; pass it as an argument")
        tree.decorator_list = []
        source.functions[function.__name__] = strip_annotations(tree)
        for name in sorted(free_names(tree)):
            value = _resolve(name, function.__globals__, function.__name__)
            if value is None or name in source.functions:
                continue
            if isinstance(value, FunctionType) and value not in LAUNCHES and _launches(value):
                pending.append(value)
            elif source.names.setdefault(name, value) is not value:
                raise TypeError(f"the name {name} means different things in the schedules given")
    for name in source.functions:
        source.names.pop(name, None)
    return source


def _tree(function: FunctionType) -> ast.stmt:
    try:
        text = inspect.getsource(function)
    except OSError as error:
        name = function.__name__
        raise TypeError(f"schedule {name}: its source cannot be read; define it in a file or notebook cell") from error
    return ast.parse(textwrap.dedent(text)).body[0]


def read_text(text: str, names: dict[str, object]) -> Source:
    """Source given as text: device functions (decorated) and schedules, in one module's worth of code."""
    source = Source()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            source.functions[node.name] = strip_annotations(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise TypeError(f"generated source may hold only functions, not: {ast.unparse(node)}")
    for function in source.functions.values():
        for name in sorted(free_names(function) - set(source.functions)):
            value = _resolve(name, names, function.name)
            if value is not None:
                source.names[name] = value
    return source


def _resolve(name: str, namespace: dict[str, object], user: str) -> object:
    if name in namespace:
        value = namespace[name]
        return None if value in (*LAUNCHES, together) else value
    if hasattr(builtins, name) or name in (*_MARKERS, "together", "device"):
        return None
    raise NameError(f"{user} refers to {name}, which is not defined where it was written")


def _launches(function: FunctionType) -> bool:
    return any(name in function.__code__.co_names for name in _MARKERS)


def strip_annotations(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without type hints and docstring, which mean nothing to the compilers."""
    for argument in [*function.args.args, *function.args.posonlyargs]:
        argument.annotation = None
    function.returns = None
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        function.body = function.body[1:]
    return function


def free_names(function: ast.FunctionDef) -> set[str]:
    """Names the function reads but does not set."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    stored |= {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    return {node.id for node in names} - stored


def local_names(expressions: list[ast.expr], outer: set[str]) -> list[str]:
    """Names in the expressions that are local to their function, in order of first use."""
    found: dict[str, None] = {}
    for expression in expressions:
        for node in ast.walk(expression):
            if isinstance(node, ast.Name) and node.id not in outer and not hasattr(builtins, node.id):
                found[node.id] = None
    return list(found)


def launches_in(node: ast.stmt) -> list[Launch] | None:
    """The launches a statement stands for: one, or those of a ``with together`` block; None for other statements."""
    if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr).rpartition(".")[2] == "together":
        inner = [launches_in(child) for child in node.body]
        if any(found is None or len(found) != 1 for found in inner):
            raise TypeError(f"line {node.lineno}: `with together` may hold only launches")
        return [found[0] for found in inner if found]
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    name = ast.unparse(node.value.func).rpartition(".")[2]
    return [_read_launch(node.value, *_MARKERS[name])] if name in _MARKERS else None


def _read_launch(call: ast.Call, lanes: bool, rest: bool) -> Launch:
    text = ast.unparse(call)
    if len(call.args) < 2:
        raise TypeError(f"{text}: expected a count and a body, launch(n, body, ...)")
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        raise TypeError(f"{text}: pass the arguments of the body by position, one by one")
    return Launch(call.args[0], call.args[1], tuple(call.args[2:]), lanes, rest)
