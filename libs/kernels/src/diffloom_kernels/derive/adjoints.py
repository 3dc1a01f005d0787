"""Adjoints derived from the source of device functions, as functions in a file of generated source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from ..functions import constant
from ..language import HAND_WRITTEN, device
from .lines import Line, render, without_unused
from .loads import States
from .operations import Cotangents, Writer
from .source import UnderivableError, parameter_names, plain_function
from .trace import Trace
from .values import Fixed, Group, Names, Real, Value, Whole, is_active, leaves, named, structure

_HEADER = '''"""Adjoints of {title}.

Derived from its source; edit that, not this.
"""
'''


@dataclass
class Derived:
    """Adjoint of a function of numbers.

    Args:
        function: The function.
        result: Its result, as a value of the structure.
        positions: Arguments that have a cotangent.
        adjoint: Function of the writer of a caller, which returns the name of the adjoint there.
    """

    function: Any
    result: Value
    positions: list[int]
    adjoint: Callable[[Writer], str]


@dataclass
class Module:
    """Generated module: the texts of its functions, and the objects they refer to."""

    names: Names = field(default_factory=Names)
    namespace: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    known: dict[Any, Derived | None] = field(default_factory=dict)

    def writer(self, names: Names) -> Writer:
        """Return the writer of one function, whose names are ``names``."""
        bound: dict[int, str] = {}

        def bind(function: Any) -> str:
            if id(function) not in bound:
                wanted = function.__name__
                while wanted in names.taken or not self._is_free(wanted, function):
                    wanted += "_"
                name = wanted
                names.taken.add(name)
                self.names.taken.add(name)
                bound[id(function)] = name
                self.namespace[name] = function
            return bound[id(function)]

        return Writer(names, bind)

    def _is_free(self, name: str, function: Any) -> bool:
        """Return True if a global name is unused, or means this function already."""
        return self.namespace[name] is function if name in self.namespace else name not in self.names.taken

    def derive(self, function: Any, args: tuple[Value, ...]) -> Derived | None:
        """Return the adjoint of a function of numbers; None if its result is not floats alone."""
        key = (plain_function(function), tuple(map(structure, args)))
        if key not in self.known:
            self.known[key] = None  # a function that calls itself is followed inside, which refuses it
            self.known[key] = self._derive(function, args)
        return self.known[key]

    def _derive(self, function: Any, args: tuple[Value, ...]) -> Derived | None:
        """Derive the adjoint of a function of numbers."""
        source = plain_function(function)
        given = FunctionSource(self, source, args)
        result = given.result
        if not all(isinstance(leaf, Real) for leaf in leaves(result)) or not list(leaves(result)):
            return None
        positions = [k for k, value in enumerate(given.args) if is_active(value)]
        if (written := HAND_WRITTEN.get(source)) is not None:
            return Derived(function, result, positions, lambda writer: writer(written))
        made: list[Any] = []

        def adjoint(writer: Writer) -> str:
            if not made:
                made.append(given.write(positions))
            name: str = made[0]
            writer.names.taken.add(name)
            return name

        return Derived(function, result, positions, adjoint)

    def add(self, name: str, parameters: list[str], lines: list[Line], doc: str) -> None:
        """Add a function."""
        head = f'@device\ndef {name}({", ".join(parameters)}):\n    """{doc}"""'
        self.texts.append("\n".join([head, *render(lines)]))

    def load(self, title: str) -> dict[str, Any]:
        """Write the module to a file and return its functions by name."""
        text = "\n\n\n".join([_HEADER.format(title=title).strip(), *self.texts]) + "\n"
        return load_functions(f"adjoint_{title.rpartition('.')[2]}", text, self.namespace)


def load_functions(name: str, text: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Write generated device functions to a file of the cache and load them.

    Args:
        name: First part of the name of the file; a hash of the content follows.
        text: Source of a module, which may use ``device``.
        namespace: Objects by the global names that the source uses.

    Returns:
        Global names of the module.
    """
    from ..backends.cpu import load_module

    digest = hashlib.sha256(text.encode())
    for key, value in sorted(namespace.items()):
        digest.update(f"{key}={getattr(value, '__module__', '')}.{getattr(value, '__qualname__', key)}".encode())
    return vars(load_module(f"{name}_{digest.hexdigest()[:16]}", text, {**namespace, "device": device}))


class FunctionSource:
    """Followed function of numbers, and the text of its adjoint.

    Args:
        module: Module that the adjoint goes to.
        function: Python function.
        args: Values of the structures of the arguments.
    """

    def __init__(self, module: Module, function: FunctionType, args: tuple[Value, ...]) -> None:
        self.module, self.function = module, function
        parameters = parameter_names(function)
        self.names = Names(set(parameters))
        self.adj = self.names.fresh("adj")
        self.parameters = parameters
        self.writer = module.writer(self.names)
        self.args = tuple(_parameter(v, name) for v, name in zip(args, parameters, strict=True))
        self.trace = Trace(self.writer, module.derive)
        self.result = self.trace.run(function, self.args)

    def write(self, positions: list[int]) -> str:
        """Write the adjoint to the module, and return its name."""
        name = self.module.names.fresh(f"{self.function.__name__}_adjoint")
        writer = self.writer
        found = Cotangents(writer)
        if isinstance(self.result, Group):
            writer.widths[self.adj] = len(self.result.items)
        found.add(self.result, self.adj)
        writer.lines = self.trace.top.forward()
        writer.line("# backwards")
        self.trace.top.backward(found)
        parts = [found.taken(self.args[k], f"adj_{self.parameters[k]}") for k in positions]
        writer.line(f"return {', '.join(parts)}")
        like = next(leaf.text for leaf in leaves(named(self.result, self.adj)))
        lines = finished(writer, number_like(like))
        doc = (
            f"Return the cotangents of {', '.join(self.parameters[k] for k in positions)} of {self.function.__name__}."
        )
        self.module.add(name, [*self.parameters, self.adj], lines, doc)
        return name


