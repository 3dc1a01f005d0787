"""Calls in a device function: elementary functions, functions of numbers, and functions that are followed inside."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import functions, memory, rows
from ..algebra import vec3
from ..language import static
from .operations import Cotangents, Operation, identifier
from .rules import FLAGS, FLAT, FUNCTIONS, Rule
from .source import Frame, device_source, plain_function
from .values import Array, Fixed, FloatType, Group, Real, Value, Whole, is_active, leaves, named

if TYPE_CHECKING:
    from .trace import Trace

#: Functions of rows, which are vec3 here.
_ROWS: dict[Callable[..., Any], Callable[..., Any]] = {
    rows.row_add: vec3.add3, rows.row_scale: vec3.mul3, rows.row_fma: vec3.fma3, rows.row_load: memory.ld3,
}  # fmt: skip
_ADD3 = plain_function(vec3.add3)
_SAME = (rows.row_from_vec3, rows.row_vec3)
_RULES = {plain_function(function): (function, rule) for function, rule in FUNCTIONS.items()}


class Calls:
    """Calls of one followed function.

    Args:
        trace: The followed function.
        derive: Function that returns the derivation of a function of numbers.
    """

    def __init__(self, trace: Trace, derive: Callable[[Any, tuple[Value, ...]], Any]) -> None:
        self.trace, self.derive = trace, derive

    def call(self, node: ast.Call, frame: Frame, wanted: str) -> Any:
        """Follow a call."""
        function = self.trace.eval(node.func, frame)
        if node.keywords:
            raise frame.refuse(node, "a call with keywords has no derived adjoint")
        if isinstance(function, Fixed) and function.value is tuple:
            entries = self.entries(node, frame)
            if entries is None:
                raise frame.refuse(node, "a tuple over something that is not known before compiling")
            return Group(tuple(entries))
        args = self._arguments(node, frame)
        if isinstance(function, FloatType):
            return self._convert(function, args[0], wanted)
        if not isinstance(function, Fixed):
            raise frame.refuse(node, "the function that is called is not known before compiling")
        return self._function(function.value, args, node, frame, wanted)

    def _arguments(self, node: ast.Call, frame: Frame) -> list[Any]:
        """Return the arguments of a call, with ``*tuple`` expanded."""
        args: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args += self.trace.eval(argument.value, frame).items
            else:
                args.append(self.trace.eval(argument, frame))
        return args

    def _function(self, function: Any, args: list[Any], node: ast.Call, frame: Frame, wanted: str) -> Any:
        """Follow a call of a known function."""
        plain = plain_function(function)
        if plain is static:
            return args[0]
        if plain is len:
            return Fixed(len(args[0].items))
        if plain in _SAME:
            return args[0]
        function = _ROWS.get(plain, function)
        plain = plain_function(function)
        if plain is memory.ld3 and isinstance(args[0], Array) and args[0].role != "whole":
            return self.trace.arrays.load3(args[0], args[1], node, frame, wanted)
        if plain is memory.store_corners:
            self.trace.arrays.store_corners(args[0], args[1], args[2], node, frame)
            return Fixed(None)
        if (found := self._elementary(plain, args, wanted)) is not None:
            return found
        source = device_source(plain)
        if source is None:
            raise frame.refuse(node, "its source is not known, and it has no derivative here")
        if plain is _ADD3:
            return self._sum(function, args, wanted)
        if all(_is_number(arg) for arg in args):
            derived = self.derive(function, tuple(args))
            if derived is not None:
                return self._pure(derived, args, wanted)
        return self.trace.run(source, tuple(args))

    def _elementary(self, plain: Any, args: list[Any], wanted: str) -> Value | None:
        """Follow an elementary function; None if it is another one."""
        if not all(isinstance(arg, Real | Whole | Fixed) for arg in args):
            return None
        texts = ", ".join(arg.text for arg in args)
        if plain in (min, max) and any(isinstance(arg, Real) for arg in args):
            plain = plain_function(functions.maximum if plain is max else functions.minimum)
        if plain in _RULES and (any(isinstance(arg, Real) for arg in args) or plain in FLAT):
            function, rule = _RULES[plain]
            name = "abs" if plain is abs else self.trace.writer(function)
            if plain in FLAT:
                out = Real(self.trace.names.fresh(wanted or "number"))
                self.trace.region.items.append(Operation(f"{name}({texts})", out))
                return out
            return self.apply(rule, f"{name}({texts})", tuple(args), wanted)
        if plain in FLAGS or plain is functions.where:
            return Whole(f"{self.trace.writer(_RULES[plain][0] if plain in _RULES else plain)}({texts})")
        if plain in (int, min, max, abs, bool):
            if all(isinstance(arg, Fixed) for arg in args):
                return Fixed(plain(*[arg.value for arg in args]))
            return Whole(f"{plain.__name__}({texts})")
        return None

    def _convert(self, function: FloatType, value: Value, wanted: str) -> Real:
        """Follow the conversion of a number to a float type."""
        text = value.text[1:-1] if isinstance(value, Whole) and value.text.startswith("(") else value.text
        if isinstance(value, Real) and value.active:
            return self.apply(lambda w, a, r, x: [a], f"{function.text}({text})", (value,), wanted)
        return Real(f"{function.text}({text})")

    def apply(self, rule: Rule, text: str, operands: tuple[Any, ...], wanted: str) -> Real:
        """Add an operation with a rule for its derivative, and return its result."""
        out = Real(self.trace.names.fresh(wanted or "t"), any(is_active(v) for v in operands))

        def transpose(found: Cotangents, adj: str) -> None:
            parts = rule(found.writer, adj, out.text, *[v.text for v in operands])
            for operand, part in zip(operands, parts, strict=True):
                if part is not None and is_active(operand):
                    found.add(operand, part)

        self.trace.region.items.append(Operation(text, out, transpose if out.active else None))
        return out

    def _sum(self, function: Any, args: list[Any], wanted: str) -> Any:
        """Add a sum of two vec3, which passes its cotangent to both, so that loops recognise sums."""
        active = any(map(is_active, args))
        name = self.trace.names.fresh(wanted or "t")
        out = Group(tuple(Real(f"{name}[{c}]", active) for c in range(3)), name)
        self.trace.note_width(out)

        def transpose(found: Cotangents, adj: str) -> None:
            for arg in args:
                found.add(arg, adj)

        text = f"{self.trace.writer(function)}({', '.join(arg.text for arg in args)})"
        self.trace.region.items.append(Operation(text, out, transpose if active else None))
        return out

    def _pure(self, derived: Any, args: list[Any], wanted: str) -> Any:
        """Add a call of a function of numbers, whose transpose is a call of its adjoint."""
        writer = self.trace.writer
        texts = ", ".join(arg.text for arg in args)
        active = any(map(is_active, args))
        out = named(derived.result, self.trace.names.fresh(wanted or "t"), None if active else False)
        self.trace.note_width(out)

        def transpose(found: Cotangents, adj: str) -> None:
            targets = []
            for arg in [args[k] for k in derived.positions]:
                name = self.trace.names.fresh(f"adj_{identifier(arg.text)}" if is_active(arg) else "unused")
                targets.append(name)
                if isinstance(arg, Group):
                    writer.widths[name] = len(arg.items)
            writer.line(f"{', '.join(targets)} = {derived.adjoint(writer)}({texts}, {adj})")
            for name, k in zip(targets, derived.positions, strict=True):
                found.add(args[k], name)

        text = f"{writer(derived.function)}({texts})"
        self.trace.region.items.append(Operation(text, out, transpose if active else None))
        return out

    def entries(self, node: ast.expr, frame: Frame) -> list[Any] | None:
        """Return the entries that a loop runs over; None if their number is known at run time only."""
        if isinstance(node, ast.GeneratorExp):
            return self._generated(node, frame)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = self.trace.eval(node.func, frame)
            known = function.value if isinstance(function, Fixed) else None
            if known is range:
                ends = [self.trace.eval(part, frame) for part in node.args]
                if not all(isinstance(end, Fixed) for end in ends):
                    return None
                return [Fixed(k) for k in range(*[end.value for end in ends])]
            if known in (static, tuple, reversed, enumerate, zip):
                parts = [self.entries(part, frame) for part in node.args]
                if any(part is None for part in parts):
                    return None
                first: list[Any] = parts[0] or []
                if known is reversed:
                    return first[::-1]
                if known is enumerate:
                    return [Group((Fixed(k), value)) for k, value in enumerate(first)]
                return [Group(row) for row in zip(*parts, strict=True)] if known is zip else first
        value = self.trace.eval(node, frame)
        return list(value.items) if isinstance(value, Group) else None

    def _generated(self, node: ast.GeneratorExp, frame: Frame) -> list[Any] | None:
        """Return the entries of ``f(c) for c in ...``."""
        (loop,) = node.generators
        over = self.entries(loop.iter, frame)
        if over is None or not isinstance(loop.target, ast.Name) or loop.ifs:
            return None
        outer, made = frame.variables, []
        for value in over:
            frame.variables = {**outer, loop.target.id: value}
            made.append(self.trace.eval(node.elt, frame))
        frame.variables = outer
        return made


def _is_number(value: Any) -> bool:
    """Return True for numbers and tuples of them."""
    numbers = list(leaves(value))
    if any(isinstance(n, Fixed) and not isinstance(n.value, bool | int | float) for n in numbers):
        return False
    return isinstance(value, Real | Whole) or (isinstance(value, Group | Fixed) and bool(numbers) and _closed(value))


def _closed(value: Any) -> bool:
    """Return True if a tuple holds nothing but numbers and tuples of them."""
    if isinstance(value, Group):
        return all(map(_closed, value.items))
    return isinstance(value, Real | Whole | Fixed)
