"""Gradients of a node set that need the force again in the backward pass, found from the source of its adjoints."""

from __future__ import annotations

import ast
import functools
from typing import Any

from diffloom_kernels.derive import Frame, UnderivableError, device_source, parse_function
from diffloom_mechanics.node_sets import NodeMotion, NodeSet

#: Calls that are followed into each other; a function that goes deeper counts as one that depends on all it is given.
DEEPEST = 40


class Written:
    """Array that a function reads and writes.

    Attributes:
        depends: True if a number that depends on the force was written to it.
    """

    def __init__(self) -> None:
        self.depends = False


def find_force_needs(nodes: NodeSet) -> frozenset[str] | None:
    """Return the arrays of a node set whose gradient depends on the force in the backward pass.

    The adjoint of the acceleration reads the force itself; the adjoint of the motion reads the velocity after the kick,
    which depends on it.

    Args:
        nodes: Node set with all its adjoints.

    Returns:
        Names of the arrays; None if the cotangents of state or force depend on it too, or the source cannot be read.
    """
    motion = nodes.motion or NodeMotion(None)
    functions = (nodes.acceleration_adjoint, motion.drift_adjoint, motion.kicked_drift_adjoint)
    numbers = _find_needs(functions, len(nodes.arrays))
    return None if numbers is None else frozenset(nodes.arrays[k][0] for k in numbers)


@functools.lru_cache(maxsize=256)
def _find_needs(functions: tuple[Any, Any, Any], count: int) -> frozenset[int] | None:
    """Return the numbers of the arrays whose cotangents depend on the force; None if those of the state do."""
    found: set[int] = set()
    plain, grads = ([Written() for _ in range(count)] for _ in range(2))
    # The force comes after i, q and u in the first, after i, kick, drift, q and u in the last; the velocity that it
    # changed comes after i, h and q in the adjoint of the motion.
    leading = ([False, False, False, True], [False, False, False, True], [False] * 5 + [True])
    trailing = (1, 2, 2)
    for function, first, cotangents in zip(functions, leading, trailing, strict=True):
        if function is None:
            continue
        try:
            result = follow(function, [*first, *plain, *[False] * cotangents, *grads])
        except (UnderivableError, ValueError, TypeError, AttributeError, IndexError, KeyError):
            return None
        if depends(result):
            return None
        found |= {k for k, grad in enumerate(grads) if grad.depends}
    return frozenset(found)


def depends(value: Any) -> bool:
    """Return True if a value, or an entry of a tuple, depends on the marked arguments."""
    if isinstance(value, tuple):
        return any(map(depends, value))
    return value.depends if isinstance(value, Written) else bool(value)


def follow(function: Any, args: list[Any], depth: int = 0) -> Any:
    """Return whether the result of a device function depends on marked arguments, entry by entry.

    Args:
        function: Device function.
        args: For each argument True or False, a tuple of these, or an array that the function may write.
        depth: Number of calls around this one.
    """
    source = device_source(function)
    if source is None or depth > DEEPEST:
        return _unknown(args)
    frame = Frame(source)
    given = dict(zip(frame.parameters, args, strict=True))
    return _Follower(frame, given, depth).body(parse_function(source).body)


def _unknown(args: list[Any]) -> bool:
    """Return the dependence of the result of a function without source, which may write all arrays."""
    found = any(map(depends, args))
    for value in args:
        if isinstance(value, Written):
            value.depends |= found
    return found


def _either(a: Any, b: Any) -> Any:
    """Return the dependence of a value that is one of two."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_either(x, y) for x, y in zip(a, b, strict=True))
    return a if a is b else depends(a) or depends(b)


class _Follower:
    """Follows the statements of one function; both branches of every choice, and loops until nothing changes."""

    def __init__(self, frame: Frame, variables: dict[str, Any], depth: int) -> None:
        self.frame, self.variables, self.depth = frame, variables, depth
        self.results: list[Any] = []

    def body(self, statements: list[ast.stmt]) -> Any:
        """Return the dependence of the result."""
        self.run(statements)
        return functools.reduce(_either, self.results) if self.results else False

    def run(self, statements: list[ast.stmt]) -> None:
        """Follow statements."""
        for node in statements:
            if isinstance(node, ast.Assign):
                value = self.eval(node.value)
                for target in node.targets:
                    self.assign(target, value)
            elif isinstance(node, ast.AugAssign):
                self.assign(node.target, depends(self.eval(node.target)) or depends(self.eval(node.value)))
            elif isinstance(node, ast.Return):
                self.results.append(False if node.value is None else self.eval(node.value))
            elif isinstance(node, ast.Expr):
                self.eval(node.value)
            elif isinstance(node, ast.If):
                self.choose(node)
            elif isinstance(node, ast.For | ast.While):
                self.repeat(node)
            elif not isinstance(node, ast.Pass | ast.Break | ast.Continue):
                raise self.frame.refuse(node, "this statement is not followed")

    def assign(self, target: ast.expr, value: Any) -> None:
        """Follow an assignment."""
        if isinstance(target, ast.Name):
            self.variables[target.id] = value
        elif isinstance(target, ast.Tuple):
            parts = value if isinstance(value, tuple) else (depends(value),) * len(target.elts)
            for inner, part in zip(target.elts, parts, strict=True):
                self.assign(inner, part)
        elif isinstance(target, ast.Subscript):
            array = self.eval(target.value)
            if isinstance(array, Written):
                array.depends |= depends(value)

    def choose(self, node: ast.If) -> None:
        """Follow both branches of a choice; what they assign depends on the condition too."""
        condition, before = depends(self.eval(node.test)), dict(self.variables)
        self.run(node.body)
        first, self.variables = self.variables, dict(before)
        self.run(node.orelse)
        for name in {*first, *self.variables}:
            a, b = first.get(name, False), self.variables.get(name, False)
            self.variables[name] = a if a is b else _either(_either(a, b), condition)

    def repeat(self, node: ast.For | ast.While) -> None:
        """Follow a loop until the dependence of no variable changes."""
        before: list[tuple[str, bool]] = []
        while before != (now := [(name, depends(value)) for name, value in sorted(self.variables.items())]):
            before = now
            if isinstance(node, ast.For):
                self.assign(node.target, depends(self.eval(node.iter)))
            self.run(node.body)

    def eval(self, node: ast.expr) -> Any:
        """Return the dependence of an expression, entry by entry."""
        if isinstance(node, ast.Name):
            return self.variables.get(node.id, False)
        if isinstance(node, ast.Tuple):
            return tuple(map(self.eval, node.elts))
        if isinstance(node, ast.Subscript):
            base = self.eval(node.value)
            known = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
            return base[node.slice.value] if isinstance(base, tuple) and known else depends(base)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            return self.call(node)
        parts = [self.eval(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return any(map(depends, parts))

    def call(self, node: ast.Call) -> Any:
        """Return the dependence of the result of a call."""
        args = [self.eval(a) for a in node.args]
        simple = isinstance(node.func, ast.Name) and node.func.id not in self.variables and not node.keywords
        if not simple or any(isinstance(a, ast.Starred) for a in node.args):
            return _unknown(args)
        return follow(self.frame.outer(node.func.id), args, self.depth + 1)  # type: ignore[attr-defined]
