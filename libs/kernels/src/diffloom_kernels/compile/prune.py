"""Pruning of records to the entries that a body reads.

A record passed by value costs a few instructions per array, and the parameters of a CUDA kernel have a size limit. A
pass therefore takes the arrays that its body reads one by one and rebuilds the record inside, with None or 0 for the
entries that are not read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


class Uses:
    """Entries of record arguments that the specialised functions read."""

    def __init__(self) -> None:
        self._functions: dict[str, tuple[ast.FunctionDef, list[str], list[Any]]] = {}
        self._found: dict[tuple[str, int], set[Path]] = {}
        self._stores: dict[ast.FunctionDef, list[str]] = {}

    def add(self, tree: ast.FunctionDef, values: list[Any]) -> None:
        """Add a specialised function with the known values of its arguments."""
        self._functions[tree.name] = (tree, [argument.arg for argument in tree.args.args], values)

    def of(self, function: str, position: int) -> set[Path]:
        """Return the entries that a function reads of the argument at ``position``; () is the whole argument."""
        if function not in self._functions:
            return {()}
        key = (function, position)
        if key not in self._found:
            tree, names, values = self._functions[function]
            self._found[key] = {()}  # for recursive functions
            self._found[key] = self._reads(tree, names[position], values[position])
        return self._found[key]

    def _reads(self, tree: ast.FunctionDef, root: str, value: Any) -> set[Path]:
        """Return the entries that the statements of a function read of the record called ``root``, through aliases and
        calls.
        """
        if tree not in self._stores:
            inside = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
            self._stores[tree] = [node.id for node in inside if isinstance(node.ctx, ast.Store)]
        stores = self._stores[tree]
        if root in stores and root in [argument.arg for argument in tree.args.args]:
            return {()}
        found: set[Path] = set()
        pending: list[ast.AST] = list(tree.body)
        while pending:
            node = pending.pop()
            path = _path(node, root, value)
            if path is not None:
                found.add(path)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for k, argument in enumerate(node.args):
                    path = _path(argument, root, value)
                    if path is None:
                        pending.append(argument)
                    else:
                        found |= {path + inner for inner in self.of(node.func.id, k)}
            elif isinstance(node, ast.Assign) and (path := _path(node.value, root, value)) is not None:
                target = node.targets[0]
                if isinstance(target, ast.Name) and stores.count(target.id) == 1:
                    found |= {path + inner for inner in self._reads(tree, target.id, at(value, path))}
                else:
                    found.add(path)
            else:
                pending += ast.iter_child_nodes(node)
        return found


def _path(node: ast.AST, root: str, value: Any) -> Path | None:
    """Return the entry of the record ``root`` that an expression is, or None if it is none."""
    parts: list[str | int] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(node.slice.value)  # type: ignore[arg-type]
        else:
            return None
        node = node.value
    if node.id != root or not isinstance(node.ctx, ast.Load):
        return None
    path: list[str | int] = []
    for part in reversed(parts):
        if not isinstance(value, tuple):
            break
        value = at(value, (part,))
        path.append(part)
    return tuple(path)


def at(value: Any, path: Path) -> Any:
    """Return the entry of a record at a path."""
    for part in path:
        value = value[part] if isinstance(part, int) else getattr(value, part)
    return value


def entries(value: Any) -> Iterator[tuple[str | int, Any]]:
    """Return the entries of a record by name, or of a tuple by number."""
    return zip(getattr(value, "_fields", range(len(value))), value, strict=True)


def leaves(value: Any, used: set[Path], is_static: Callable[[Any], bool]) -> list[Path]:
    """Return the paths of the used arrays and numbers of a record, in order; compile-time values are left out."""
    found: list[Path] = []

    def walk(inner: Any, path: Path, whole: bool) -> None:
        whole = whole or path in used
        if isinstance(inner, tuple):
            for name, entry in entries(inner):
                walk(entry, (*path, name), whole)
        elif whole and not is_static(inner):
            found.append(path)

    walk(value, (), False)
    return found


def accessor(path: Path) -> str:
    """Return the source text that selects an entry, such as ``.rows[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def rebuild_text(
    value: Any, names: dict[Path, str], type_name: Callable[[type], str], unread: str = "None", path: Path = ()
) -> str:
    """Return the source text that rebuilds a record.

    Args:
        value: Record.
        names: Names of its used leaves by path.
        type_name: Function that returns the name of a record's type.
        unread: Text that stands for entries that are not read, whole tuples of arrays included.
        path: Path of ``value`` in the outermost record.
    """
    if path in names:
        return names[path]
    if not isinstance(value, tuple):
        return unread
    read = any(name[: len(path)] == path for name in names)
    if type(value) is tuple and value and not read and all(hasattr(entry, "shape") for entry in value):
        return unread
    inner = [rebuild_text(entry, names, type_name, unread, (*path, name)) for name, entry in entries(value)]
    if type(value) is tuple:
        return f"({''.join(text + ', ' for text in inner)})"
    return f"{type_name(type(value))}({', '.join(inner)})"
