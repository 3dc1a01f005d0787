"""Loads and stores of arrays, by the owner of each row.

Every element runs on its own and in any order, so an adjoint may add only to rows that no other element adds to: those
of its own index, and its own slots for the nodes at its corners.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ..memory import add_to3, ld3
from .operations import Cotangents, Operation, Sink, identifier
from .source import Frame
from .values import Array, Fixed, Group, Real, Value, Whole

if TYPE_CHECKING:
    from .trace import Trace


#: Numbers of the state that a function reads, by array, corner (None for the node itself) and component.
States = dict[tuple[str, int | None, int], Real]


class Arrays:
    """Loads and stores of one followed function.

    ``states`` holds the numbers of the state that it reads, by array, corner (None for the node itself) and component,
    and ``parameters`` the entries of parameters, by array and index.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.states: States = {}
        self.parameters: dict[tuple[Array, str], list[Real]] = {}
        self._loaded: list[dict[str, Any]] = [{}]
        self._stored: list[set[tuple[str, int, int]]] = [set()]
        self._perhaps: set[tuple[str, int, int]] = set()
        self.read: set[str] = set()
        self.written: set[str] = set()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Context manager: loads of a region serve that region and those inside it."""
        self._loaded.append({})
        self._stored.append(set(self._stored[-1]))
        try:
            yield
        finally:
            self._loaded.pop()
            self._perhaps |= self._stored.pop()

    def load(self, array: Array, index: tuple[Any, ...], node: ast.expr, frame: Frame, wanted: str) -> Value:
        """Follow ``array[index]``."""
        if not all(isinstance(i, Whole | Fixed) for i in index):
            raise frame.refuse(node, "an index must be an integer")
        place = ", ".join(_text(i) for i in index)
        text = f"{array.text}[{place}]"
        self.read.add(array.text)
        if array.role == "whole":
            corner = None
            if len(index) == 2 and getattr(index[0], "own", False) and isinstance(index[1], Fixed):
                corner = (array.text, index[1].value)
            return Whole(text, corner=corner)
        if array.role == "slots":
            raise frame.refuse(node, "what an element writes cannot be read")
        if (known := self._known(text)) is not None:
            return known  # type: ignore[no-any-return]
        out = Real(self.trace.names.fresh(wanted or identifier(text)), array.role != "real")
        transpose = None
        if array.role == "state":
            if len(index) != 2 or not isinstance(index[1], Fixed):
                raise frame.refuse(node, "the component of a state must be known before compiling")
            root = self._state(array, index[0], index[1].value, node, frame)
            transpose = lambda found, adj: found.add(root, adj)  # noqa: E731
        elif array.role == "shared":
            transpose = lambda found, adj: found.writer.line(f"{array.cotangent}[{place}] += {adj}")  # noqa: E731
        elif array.role == "parameter":
            self._check_owner(array, index, node, frame)
            transpose = self._parameter(array, place)
        self._keep(text, Operation(text, out, transpose))
        return out

    def load3(self, array: Array, index: Value, node: ast.expr, frame: Frame, wanted: str) -> Value:
        """Follow ``ld3(array, index)``."""
        if array.role == "slots":
            raise frame.refuse(node, "what an element writes cannot be read")
        text = f"{self.trace.writer(ld3)}({array.text}, {_text(index)})"
        self.read.add(array.text)
        if (known := self._known(text)) is not None:
            return known  # type: ignore[no-any-return]
        name = self.trace.names.fresh(wanted or f"{array.text}_{identifier(index.text)}")
        out = Group(tuple(Real(f"{name}[{c}]", array.role != "real") for c in range(3)), name)
        self.trace.note_width(out)
        transpose = None
        if array.role == "state":
            roots = Group(tuple(self._state(array, index, c, node, frame) for c in range(3)))
            transpose = lambda found, adj: found.add(roots, adj)  # noqa: E731
        elif array.role == "shared":
            add, row = self.trace.writer(add_to3), _text(index)
            transpose = lambda found, adj: found.writer.line(f"{add}({array.cotangent}, {row}, {adj})")  # noqa: E731
        elif array.role == "parameter":
            self._check_owner(array, (index,), node, frame)
            transpose = self._parameter3(array, _text(index))
        self._keep(text, Operation(text, out, transpose))
        return out

    def _known(self, text: str) -> Any:
        """Return the value of a load that was made before."""
        return next((loaded[text] for loaded in reversed(self._loaded) if text in loaded), None)

    def _keep(self, text: str, operation: Operation) -> None:
        """Note a load."""
        self.trace.region.items.append(operation)
        self._loaded[-1][text] = operation.out

    def _state(self, array: Array, index: Value, component: int, node: ast.expr, frame: Frame) -> Real:
        """Return the number of the state that is read."""
        if array.corners is None:
            corner = None
            if not (isinstance(index, Whole) and index.own):
                raise frame.refuse(node, f"it reads {array.text} of another node than its own")
        else:
            given = getattr(index, "corner", None)
            if given is None or given[0] != array.corners:
                raise frame.refuse(node, f"it reads {array.text} elsewhere than at {array.corners}[e, constant]")
            corner = given[1]
        key = (array.text, corner, component)
        text = f"{array.text}.{component}" if corner is None else f"{array.text}{corner}.{component}"
        return self.states.setdefault(key, Real(text, True))

    def _check_owner(self, array: Array, index: tuple[Any, ...], node: ast.expr, frame: Frame) -> None:
        """Refuse a load of a parameter at a row of which other elements may read too."""
        if not any(isinstance(i, Whole) and i.own for i in index):
            raise frame.refuse(node, f"it reads the parameter {array.text} at a row that is not its own")

    def _parameter(self, array: Array, place: str) -> Any:
        """Return the transpose of a load of one number of a parameter."""
        if self.trace.region is self.trace.top:
            root = Real(f"{array.text}[{place}]", True)
            self.parameters[array, place] = [root]
            return lambda found, adj: found.add(root, adj)
        return lambda found, adj: found.writer.line(f"{array.cotangent}[{place}] += {adj}")

    def _parameter3(self, array: Array, place: str) -> Any:
        """Return the transpose of a load of a vec3 of a parameter."""
        if self.trace.region is self.trace.top:
            roots = Group(tuple(Real(f"{array.text}[{place}, {c}]", True) for c in range(3)))
            self.parameters[array, place] = list(roots.items)
            return lambda found, adj: found.add(roots, adj)
        add = self.trace.writer(add_to3)
        return lambda found, adj: found.writer.line(f"{add}({array.cotangent}, {place}, {adj})")

    def finish(self, found: Cotangents) -> None:
        """Write what the parameters' cotangents gain."""
        for (array, place), roots in self.parameters.items():
            value = roots[0] if len(roots) == 1 else Group(tuple(roots))
            adj = found.take(value, f"adj_{identifier(roots[0].text)}" if len(roots) == 1 else f"adj_{array.text}_row")
            if adj is None:
                continue
            if len(roots) == 1:
                found.writer.line(f"{array.cotangent}[{place}] += {adj}")
            else:
                found.writer.line(f"{found.writer(add_to3)}({array.cotangent}, {place}, {adj})")

    def store(self, array: Any, index: tuple[Any, ...], value: Any, node: ast.expr, frame: Frame) -> None:
        """Follow ``array[e, corner, component] = value``."""
        if isinstance(array, Array) and array.role in ("shared", "whole"):
            self.write(array, index, value, "", node, frame)
            return
        if not isinstance(array, Array) or array.role != "slots":
            raise frame.refuse(node, "only the rows that an element writes for its corners can be stored")
        whole = len(index) == 3 and getattr(index[0], "own", False)
        if not whole or not all(isinstance(i, Fixed) for i in index[1:]):
            raise frame.refuse(node, f"expected {array.text}[e, corner, component] with constants")
        corner, component = index[1].value, index[2].value
        self._note(array, corner, [component], node, frame)
        text = f"{array.cotangent}[{array.corners}[{index[0].text}, {corner}], {component}]"
        self.trace.region.items.append(Sink(value, lambda found: found.writer.name(text, "adj_f")))

    def write(self, array: Array, index: tuple[Any, ...], value: Any, sign: str, node: ast.expr, frame: Frame) -> None:
        """Follow ``array[index] = value``, or ``+=`` and ``-=`` for the signs "+" and "-", of an array that any item
        may read afterwards.
        """
        self.written.add(array.text)
        if array.role == "whole":
            return
        if not all(isinstance(i, Whole | Fixed) for i in index) or isinstance(value, Group):
            raise frame.refuse(node, "expected a number stored at integers")
        place = f"{array.cotangent}[{', '.join(_text(i) for i in index)}]"

        def cotangent(found: Cotangents) -> str:
            adj = found.writer.names.fresh(f"{array.cotangent}_here")
            found.writer.line(f"{adj} = {place}")
            if not sign:
                found.writer.line(f"{place} = {found.writer.zero}")
            return f"-{adj}" if sign == "-" else adj

        self.trace.region.items.append(Sink(value, cotangent, overwrites=not sign))

    def store_corners(self, array: Array, element: Value, vectors: Value, node: ast.expr, frame: Frame) -> None:
        """Follow ``store_corners(array, e, vectors)``."""
        if array.role != "slots" or not isinstance(vectors, Group) or not getattr(element, "own", False):
            raise frame.refuse(node, "expected store_corners(out, e, (vec3, ...))")
        for corner, value in enumerate(vectors.items):
            self._note(array, corner, [0, 1, 2], node, frame)
            text = f"{self.trace.writer(ld3)}({array.cotangent}, {array.corners}[{element.text}, {corner}])"
            wanted = f"{array.cotangent}{corner}"
            self.trace.region.items.append(Sink(value, partial(_read, text=text, wanted=wanted)))

    def _note(self, array: Array, corner: int, components: list[int], node: ast.expr, frame: Frame) -> None:
        """Refuse to store a row twice, because the first value would have no effect."""
        keys = {(array.text, corner, c) for c in components}
        if keys & self._stored[-1] or (len(self._stored) == 1 and keys & self._perhaps):
            raise frame.refuse(node, f"row {corner} is stored a second time")
        self._stored[-1] |= keys


def _read(found: Cotangents, text: str, wanted: str) -> str:
    """Return a variable that holds a vec3."""
    return found.writer.name(text, wanted, 3)


def _text(value: Value) -> str:
    """Return an index as text."""
    from .trace import strip

    return strip(value.text)
