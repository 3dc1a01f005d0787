"""Operations of a device function in the order in which they run, with their transposes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .lines import For, If, Line, names_read, read_names, without_unused
from .values import Group, Names, Real, Value, is_active, leaves


class Cotangents:
    """Contributions to the cotangents of numbers, by the text of each number.

    Args:
        writer: Writer of the adjoint: ``writer(function)`` is the name of a function in it.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.found: dict[str, list[str]] = {}

    def add(self, value: Value, text: str) -> None:
        """Add to the cotangent of a value.

        Args:
            value: Number or tuple.
            text: Cotangent as source text: of a tuple a variable, of a number any product.
        """
        if isinstance(value, Group):
            for k, item in enumerate(value.items):
                self.add(item, f"{text}[{k}]")
        elif isinstance(value, Real) and value.active:
            self.found.setdefault(value.text, []).append(text)

    def take(self, value: Value, wanted: str = "adj") -> str | None:
        """Remove the cotangent of a value.

        Args:
            value: Number or tuple.
            wanted: Name of the variable that holds it, if one is needed.

        Returns:
            The variable; None if the cotangent is zero.
        """
        if isinstance(value, Real):
            parts = self.found.pop(value.text, None)
            return None if parts is None else self.writer.name(add_up(parts), wanted)
        if not isinstance(value, Group):
            return None
        whole = self._whole(value)
        if whole is not None:
            return whole if whole.isidentifier() else self.writer.name(whole, wanted, len(value.items))
        entries = [self._entry(item, wanted) for item in value.items]
        if all(entry is None for entry in entries):
            return None
        inside = ", ".join(self.zeros(item) if e is None else e for item, e in zip(value.items, entries, strict=True))
        return self.writer.name(f"({inside},)" if len(entries) == 1 else f"({inside})", wanted, len(entries))

    def taken(self, value: Value, wanted: str = "adj") -> str:
        """Remove the cotangent of a value.

        Args:
            value: Number or tuple.
            wanted: Name of the variable that holds it, if one is needed.

        Returns:
            The variable, or zeros.
        """
        found = self.take(value, wanted)
        return self.zeros(value) if found is None else found

    def given(self, value: Value, name: str) -> None:
        """Add a cotangent that is an argument.

        Args:
            value: Number or tuple.
            name: Name of the argument.
        """
        if isinstance(value, Group):
            self.writer.widths[name] = len(value.items)
        self.add(value, name)

    def zeros(self, value: Value) -> str:
        """Return zeros.

        Args:
            value: Number or tuple whose structure they have.

        Returns:
            Source text.
        """
        if isinstance(value, Group):
            inside = ", ".join(map(self.zeros, value.items))
            return f"({inside},)" if len(value.items) == 1 else f"({inside})"
        return self.writer.zero

    def _entry(self, item: Value, wanted: str) -> str | None:
        """Remove the cotangent of an entry of a tuple and return it as text."""
        if isinstance(item, Group):
            return self.take(item, wanted)
        parts = self.found.pop(item.text, None)
        return None if parts is None else add_up(parts)

    def _whole(self, value: Group) -> str | None:
        """Return the cotangent of a tuple if it is a variable, or for vec3 a sum of variables."""
        if not value.items or not all(isinstance(item, Real) and item.active for item in value.items):
            return None
        parts = [self.found.get(item.text, []) for item in value.items]
        names = [part.removesuffix("[0]") for part in parts[0]]
        size = len(value.items)
        known = [self.writer.widths.get(name.removeprefix("-")) == size for name in names]
        same = all(p == [f"{name}[{k}]" for name in names] for k, p in enumerate(parts))
        if not names or not all(known) or not same or (len(names) > 1 and size != 3):
            return None
        if names[0].startswith("-") or len({item.text for item in value.items}) < size:
            return None
        for item in value.items:
            del self.found[item.text]
        whole = names[0]
        for name in names[1:]:
            whole = self.writer.sum3(whole, name)
        return whole


def add_up(parts: list[str]) -> str:
    """Return the sum of products as text."""
    return parts[0] + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:])


