"""Contexts in which numba types and writes device functions and programs faster than in its own.

Each answers as numba's own does: the type of a call of a known function on known types is remembered, registries that
did not grow are not read again, types of functions without loops are inferred in one sweep, sizes of types are worked
out once, and passes leave to the last of them how long variables live. Together they save a quarter of the time that
compiling takes.

A context of numba's is copied and given a subclass. The copy shares all tables of the original, so that functions
compiled in one are found in the other, and only the compilers of ``whole_program`` use it: nothing of numba is
replaced, and what other threads compile meanwhile is compiled by numba as it stands.
"""

from __future__ import annotations

import copy
import functools
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.errors import NumbaError, NumbaNotImplementedError

from .numba_internals import (
    CallStack,
    Context,
    CPUContext,
    Flags,
    GenericRewrites,
    IRProcessing,
    PreLowerStripPhis,
    ReconstructSSA,
    TypeInferer,
    VariableLifetime,
    build_definitions,
    canonicalize_cfg,
    reconstruct_ssa,
    register_pass,
    rewrite_registry,
    wrap_impl,
)

#: Calls remembered, after which all are forgotten.
MOST_CALLS = 20_000

_calls: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@functools.cache
def make_quick(typing: Any, target: Any) -> tuple[Any, Any]:
    """Return quick copies of a typing context and of the target context that belongs to it."""
    typing.refresh()  # so that all registries are known
    target.refresh()
    quick_typing, quick_target = _recast(typing, QuickTyping), _recast(target, QuickContext)
    quick_typing.callstack = _recast(typing.callstack, _QuickCallStack)
    quick_target.typing_context = quick_typing
    return quick_typing, quick_target


def _recast(original: Any, kind: type) -> Any:
    """A shallow copy of an object, of a subclass of its class."""
    made = copy.copy(original)
    made.__class__ = kind
    return made


def _load_registries(self: Any) -> None:
    """Take in what is new in the registries that are known; numba imports them all anew to find them."""
    for registry in tuple(self._registries):
        self.install_registry(registry)


class QuickTyping(Context):  # type: ignore[misc]
    """numba's typing context, which remembers calls."""

    load_additional_registries = _load_registries

    def refresh(self) -> None:
        """Nothing: the target context reads the registries of both, where they have grown."""

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, literals: Any = None) -> Any:
        known = self._lookup_global(func)
        called = func if known is None else known
        if type(called) is types.Dispatcher and not kws:
            return self._device_call(called, args)
        if type(called) is types.Function and not kws:
            return self._function_call(called, args)
        return super()._resolve_user_function_type(func, args, kws, literals)

    def _function_call(self, function: Any, args: Any) -> Any:
        """How a function is called with arguments of these types."""
        if any(isinstance(arg, types.Callable) for arg in args):  # functions would be kept alive
            return function.get_call_type(self, args, {})
        key = (function, args)
        if key in _calls:
            found, function._impl_keys[found.args] = _calls[key]
            return found
        found = function.get_call_type(self, args, {})
        if len(_calls) >= MOST_CALLS:
            _calls.clear()
        if found is not None:
            _calls[key] = found, function._impl_keys[found.args]
        return found

    def _device_call(self, function: Any, args: Any) -> Any:
        """How a compiled function is called with arguments of these types.

        Whole numbers that are written out are taken as any: numba would compile the function for each of them.
        """
        known = function.dispatcher.__dict__.setdefault("_known_calls", {})
        if args not in known:
            any_number = tuple(map(types.unliteral, args))  # type: ignore[attr-defined]
            try:
                known[args] = function.get_call_type(self, any_number, {})
            except NumbaError:
                if any_number == args:
                    raise
                known[args] = function.get_call_type(self, args, {})
        return known[args]


class _QuickCallStack(CallStack):  # type: ignore[misc]
    """numba's stack of functions whose types are being inferred, which it shares."""

    def register(self, target: Any, typeinfer: Any, func_id: Any, args: Any) -> Any:
        typeinfer.__class__ = _QuickInferer  # it was made for this function alone
        return super().register(target, typeinfer, func_id, args)


class _QuickInferer(TypeInferer):  # type: ignore[misc]
    """Infers types in one sweep where statements depend on earlier ones alone."""

    def propagate(self, raise_errors: bool = True) -> Any:
        if not _goes_back(self.blocks):
            try:
                for constraint in self.constraints.constraints:
                    constraint(self)
            except NumbaError:  # once more, for what numba says of it
                return super().propagate(raise_errors)
            if all(variable.type is not None and variable.type.is_precise() for variable in self.typevars.values()):
                return None
        return super().propagate(raise_errors)


