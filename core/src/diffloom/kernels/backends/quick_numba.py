"""Short cuts through numba's reading and typing of Python, taken while a program is compiled.

Each gives what numba itself would, and is taken back afterwards: what a call of a known function on known types comes
to is remembered, registries that were loaded are not imported again, and variables of statements are listed by looking
at types instead of asking abstract classes. Together they save about a fifth of the time that compiling takes.

Like ``whole_program``, this stands on private parts of numba; ``core/tests/kernels/test_whole_program.py`` compares the
machine code with and without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import event, ir, types
from numba.core.cpu import CPUContext
from numba.core.errors import NumbaError
from numba.core.targetconfig import TargetConfig
from numba.core.typeinfer import TypeInferer
from numba.core.types.functions import BaseFunction, Dispatcher
from numba.core.types.misc import unliteral
from numba.core.typing.context import Context

#: What no variable hides in.
_LEAVES = frozenset({ir.Loc, str, int, float, bool, complex, type(None)})
#: Events that are told to a stopwatch of every function that is being compiled, and to nobody else.
_LOCKS = frozenset({"numba:compiler_lock", "numba:llvm_lock"})
#: Calls remembered, after which all are forgotten.
MOST_CALLS = 20_000

_calls: dict[tuple[Any, ...], tuple[Any, Any]] = {}
_defaults: dict[type, tuple[tuple[str, Any], ...]] = {}


@contextlib.contextmanager
def short_cuts() -> Iterator[None]:
    """Take them, for as long as this lasts."""
    taken = [(owner, name, owner.__dict__[name]) for owner, name, _ in _SHORT_CUTS]
    try:
        for owner, name, quick in _SHORT_CUTS:
            setattr(owner, name, quick)
        yield
    finally:
        for owner, name, original in taken:
            setattr(owner, name, original)


def _list_variables(self: Any, value: Any) -> list[Any]:
    """``ir.Inst._rec_list_vars``: the variables in a value."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in _LEAVES:
        return []
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        rest: list[Any] = _listed(self, value)
        return rest
    found: list[Any] = []
    for entry in value:
        kind = type(entry)
        if kind is ir.Var:
            found.append(entry)
        elif kind not in _LEAVES:
            found.extend(_list_variables(self, entry))
    return found


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """``BaseFunction.get_call_type``: how a function is called with arguments of these types."""
    if kws or any(isinstance(arg, types.Callable) for arg in args):  # functions would be kept alive
        return _resolved(self, context, args, kws)
    key = (self, context, args)
    if key in _calls:
        signature, self._impl_keys[signature.args] = _calls[key]
        return signature
    signature = _resolved(self, context, args, kws)
    if len(_calls) >= MOST_CALLS:
        _calls.clear()
    if signature is not None:
        _calls[key] = signature, self._impl_keys[signature.args]
    return signature


def _device_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """``Dispatcher.get_call_type``: how a compiled function is called with arguments of these types.

    Whole numbers that are written out are taken as any: numba would compile the function for each of them.
    """
    if kws:
        return _dispatched(self, context, args, kws)
    known = self.dispatcher.__dict__.setdefault("_known_calls", {})
    if args not in known:
        any_number = tuple(map(unliteral, args))
        try:
            known[args] = _dispatched(self, context, any_number, kws)
        except NumbaError:
            if any_number == args:
                raise
            known[args] = _dispatched(self, context, args, kws)
    return known[args]


def _propagate(self: Any, raise_errors: bool = True) -> Any:
    """``TypeInferer.propagate``: once is enough where statements depend on earlier ones alone."""
    if not _goes_back(self.blocks):
        try:
            for constraint in self.constraints.constraints:
                constraint(self)
        except NumbaError:  # once more, for what numba says of it
            return _propagated(self, raise_errors)
        if all(variable.type is not None and variable.type.is_precise() for variable in self.typevars.values()):
            return None
    return _propagated(self, raise_errors)


def _goes_back(blocks: Any) -> bool:
    """Whether a block goes on with one at or before it, as loops do."""
    return any(label >= after for label, block in blocks.items() for after in block.terminator.get_targets())


def _loading_once(load: Callable[[Any], None]) -> Callable[[Any], None]:
    """``load_additional_registries``: its many imports are done the first time, later only what is new is taken in."""

    def load_registries(self: Any) -> None:
        if not getattr(self, "_registries_loaded", False):
            load(self)
            self._registries_loaded = True
            return
        for registry in tuple(self._registries):
            self.install_registry(registry)

    return load_registries


def _values(self: Any) -> dict[str, Any]:
    """``TargetConfig.values``: all options."""
    given, kind = self._values, type(self)
    if kind not in _defaults:
        _defaults[kind] = tuple((name, option.default) for name, option in kind.options.items())
    return {name: given.get(name, default) for name, default in _defaults[kind]}


def _tell(happened: Any) -> None:
    """``event.broadcast``, but for stopwatches that nobody reads."""
    if happened.kind not in _LOCKS:
        _told(happened)


_listed, _resolved, _told = ir.Inst._rec_list_vars, BaseFunction.get_call_type, event.broadcast
_dispatched, _propagated = Dispatcher.get_call_type, TypeInferer.propagate

_SHORT_CUTS: tuple[tuple[Any, str, Any], ...] = (
    (ir.Inst, "_rec_list_vars", _list_variables),
    (BaseFunction, "get_call_type", _call_type),
    (CPUContext, "load_additional_registries", _loading_once(CPUContext.load_additional_registries)),
    (Context, "load_additional_registries", _loading_once(Context.load_additional_registries)),
    (Dispatcher, "get_call_type", _device_call_type),
    (TypeInferer, "propagate", _propagate),
    (TargetConfig, "values", _values),
    (event, "broadcast", _tell),
)