class Writer:
    """Writer of the statements of one generated function.

    ``bind`` returns the global name of a function; ``widths`` holds the lengths of the variables that are tuples.
    """

    def __init__(self, names: Names, bind: Callable[[Any], str]) -> None:
        self.names, self.bind = names, bind
        self.lines: list[Line] = []
        self.widths: dict[str, int] = {}
        self.zero, self.one = names.fresh("zero"), names.fresh("one")

    def __call__(self, function: Any) -> str:
        return self.bind(function)

    def line(self, line: Line) -> None:
        """Write a statement."""
        self.lines.append(line)

    def name(self, text: str, wanted: str, width: int = 0) -> str:
        """Return a variable, or an entry of one, that holds the value of ``text``."""
        if re.fullmatch(r"\w+(\[\d+\])*", text):
            return text
        name = self.names.fresh(wanted)
        self.line(f"{name} = {text}")
        if width:
            self.widths[name] = width
        return name

    def sum3(self, a: str, b: str) -> str:
        """Return a + b for two vec3."""
        from ..algebra.vec3 import add3, sub3

        return f"{self(sub3)}({a}, {b[1:]})" if b.startswith("-") else f"{self(add3)}({a}, {b})"


@dataclass
class Region:
    """Operations that run together: a function, a branch or the body of a loop."""

    items: list[Any] = field(default_factory=list)

    def forward(self) -> list[Line]:
        """Return the statements that compute the values."""
        return [line for item in self.items for line in item.forward()]

    def backward(self, found: Cotangents) -> None:
        """Write the transposes of the operations, last first."""
        for item in reversed(self.items):
            item.backward(found)


@dataclass
class Operation:
    """Assignment of one value.

    Args:
        text: Right-hand side.
        out: Value that it computes.
        transpose: Function of the cotangents and a variable with the cotangent of ``out``; None where no derivative
            passes.
    """

    text: str
    out: Any
    transpose: Callable[[Cotangents, str], None] | None = None

    def forward(self) -> list[Line]:
        """Return the assignment."""
        return [f"{self.out.text} = {self.text}"]

    def backward(self, found: Cotangents) -> None:
        """Write the transpose."""
        if self.transpose is None:
            return
        adj = found.take(self.out, f"adj_{self.out.text}")
        if adj is not None:
            self.transpose(found, adj)


@dataclass
class Sink:
    """Store of a value into an array, whose cotangent is given; ``overwrites`` if the cotangent is also cleared."""

    value: Any
    cotangent: Callable[[Cotangents], str]
    overwrites: bool = False

    def forward(self) -> list[Line]:
        """Return nothing: an adjoint does not repeat stores."""
        return []

    def backward(self, found: Cotangents) -> None:
        """Read the cotangent of the stored value."""
        if is_active(self.value):
            found.add(self.value, self.cotangent(found))
        elif self.overwrites:
            self.cotangent(found)


@dataclass
class Branch:
    """Choice between two regions; ``merged`` holds each variable with its value in either."""

    condition: str
    regions: tuple[Region, Region]
    merged: list[tuple[Any, Any, Any]]

    def forward(self) -> list[Line]:
        """Return the choice, with the variables it sets."""
        parts = [region.forward() for region in self.regions]
        for out, *values in self.merged:
            for part, value in zip(parts, values, strict=True):
                part.append(f"{out.text} = {value.text}")
        return [If(self.condition, *parts)]

    def backward(self, found: Cotangents) -> None:
        """Write the transposes of both regions under the same condition."""
        writer = found.writer
        given = [found.take(out, f"adj_{out.text}") for out, *_ in self.merged]
        outer, parts, exports = writer.lines, [], []
        for k, region in enumerate(self.regions):
            inner = Cotangents(writer)
            for (_, *values), adj in zip(self.merged, given, strict=True):
                if adj is not None:
                    inner.add(values[k], adj)
            writer.lines = region.forward()
            region.backward(inner)
            parts.append(writer.lines)
            exports.append(inner.found)
        writer.lines = outer
        self._pass_on(exports, given, found)
        for leaf in dict.fromkeys([*exports[0], *exports[1]]):
            name = writer.names.fresh(f"adj_{identifier(leaf)}")
            for part, sums in zip(parts, exports, strict=True):
                part.append(f"{name} = {add_up(sums[leaf]) if leaf in sums else writer.zero}")
            found.found.setdefault(leaf, []).append(name)
        writer.line(If(self.condition, *parts))

    @staticmethod
    def _pass_on(exports: list[dict[str, list[str]]], given: list[str | None], found: Cotangents) -> None:
        """Pass on the cotangents that both branches leave unchanged, such as those of a sum to which one adds."""
        outside = {name for name in given if name is not None}
        for leaf in [leaf for leaf in exports[0] if exports[1].get(leaf) == exports[0][leaf]]:
            if all(part.partition("[")[0] in outside for part in exports[0][leaf]):
                found.found.setdefault(leaf, []).extend(exports[0].pop(leaf))
                del exports[1][leaf]


