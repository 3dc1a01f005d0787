"""Following a device function through its statements, for given kinds of arguments.

The result is a list of operations with their transposes. Loops over constants are unrolled, calls of functions over
arrays are followed inside, and calls of functions over numbers stay calls, whose adjoints are derived in turn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from .calls import Calls
from .loads import Arrays
from .operations import Branch, Loop, Operation, Region, Writer
from .rules import OPERATORS
from .source import Frame, UnderivableError, parse_function
from .values import Array, Fixed, FloatType, Group, Real, Record, Value, Whole, is_active, leaves, named

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
            ast.Is: "is", ast.IsNot: "is not"}  # fmt: skip

#: Longest loop over constants that is unrolled.
MOST_UNROLLED = 64


class _Nothing:
    """Result of statements that do not return."""


NOTHING: Any = _Nothing()


class Trace:
    """Followed functions: ``top`` holds the operations.

    Args:
        writer: Writer of the function that is generated.
        derive: Function of a device function and its arguments, which returns the derivation of its adjoint.
    """

    def __init__(self, writer: Writer, derive: Callable[[Any, tuple[Value, ...]], Any]) -> None:
        self.writer, self.names = writer, writer.names
        self.top = self.region = Region()
        self.calls = Calls(self, derive)
        self.arrays = Arrays(self)

    # Functions and statements

    def run(self, function: FunctionType, args: tuple[Value, ...]) -> Any:
        """Follow a function and return its result."""
        frame = Frame(function)
        parameters = frame.parameters
        if len(parameters) != len(args):
            raise UnderivableError(
                f"{function.__name__} takes {len(parameters)} arguments ({', '.join(parameters)}), {len(args)} given"
            )
        frame.variables = dict(zip(parameters, args, strict=True))
        found = self.block(parse_function(function).body, frame)
        return Fixed(None) if found is NOTHING else found

    def block(self, statements: list[ast.stmt], frame: Frame) -> Any:
        """Follow statements up to a return, and return its value."""
        for k, node in enumerate(statements):
            if isinstance(node, ast.If):
                found = self._if(node, statements[k + 1 :], frame)
                if found is not None:
                    return found[0]
            elif isinstance(node, ast.Return):
                return Fixed(None) if node.value is None else self.eval(node.value, frame)
            elif isinstance(node, ast.For):
                self._for(node, frame)
            else:
                self._statement(node, frame)
        return NOTHING

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        """Follow a statement that is neither a loop nor a choice."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, frame)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value, frame)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Subscript):
                self._add_to_array(node, node.target, frame)
                return
            left = ast.copy_location(ast.Name(ast.unparse(node.target), ast.Load()), node)
            made = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
            self._assign(node.target, made, frame)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.eval(node.value, frame)
        elif not isinstance(node, ast.Pass):
            raise frame.refuse(node, f"a statement {type(node).__name__.lower()} has no derived adjoint")

    def _add_to_array(self, node: ast.AugAssign, target: ast.Subscript, frame: Frame) -> None:
        """Follow ``array[index] += value``."""
        array, sign = self.eval(target.value, frame), _BINARY.get(type(node.op), "?")
        if not isinstance(array, Array) or array.role not in ("shared", "whole") or sign not in ("+", "-"):
            raise frame.refuse(node, "a store that adds to an array has no derived adjoint")
        self.arrays.write(array, self._index(target.slice, frame), self.eval(node.value, frame), sign, target, frame)

    def _assign(self, target: ast.expr, value: ast.expr, frame: Frame) -> None:
        """Follow an assignment."""
        if isinstance(target, ast.Name):
            frame.variables[target.id] = self.keep(self.eval(value, frame, target.id), target.id)
        elif isinstance(target, ast.Tuple):
            self._unpack(target, self.eval(value, frame), frame)
        elif isinstance(target, ast.Subscript):
            array = self.eval(target.value, frame)
            self.arrays.store(array, self._index(target.slice, frame), self.eval(value, frame), target, frame)
        else:
            raise frame.refuse(target, "cannot assign to this")

    def _unpack(self, target: ast.Tuple, value: Value, frame: Frame) -> None:
        """Assign the entries of a tuple to several variables."""
        if not isinstance(value, Group) or len(value.items) != len(target.elts):
            raise frame.refuse(target, "expected a tuple of as many entries")
        for inner, item in zip(target.elts, value.items, strict=True):
            if isinstance(inner, ast.Tuple):
                self._unpack(inner, item, frame)
            elif isinstance(inner, ast.Name):
                frame.variables[inner.id] = item
            else:
                raise frame.refuse(target, "cannot assign to this")

    def keep(self, value: Value, wanted: str) -> Any:
        """Hold an integer, flag or float type in a variable."""
        if not isinstance(value, Whole | FloatType) or value.text.isidentifier():
            return value
        out = named(value, self.names.fresh(wanted))
        self.region.items.append(Operation(strip(value.text), out))
        return out

    # Choices and loops

    def _if(self, node: ast.If, rest: list[ast.stmt], frame: Frame) -> tuple[Any] | None:
        """Follow a choice; returns the value if the function returns in it, as a tuple."""
        condition = self.eval(node.test, frame)
        if isinstance(condition, Fixed):
            found = self.block(node.body if condition.value else node.orelse, frame)
            return None if found is NOTHING else (found,)
        if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            return (self._returning(node, condition.text, rest, frame),)
        before = dict(frame.variables)
        regions, ends = [], []
        for body in (node.body, node.orelse):
            frame.variables = dict(before)
            with self.inside() as region:
                self.block(body, frame)
            regions.append(region)
            ends.append(frame.variables)
        branch = Branch(strip(condition.text), (regions[0], regions[1]), [])
        frame.variables = {name: before[name] for name in before}
        for name in [name for name in ends[0] if name in ends[1]]:
            frame.variables[name] = self._merge(branch, name, ends[0][name], ends[1][name], node, frame)
        self.region.items.append(branch)
        return None

    def _returning(self, node: ast.If, condition: str, rest: list[ast.stmt], frame: Frame) -> Any:
        """Follow a choice in which the function returns; what follows belongs to the branches that do not."""
        before, regions, found = dict(frame.variables), [], []
        for body in (node.body, node.orelse):
            frame.variables = dict(before)
            with self.inside() as region:
                found.append(self.block([*body, *rest], frame))
            regions.append(region)
        if found[0] is NOTHING or found[1] is NOTHING:
            found = [Fixed(None) if value is NOTHING else value for value in found]
        branch = Branch(strip(condition), (regions[0], regions[1]), [])
        made = self._merge(branch, "result", found[0], found[1], node, frame)
        self.region.items.append(branch)
        return made

    def _merge(self, branch: Branch, name: str, a: Value, b: Value, node: ast.AST, frame: Frame) -> Any:
        """Return the value of a variable after a choice between a and b."""
        if a is b or (isinstance(a, Fixed) and isinstance(b, Fixed) and a.value == b.value):
            return a
        made = _joined(a, b)
        if made is None:
            raise frame.refuse(node, f"{name} is {_describe(a)} in one branch and {_describe(b)} in the other")
        out = named(made, self.names.fresh(name))
        self.note_width(out)
        branch.merged.append((out, a, b))
        return out

    def choose(self, node: ast.IfExp, frame: Frame, wanted: str) -> Any:
        """Follow ``a if c else b``."""
        condition = self.eval(node.test, frame)
        if isinstance(condition, Fixed):
            return self.eval(node.body if condition.value else node.orelse, frame, wanted)
        regions, values = [], []
        for part in (node.body, node.orelse):
            with self.inside() as region:
                values.append(self.eval(part, frame))
            regions.append(region)
        if all(isinstance(v, Whole | Fixed) for v in values) and not regions[0].items and not regions[1].items:
            return Whole(f"({values[0].text} if {strip(condition.text)} else {values[1].text})")
        branch = Branch(strip(condition.text), (regions[0], regions[1]), [])
        made = self._merge(branch, wanted or "chosen", values[0], values[1], node, frame)
        self.region.items.append(branch)
        return made

    @contextmanager
    def inside(self) -> Iterator[Region]:
        """Context manager: operations go to a region of their own."""
        outer, self.region = self.region, Region()
        with self.arrays.inside():
            try:
                yield self.region
            finally:
                self.region = outer

    def _for(self, node: ast.For, frame: Frame) -> None:
        """Unroll a loop over constants, or keep one over a range."""
        if node.orelse or any(isinstance(inner, ast.Break | ast.Continue | ast.Return) for inner in ast.walk(node)):
            raise frame.refuse(node, "a loop that ends early has no derived adjoint")
        over = self.calls.entries(node.iter, frame)
        if over is not None and len(over) <= MOST_UNROLLED:
            for value in over:
                if isinstance(node.target, ast.Name):
                    frame.variables[node.target.id] = value
                elif isinstance(node.target, ast.Tuple):
                    self._unpack(node.target, value, frame)
                if self.block(node.body, frame) is not NOTHING:
                    raise frame.refuse(node, "a loop that returns has no derived adjoint")
            return
        self._loop(node, frame)

    def _loop(self, node: ast.For, frame: Frame) -> None:
        """Keep a loop whose length is known at run time only."""
        if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
            raise frame.refuse(node, "only loops over range(...) can be derived")
        over = ", ".join(strip(self.eval(part, frame).text) for part in node.iter.args)
        index = Whole(self.names.fresh(node.target.id))
        stored = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and not is_load(n)}
        before = {name: frame.variables[name] for name in sorted(stored) if name in frame.variables}
        carried = {name: named(_real(value), self.names.fresh(name), active=True) for name, value in before.items()}
        frame.variables |= {**carried, node.target.id: index}
        for value in carried.values():
            self.note_width(value)
        with self.inside() as region:
            self.block(node.body, frame)
        passed = [(carried[name], before[name], frame.variables[name]) for name in before]
        for name in stored:
            frame.variables.pop(name, None)
        frame.variables |= carried
        loop = Loop(index.text, f"range({over})", region, passed, lambda why: frame.refuse(node, why))
        self.region.items.append(loop)

    # Expressions

    def eval(self, node: ast.expr, frame: Frame, wanted: str = "") -> Any:
        """Return the value of an expression; an operation's result is held by a variable like ``wanted``."""
        method = getattr(self, f"_eval_{type(node).__name__.lower()}", None)
        if method is None:
            raise frame.refuse(node, f"an expression {type(node).__name__} has no derived adjoint")
        return method(node, frame, wanted)

    def _eval_constant(self, node: ast.Constant, frame: Frame, wanted: str) -> Any:
        return Fixed(node.value)

    def _eval_name(self, node: ast.Name, frame: Frame, wanted: str) -> Any:
        if node.id in frame.variables:
            return frame.variables[node.id]
        try:
            return lift(frame.outer(node.id))
        except AttributeError as error:
            raise frame.refuse(node, "this name has no value on every way to it") from error

    def _eval_tuple(self, node: ast.Tuple, frame: Frame, wanted: str) -> Any:
        items: list[Any] = []
        for entry in node.elts:
            if isinstance(entry, ast.Starred):
                items += self.eval(entry.value, frame).items
            else:
                items.append(self.eval(entry, frame))
        return Group(tuple(items))

    def _eval_attribute(self, node: ast.Attribute, frame: Frame, wanted: str) -> Any:
        base = self.eval(node.value, frame)
        if isinstance(base, Record) and node.attr in base.entries:
            return base.entries[node.attr]
        if isinstance(base, Fixed):
            return lift(getattr(base.value, node.attr))
        text = f"{base.text}.{node.attr}"
        if text.endswith(".dtype.type"):
            return FloatType(text)
        if isinstance(base, Array | Whole):
            return Whole(text)
        raise frame.refuse(node, "cannot read this attribute")

    def _index(self, node: ast.expr, frame: Frame) -> tuple[Any, ...]:
        """Return the entries of an index."""
        return tuple(self.eval(e, frame) for e in (node.elts if isinstance(node, ast.Tuple) else [node]))

    def _eval_subscript(self, node: ast.Subscript, frame: Frame, wanted: str) -> Any:
        base = self.eval(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            if isinstance(base, Group):
                ends = [None if e is None else self.eval(e, frame).value for e in (node.slice.lower, node.slice.upper)]
                return Group(base.items[ends[0] : ends[1]])
            raise frame.refuse(node, "a slice of an array has no derived adjoint")
        index = self._index(node.slice, frame)
        if isinstance(base, Array):
            return self.arrays.load(base, index, node, frame, wanted)
        if isinstance(base, Group):
            if not isinstance(index[0], Fixed):
                raise frame.refuse(node, "the index of a tuple must be known before compiling")
            return base.items[index[0].value]
        if isinstance(base, Fixed) and isinstance(index[0], Fixed):
            return lift(base.value[index[0].value])
        if isinstance(base, Whole):
            return Whole(f"{base.text}[{strip(index[0].text)}]")
        raise frame.refuse(node, "cannot index this")

    def _eval_binop(self, node: ast.BinOp, frame: Frame, wanted: str) -> Any:
        a, b = self.eval(node.left, frame), self.eval(node.right, frame)
        sign = _BINARY.get(type(node.op), "?")
        if isinstance(a, Fixed) and isinstance(b, Fixed):
            return Fixed(eval(f"a {sign} b", {"a": a.value, "b": b.value}))
        if isinstance(a, Group) and isinstance(b, Group) and sign == "+":
            return Group((*a.items, *b.items))
        if not isinstance(a, Real) and not isinstance(b, Real):
            return Whole(f"({a.text} {sign} {b.text})")
        if sign == "**":
            return self._power(node, a, b, frame, wanted)
        if sign not in OPERATORS:
            raise frame.refuse(node, f"floats under {sign} have no derived adjoint")
        return self.calls.apply(OPERATORS[sign], f"{a.text} {sign} {b.text}", (a, b), wanted)

    def _power(self, node: ast.BinOp, a: Value, b: Value, frame: Frame, wanted: str) -> Any:
        """Follow a power with a constant integer exponent."""
        if not (isinstance(b, Fixed) and isinstance(b.value, int)):
            raise frame.refuse(node, "a power needs a constant integer exponent; write exp(y log(x))")
        n = b.value

        def rule(w: Any, adj: str, r: str, x: str, _n: str) -> list[str | None]:
            return [None if n == 0 else f"{adj} * ({n} * {x} ** {n - 1})", None]

        return self.calls.apply(rule, f"{a.text} ** {n}", (a, b), wanted)

    def _eval_unaryop(self, node: ast.UnaryOp, frame: Frame, wanted: str) -> Any:
        value = self.eval(node.operand, frame)
        if isinstance(node.op, ast.Not):
            return Fixed(not value.value) if isinstance(value, Fixed) else Whole(f"(not {value.text})")
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert) or isinstance(value, Whole):
            return Whole(f"({'~' if isinstance(node.op, ast.Invert) else '-'}{value.text})")
        if isinstance(value, Fixed):
            return Fixed(-value.value)
        if not isinstance(value, Real):
            raise frame.refuse(node, "expected a number")
        return self.calls.apply(OPERATORS["neg"], f"-{value.text}", (value,), wanted)

    def _eval_compare(self, node: ast.Compare, frame: Frame, wanted: str) -> Any:
        values = [self.eval(part, frame) for part in (node.left, *node.comparators)]
        signs = [_COMPARE.get(type(op), "?") for op in node.ops]
        if all(isinstance(v, Fixed) for v in values):
            names = {f"v{k}": v.value for k, v in enumerate(values)}
            return Fixed(eval("v0" + "".join(f" {s} v{k + 1}" for k, s in enumerate(signs)), names))
        if "?" in signs:
            raise frame.refuse(node, "this comparison has no derived adjoint")
        parts = (f" {sign} {value.text}" for sign, value in zip(signs, values[1:], strict=True))
        return Whole(f"({values[0].text}{''.join(parts)})")

    def _eval_boolop(self, node: ast.BoolOp, frame: Frame, wanted: str) -> Any:
        values = [self.eval(part, frame) for part in node.values]
        stop = isinstance(node.op, ast.Or)
        open_values: list[Any] = []
        for value in values:
            if not isinstance(value, Fixed):
                open_values.append(value)
            elif bool(value.value) == stop and not open_values:
                return value
        if not open_values:
            return values[-1]
        return Whole("(" + (" or " if stop else " and ").join(v.text for v in open_values) + ")")

    def _eval_ifexp(self, node: ast.IfExp, frame: Frame, wanted: str) -> Any:
        return self.choose(node, frame, wanted)

    def _eval_call(self, node: ast.Call, frame: Frame, wanted: str) -> Any:
        return self.calls.call(node, frame, wanted)

    def note_width(self, value: Value) -> None:
        """Note the length of a variable that is a tuple."""
        if isinstance(value, Group) and value.name is not None:
            self.writer.widths[value.name] = len(value.items)