def number_like(text: str) -> Callable[[Writer, int], str]:
    """Return the ``number`` of a convention by a float among the arguments.

    Args:
        text: Source text of the float.

    Returns:
        Function for ``Convention``.
    """
    return lambda writer, value: f"{writer(constant)}({text}, {value})"


def number_in(array: str) -> Callable[[Writer, int], str]:
    """Return the ``number`` of a convention by an array among the arguments.

    Args:
        array: Name of an array of floats.

    Returns:
        Function for ``Convention``.
    """
    return lambda writer, value: f"{array}.dtype.type({value})"


def finished(writer: Writer, number: Callable[[Writer, int], str]) -> list[Line]:
    """Return the lines of a function, without those that are unused, after the numbers 0 and 1 by ``number``."""
    first = [f"{writer.zero} = {number(writer, 0)}", f"{writer.one} = {number(writer, 1)}"]
    lines = without_unused([*first, *writer.lines], set())
    return [line for k, line in enumerate(lines) if line != "# backwards" or k > 0]


def _parameter(value: Value, name: str) -> Any:
    """Return the value of a parameter for an argument: all floats count."""
    if isinstance(value, Group):
        return Group(tuple(_parameter(item, f"{name}[{k}]") for k, item in enumerate(value.items)), name)
    if isinstance(value, Real):
        return Real(name, True)
    if isinstance(value, Whole):
        return Whole(name)
    if isinstance(value, Fixed) and isinstance(value.value, float):
        return Real(name, False)
    return value if isinstance(value, Fixed) else replace(value, text=name)


@dataclass(frozen=True)
class Convention:
    """Calling convention of a device function over arrays and of its adjoint.

    Args:
        args: Kinds of the arguments, with the names of the function's parameters.
        extra: Further parameters of the adjoint.
        seed: Function of the cotangents and the result that adds the cotangent of the result.
        results: Function of the cotangents, and of the numbers of the state that were read by array, corner (None for
            the node itself) and component, that writes what the adjoint stores and returns what it returns.
        number: Function of the writer and a number, which returns the number as text in the float type in use.
        note: Function of the names of the arrays that were read and of those that were written.
    """

    args: tuple[Any, ...]
    extra: tuple[str, ...]
    seed: Callable[[Cotangents, Any], None]
    results: Callable[[Cotangents, States], list[str]]
    number: Callable[[Writer, int], str]
    note: Callable[[set[str], set[str]], None] = lambda read, written: None


def derive_by_convention(function: Any, convention: Convention) -> Any:
    """Return the adjoint of a device function over arrays, derived from its source.

    Args:
        function: Device function.
        convention: How it and its adjoint are called.

    Returns:
        Device function, from a file of its own.

    Raises:
        UnderivableError: Something in it has no derived adjoint; the message names line and reason.
    """
    source = plain_function(function)
    module = Module()
    parameters = parameter_names(source)
    writer = module.writer(Names({*parameters, *convention.extra}))
    trace = Trace(writer, module.derive)
    result = trace.run(source, convention.args)
    convention.note(trace.arrays.read, trace.arrays.written)
    found = Cotangents(writer)
    writer.lines = trace.top.forward()
    writer.line("# backwards")
    convention.seed(found, result)
    trace.top.backward(found)
    trace.arrays.finish(found)
    parts = convention.results(found, trace.arrays.states)
    if parts:
        writer.line(f"return {', '.join(parts)}")
    name = module.names.fresh(f"{source.__name__}_adjoint")
    doc = f"Derived adjoint of {source.__name__}."
    kept = [p for p, value in zip(parameters, convention.args, strict=True) if getattr(value, "role", "") != "slots"]
    module.add(name, [*kept, *convention.extra], finished(writer, convention.number), doc)
    return module.load(f"{source.__module__}.{source.__name__}")[name]


def derive_adjoint(function: Any, like: tuple[Any, ...], whole: tuple[int, ...] = ()) -> Any:
    """Return the adjoint of a device function of numbers and tuples of numbers, derived from its source.

    Args:
        function: Device function.
        like: Example arguments, floats and tuples of floats, which show their structure.
        whole: Positions of arguments that are integers.

    Returns:
        Device function of the same arguments and the cotangent of the result, which returns the cotangents of all that
            are floats.

    Raises:
        UnderivableError: Something in it has no derived adjoint; the message names line and reason.
    """
    module, plain = Module(), plain_function(function)
    names = parameter_names(plain)
    args = tuple(Whole(n) if k in whole else _structured(v) for k, (n, v) in enumerate(zip(names, like, strict=True)))
    derived = module.derive(function, args)
    if derived is None:
        raise UnderivableError(f"{plain.__name__}: its result is not floats alone")
    writer = module.writer(Names())
    name = derived.adjoint(writer)
    return module.load(f"{plain.__module__}.{plain.__name__}").get(name) or module.namespace[name]


def _structured(value: Any) -> Any:
    """Return a value of the structure of an example."""
    return Group(tuple(map(_structured, value))) if isinstance(value, tuple) else Real("")
