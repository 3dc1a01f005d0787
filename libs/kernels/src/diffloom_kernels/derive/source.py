"""Source of the functions that are derived, and the error that names the line that cannot be."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from .values import Value


class UnderivableError(TypeError):
    """An adjoint cannot be derived; the message names file, line and reason."""


def plain_function(function: Any) -> Any:
    """Return the Python function of a device function."""
    return getattr(function, "py_func", function)


def parameter_names(function: Any) -> list[str]:
    """Return the names of the parameters of a device function.

    Args:
        function: Device function.

    Returns:
        Names in their order.
    """
    code = plain_function(function).__code__
    return list(code.co_varnames[: code.co_argcount])


@functools.lru_cache(maxsize=1024)
def parse_function(function: FunctionType) -> ast.FunctionDef:
    """Return the syntax tree of a function, with the line numbers of its file.

    Args:
        function: Python function.

    Returns:
        The definition.

    Raises:
        UnderivableError: The source cannot be read.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise UnderivableError(f"{function.__qualname__}: its source cannot be read; define it in a file") from error
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise UnderivableError(f"{function.__qualname__}: expected a function made with def")
    return found


@dataclass
class Frame:
    """Variables of a function while the derivation follows it.

    Args:
        function: Python function.
        variables: Values by name.
    """

    function: FunctionType
    variables: dict[str, Value] = field(default_factory=dict)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        return [a.arg for a in parse_function(self.function).args.args]

    def outer(self, name: str) -> Any:
        """Return the object behind a name that is not a variable.

        Args:
            name: Global name, or name of a variable around the function.

        Returns:
            The object.
        """
        free = self.function.__code__.co_freevars
        if name in free and self.function.__closure__:
            return self.function.__closure__[free.index(name)].cell_contents
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name)

    def refuse(self, node: ast.AST, reason: str) -> UnderivableError:
        """Return the error for a statement or expression.

        Args:
            node: Node of the syntax tree.
            reason: Reason why it cannot be followed.

        Returns:
            The error, with file and line.
        """
        line = getattr(node, "lineno", parse_function(self.function).lineno)
        place = Path(self.function.__code__.co_filename).name
        text = ast.unparse(node).partition("\n")[0]
        return UnderivableError(f"{self.function.__name__} ({place}, line {line}): {reason}: {text}")


def device_source(function: Any) -> FunctionType | None:
    """Return the Python function behind an object that device code calls.

    Args:
        function: Device function, plain function or another callable.

    Returns:
        The function; None if it has no source to follow.
    """
    found: Callable[..., Any] = plain_function(function)
    return found if isinstance(found, FunctionType) else None