def _goes_back(blocks: Any) -> bool:
    """Whether a block goes on with one at or before it, as loops do."""
    return any(label >= after for label, block in blocks.items() for after in block.terminator.get_targets())


class QuickContext(CPUContext):  # type: ignore[misc]
    """numba's knowledge of the processor and of how functions are written as LLVM code."""

    load_additional_registries = _load_registries

    def refresh(self) -> None:
        """Read the registries of this context and of the typing context, unless they are as they were."""
        typing = self.typing_context
        known = [*self._registries, *typing._registries]
        size = len(known), sum(len(held) for each in known for held in vars(each).values() if type(held) is list)
        if typing.__dict__.get("_size_of_registries") != size:
            super().refresh()
            Context.refresh(typing)
            typing._size_of_registries = size  # as it was before: what has grown meanwhile is read the next time

    def get_abi_sizeof(self, kind: Any) -> Any:
        """Size of a type [bytes]: numba has LLVM read a module for each type, every time."""
        sizes = self.target_data.__dict__.setdefault("_known_sizes", {})
        text = str(kind)
        if "%" in text:  # called by a name, which tells nothing of it
            return super().get_abi_sizeof(kind)
        if text not in sizes:
            sizes[text] = super().get_abi_sizeof(kind)
        return sizes[text]

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The implementation of a function, found without a record of all its arguments."""
        plain = sig.as_function()
        key = fn.get_impl_key(plain) if isinstance(fn, types.Callable) else fn
        try:
            return _Implementation(self._defns[key].find(plain.args), self, plain)
        except NumbaNotImplementedError:
            return super().get_function(fn, sig, _firstcall)


class _Implementation(wrap_impl):  # type: ignore[misc]
    """A function that writes LLVM code, with its context and signature."""

    def __init__(self, found: Any, context: Any, signature: Any) -> None:
        self._callable = found
        self._imp = found if takes_location(found) else _without_location(found)
        self._context, self._sig = context, signature


def takes_location(function: Any) -> bool:
    """Whether there is an argument ``loc``."""
    if type(function) is not FunctionType or function.__dict__.keys() & {"__wrapped__", "__signature__"}:
        return "loc" in signature(function).parameters
    code = function.__code__
    rest = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]


def _without_location(function: Any) -> Any:
    """The function, for callers that give ``loc``."""

    def write(context: Any, builder: Any, sig: Any, args: Any, loc: Any = None) -> Any:
        return function(context, builder, sig, args)

    write.libs = getattr(function, "libs", ())  # type: ignore[attr-defined]
    return write


def _tidy(function: Any) -> None:
    """Order the blocks of a function. How long variables live is worked out when somebody asks, not after each pass."""
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


@register_pass(mutates_CFG=True, analysis_only=False)
class _Processing(IRProcessing):  # type: ignore[misc]
    _name = "quick_ir_processing"

    def run_pass(self, state: Any) -> bool:
        _tidy(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Rewriting(GenericRewrites):  # type: ignore[misc]
    _name = "quick_generic_rewrites"

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for label in tuple(blocks):
                while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()
        _tidy(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _SingleAssignment(ReconstructSSA):  # type: ignore[misc]
    _name = "quick_reconstruct_ssa"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        _tidy(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _WithoutPhis(PreLowerStripPhis):  # type: ignore[misc]
    _name = "quick_strip_phis"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        _tidy(state.func_ir)
        return True


#: Passes by those of numba that they stand for. Device code has no generators, which numba's take care of too.
QUICK_PASSES: dict[type, type] = {
    IRProcessing: _Processing,
    GenericRewrites: _Rewriting,
    ReconstructSSA: _SingleAssignment,
    PreLowerStripPhis: _WithoutPhis,
}


class _QuickFlags(Flags):  # type: ignore[misc]
    """Options of a compilation, listed without asking each for its value by name."""

    __slots__ = ()

    def values(self) -> dict[str, Any]:
        return {**_DEFAULTS, **self._values}


_QuickFlags.__name__ = Flags.__name__  # which becomes part of the names of functions
_DEFAULTS = {name: option.default for name, option in Flags.options.items()}


def make_flags_quick(flags: Any) -> None:
    """Have the options of one compilation listed faster."""
    flags.__class__ = _QuickFlags
