"""Short cuts through numba's reading and typing of Python, taken while a program is compiled.

Each gives what numba itself would, and is taken back afterwards: what a call of a known function on known types comes
to is remembered, registries that did not grow are not read again, how long variables live is worked out once, where it
is used, and variables of statements are listed by looking at types instead of asking abstract classes. Together they
save a fifth of the time that compiling takes, or more.

Like ``whole_program``, this stands on private parts of numba; ``libs/kernels/tests/test_whole_program.py`` compares the
machine code with and without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.errors import NumbaError

from .numba_internals import (
    BaseFunction,
    Context,
    CPUContext,
    Dispatcher,
    Function,
    LoweringContext as Lowering,
    PostProcessor,
    TargetConfig,
    TypeInferer,
    TypingContext as Typing,
    VariableLifetime,
    base,
    event,
    ir,
    transforms,
    unliteral,
)

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


def _refresh(self: Any) -> None:
    """``BaseContext.refresh``: not while the registries are as they were."""
    typing = self.typing_context
    known = [*self._registries, *typing._registries]
    size = len(known), sum(len(held) for each in known for held in vars(each).values() if type(held) is list)
    if typing.__dict__.get("_size_of_registries") != size:
        _refreshed(self)
        typing._size_of_registries = size  # as it was before: what has grown meanwhile is read the next time


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """``PostProcessor.run``: how long variables live is worked out when somebody asks, at the latest for ``dels``."""
    function = self.func_ir
    if emit_dels or function.is_generator:
        _post_processed(self, emit_dels, extend_lifetimes)
        return
    function.blocks = transforms.canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


def _has_loc(function: Any) -> bool:
    """``base._has_loc``: whether there is an argument ``loc``, without a record of all arguments."""
    if type(function) is not FunctionType or function.__dict__.keys() & {"__wrapped__", "__signature__"}:
        return bool(_had_loc(function))
    code = function.__code__
    rest = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]


def _size_of(self: Any, kind: Any) -> Any:
    """``BaseContext.get_abi_sizeof``: numba has LLVM read a module for each type, every time."""
    sizes = self.target_data.__dict__.setdefault("_known_sizes", {})
    text = str(kind)
    if "%" in text:  # called by a name, which tells nothing of it
        return _sized(self, kind)
    if text not in sizes:
        sizes[text] = _sized(self, kind)
    return sizes[text]


def _attribute(self: Any, kind: Any, name: str) -> Any:
    """``Context.resolve_getattr``: every call asks whether its function has a method for that, which none has."""
    if name == "__call__" and type(kind) in (Function, Dispatcher):
        return None
    return _resolved_attribute(self, kind, name)


def _values(self: Any) -> dict[str, Any]:
    """``TargetConfig.values``: all options."""
    given, kind = self._values, type(self)
    if kind not in _defaults:
        _defaults[kind] = tuple((name, option.default) for name, option in kind.options.items())
    return {name: given.get(name, default) for name, default in _defaults[kind]}


def _tell_start(kind: str, data: Any = None) -> None:
    """``event.start_event``, but for stopwatches that nobody reads."""
    if kind not in _LOCKS:
        _started(kind, data)


def _tell_end(kind: str, data: Any = None, exc_details: Any = None) -> None:
    """``event.end_event``, likewise."""
    if kind not in _LOCKS:
        _ended(kind, data, exc_details)


_listed, _resolved, _resolved_attribute = ir.Inst._rec_list_vars, BaseFunction.get_call_type, Typing.resolve_getattr
_dispatched, _propagated, _post_processed = Dispatcher.get_call_type, TypeInferer.propagate, PostProcessor.run
_started, _ended, _had_loc = event.start_event, event.end_event, base._has_loc
_refreshed, _sized = Lowering.refresh, Lowering.get_abi_sizeof

_SHORT_CUTS: tuple[tuple[Any, str, Any], ...] = (
    (ir.Inst, "_rec_list_vars", _list_variables),
    (BaseFunction, "get_call_type", _call_type),
    (CPUContext, "load_additional_registries", _loading_once(CPUContext.load_additional_registries)),
    (Context, "load_additional_registries", _loading_once(Context.load_additional_registries)),
    (Lowering, "refresh", _refresh),
    (Lowering, "get_abi_sizeof", _size_of),
    (Typing, "resolve_getattr", _attribute),
    (Dispatcher, "get_call_type", _device_call_type),
    (TypeInferer, "propagate", _propagate),
    (PostProcessor, "run", _post_process),
    (TargetConfig, "values", _values),
    (base, "_has_loc", _has_loc),
    (event, "start_event", _tell_start),
    (event, "end_event", _tell_end),
)