@dataclass
class Loop:
    """Loop whose length is known at run time only. ``carried`` holds each variable that iterations pass on, with its
    value before the loop and after an iteration.
    """

    target: str
    over: str
    region: Region
    carried: list[tuple[Any, Any, Any]]
    refuse: Callable[[str], Exception]

    def forward(self) -> list[Line]:
        """Return the loop."""
        before = [f"{out.text} = {first.text}" for out, first, _ in self.carried]
        body: list[Line] = self.region.forward()
        # Several variables that depend on each other change together.
        texts = [(out.text, last.text) for out, _, last in self.carried]
        if texts:
            body.append(f"{', '.join(name for name, _ in texts)} = {', '.join(text for _, text in texts)}")
        return [*before, For(self.target, self.over, body)]

    def backward(self, found: Cotangents) -> None:
        """Write the loop over the transposes; sums pass their cotangent to all iterations."""
        writer = found.writer
        inner = Cotangents(writer)
        passed: list[tuple[Any, Any, str]] = []
        for out, first, last in self.carried:
            adj = found.take(out, f"adj_{out.text}")
            if adj is not None:
                inner.add(last, adj)
                passed.append((out, first, adj))
        outer, writer.lines = writer.lines, self.region.forward()
        self.region.backward(inner)
        for out, first, adj in passed:
            self._check_sum(out, adj, inner)
            found.add(first, adj)
        body, writer.lines = writer.lines, outer
        for leaf, parts in inner.found.items():
            name = writer.names.fresh(f"adj_{identifier(leaf)}")
            writer.line(f"{name} = {writer.zero}")
            body.append(f"{name} = {add_up([name, *parts])}")
            found.found.setdefault(leaf, []).append(name)
        self._check_recomputed(body)
        writer.line(For(self.target, self.over, body))

    def _check_sum(self, out: Value, adj: str, inner: Cotangents) -> None:
        """Remove the cotangent that an iteration passes to the one before, which must be the one it was given."""
        given = Cotangents(inner.writer)
        given.add(out, adj)
        for leaf, parts in given.found.items():
            if inner.found.pop(leaf, None) != parts:
                raise self.refuse(f"{base_name(out.text)} is changed by more than a sum from one iteration to the next")

    def _check_recomputed(self, body: list[Line]) -> None:
        """Refuse if the transposes read a variable that the iterations pass on, whose values are not kept."""
        assigned = {name for line in body if isinstance(line, str) and line[0] != "#" for name in read_names(line)[0]}
        used = names_read(without_unused(body, {name for name in assigned if name.startswith("adj")}))
        for out, *_ in self.carried:
            if out.text in used:
                raise self.refuse(f"the derivative needs every value that {base_name(out.text)} takes in the loop")


def base_name(text: str) -> str:
    """Return the name in the source of a variable."""
    return re.sub(r"_\d+$", "", text)


def identifier(text: str) -> str:
    """Return text as part of an identifier."""
    return re.sub(r"\W+", "_", text).strip("_")


def inputs_of(values: Iterable[Value]) -> list[Real]:
    """Return the active numbers in values."""
    return [leaf for value in values for leaf in leaves(value) if isinstance(leaf, Real) and leaf.active]