def is_load(node: ast.Name) -> bool:
    """Return True if a name is read."""
    return isinstance(node.ctx, ast.Load)


def lift(value: Any) -> Any:
    """Return an object that is known before compiling as a value."""
    if type(value) is tuple:
        return Group(tuple(map(lift, value)))
    return Fixed(value)


def strip(text: str) -> str:
    """Return text without the parentheses around it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def _joined(a: Any, b: Any) -> Any:
    """Return a value with the structure of both of two branches, active where either is; None if they differ."""
    if isinstance(a, Group) and isinstance(b, Group) and len(a.items) == len(b.items):
        items = tuple(_joined(x, y) for x, y in zip(a.items, b.items, strict=True))
        return None if any(item is None for item in items) else Group(items)
    numbers = [isinstance(v, Real) or (isinstance(v, Fixed) and isinstance(v.value, int | float)) for v in (a, b)]
    exact = all(isinstance(v, Fixed) and isinstance(v.value, int) for v in (a, b))
    if all(numbers) and not exact:
        return Real("", is_active(a) or is_active(b))
    whole = [isinstance(v, Whole) or (isinstance(v, Fixed) and isinstance(v.value, int)) for v in (a, b)]
    return Whole("") if all(whole) else None


def _real(value: Value) -> Any:
    """Return a value of the structure of a variable of a loop."""
    if isinstance(value, Group):
        return Group(tuple(map(_real, value.items)))
    return Real("") if isinstance(value, Real) else Whole("")


def _describe(value: Value) -> str:
    """Return the kind of a value for messages."""
    if isinstance(value, Fixed):
        return "a constant or function" if isinstance(value.value, FunctionType | ModuleType) else repr(value.value)
    if isinstance(value, Group):
        return f"a tuple of {len(list(leaves(value)))}"
    return {"Real": "a float", "Whole": "an integer or flag", "Array": "an array"}.get(type(value).__name__, "another")
