"""Syntax trees of pipelines: the source of functions, the launches in it and the names it refers to."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)

#: Launch functions by name: whether they use lanes, and whether a remainder of less than a run is possible.
MARKERS = {"launch": (False, False), "launch_lanes": (True, True), "launch_runs": (True, False)}


@dataclass(frozen=True)
class Launch:
    """Launch statement: element count, body, its arguments, and whether it uses lanes and a scalar remainder loop."""

    count: ast.expr
    body: ast.expr
    args: tuple[ast.expr, ...]
    lanes: bool
    rest: bool


@dataclass
class Source:
    """Functions as syntax trees, and objects by the free names in them; device functions have a decorator."""

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    names: dict[str, object] = field(default_factory=dict)

    def is_pipeline(self, name: str) -> bool:
        """Return True if function ``name`` is a pipeline and not a device function."""
        return name in self.functions and not self.functions[name].decorator_list


def copy_node(node: Node) -> Node:
    """Return a copy of a syntax tree, with annotations of nodes shared; much faster than ``copy.deepcopy``."""
    made = type(node).__new__(type(node))
    for name, value in vars(node).items():
        if isinstance(value, ast.AST):
            value = copy_node(value)
        elif type(value) is list:
            value = [copy_node(entry) if isinstance(entry, ast.AST) else entry for entry in value]
        setattr(made, name, value)
    return made


class NameReplacer(ast.NodeTransformer):
    """Transformer that replaces names by expressions."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name."""
        return copy_node(self.names[node.id]) if node.id in self.names else node


def copy_tree(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return a copy of the syntax tree of a function, without decorators, type hints and docstring."""
    return copy_node(_parse_function(function))


@functools.lru_cache(maxsize=512)
def _parse_function(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the memoised syntax tree of a function."""
    name = function.__name__
    try:
        text = inspect.getsource(function)
    except OSError as error:
        raise TypeError(f"pipeline {name}: its source cannot be read; define it in a file or notebook cell") from error
    tree = ast.parse(textwrap.dedent(text)).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"pipeline {function!r} must be a plain function made with def")
    if function.__closure__:
        outer = ", ".join(function.__code__.co_freevars)
        raise TypeError(f"pipeline {name} uses {outer} of an outer function; pass it as an argument")
    tree.decorator_list = []
    for argument in [*tree.args.args, *tree.args.posonlyargs]:
        argument.annotation = None
    tree.returns = None
    if ast.get_docstring(tree) is not None and len(tree.body) > 1:
        tree.body = tree.body[1:]
    return tree


def local_paths(expressions: list[ast.expr], outer: set[str]) -> dict[str, ast.expr]:
    """Return the local variables, and entries of records, that the expressions read, by source text in order of first
    use.
    """
    found: dict[str, ast.expr] = {}

    def walk(node: ast.AST) -> None:
        root: ast.AST = node
        while isinstance(root, ast.Attribute) or getattr(root, "of_record", False):
            root = root.value  # type: ignore[attr-defined]
        if isinstance(root, ast.Name) and isinstance(node, ast.expr):
            if root.id not in outer and not hasattr(builtins, root.id):
                path, shape = node, False
                while isinstance(path, ast.Attribute) and path.attr in ("shape", "dtype"):
                    path, shape = path.value, True
                found[ast.unparse(path if shape else node)] = path
            return
        for child in ast.iter_child_nodes(node):
            walk(child)

    for expression in expressions:
        walk(expression)
    return found


def launches_in(node: ast.stmt) -> list[Launch] | None:
    """Return the launches of a statement: one, or those of a ``with independent`` block; None for other statements."""
    if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr).rpartition(".")[2] == "independent":
        inner = [launches_in(child) for child in node.body]
        if any(found is None or len(found) != 1 for found in inner):
            raise TypeError(f"line {node.lineno}: `with independent` may hold only launches")
        return [found[0] for found in inner if found]
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    name = ast.unparse(node.value.func).rpartition(".")[2]
    return [_read_launch(node.value, *MARKERS[name])] if name in MARKERS else None


def _read_launch(call: ast.Call, lanes: bool, rest: bool) -> Launch:
    """Return the launch that a call describes.

    Raises:
        TypeError: The call has too few arguments, keywords or starred arguments.
    """
    text = ast.unparse(call)
    if len(call.args) < 2:
        raise TypeError(f"{text}: expected a count and a body, launch(n, body, ...)")
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        raise TypeError(f"{text}: pass the arguments of the body by position, one by one or as *record")
    return Launch(call.args[0], call.args[1], tuple(call.args[2:]), lanes, rest)
