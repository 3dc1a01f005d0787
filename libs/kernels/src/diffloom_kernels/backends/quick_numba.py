"""Faster typing and target contexts of numba for device functions and programs.

They give the same answers as numba's contexts, in three quarters of the compile time: the type of a call of a known
function on known types is memoised, registries are read again only if they grew, types in functions without loops are
inferred in one sweep, sizes of types are memoised, and variable lifetimes are computed by the last pass alone.

A context of numba's is copied and given a subclass. The copy shares all tables with the original, so functions compiled
in one are found in the other. Only the compilers of ``whole_program`` use it: nothing in numba is replaced, and other
threads compile with unchanged numba meanwhile.
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

#: Largest number of memoised calls; then all are dropped.
MOST_CALLS = 20_000

_calls: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@functools.cache
def make_quick(typing: Any, target: Any) -> tuple[Any, Any]:
    """Return quick copies of a typing context and of the target context that belongs to it."""
    typing.refresh()  # installs all registries
    target.refresh()
    quick_typing, quick_target = _recast(typing, QuickTyping), _recast(target, QuickContext)
    quick_typing.callstack = _recast(typing.callstack, _QuickCallStack)
    quick_target.typing_context = quick_typing
    return quick_typing, quick_target


def _recast(original: Any, kind: type) -> Any:
    """Return a shallow copy of an object as an instance of a subclass of its class."""
    made = copy.copy(original)
    made.__class__ = kind
    return made


def _load_registries(self: Any) -> None:
    """Install the new entries of the known registries; numba's method imports all registries again to find them."""
    for registry in tuple(self._registries):
        self.install_registry(registry)


class QuickTyping(Context):  # type: ignore[misc]
    """numba's typing context with memoised calls."""

    load_additional_registries = _load_registries

    def refresh(self) -> None:
        """Do nothing, because the target context refreshes the registries of both."""

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, literals: Any = None) -> Any:
        """Return the signature of a call, memoised for device functions and known functions."""
        known = self._lookup_global(func)
        called = func if known is None else known
        if type(called) is types.Dispatcher and not kws:
            return self._device_call(called, args)
        if type(called) is types.Function and not kws:
            return self._function_call(called, args)
        return super()._resolve_user_function_type(func, args, kws, literals)

    def _function_call(self, function: Any, args: Any) -> Any:
        """Return the signature of a call of a known function with arguments of these types."""
        if any(isinstance(arg, types.Callable) for arg in args):  # not memoised, which would keep functions alive
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
        """Return the signature of a call of a compiled function with arguments of these types.

        Integer literals are typed as int64, because numba would compile the function once for each literal.
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
    """numba's stack of functions in type inference, with which it shares its entries."""

    def register(self, target: Any, typeinfer: Any, func_id: Any, args: Any) -> Any:
        """Push a function, with a quick type inferer."""
        typeinfer.__class__ = _QuickInferer  # the inferer belongs to this function alone
        return super().register(target, typeinfer, func_id, args)


class _QuickInferer(TypeInferer):  # type: ignore[misc]
    """Type inferer that makes one sweep over functions without loops."""

    def propagate(self, raise_errors: bool = True) -> Any:
        """Infer the types."""
        if not _has_loops(self.blocks):
            try:
                for constraint in self.constraints.constraints:
                    constraint(self)
            except NumbaError:  # again, for numba's error message
                return super().propagate(raise_errors)
            if all(variable.type is not None and variable.type.is_precise() for variable in self.typevars.values()):
                return None
        return super().propagate(raise_errors)


def _has_loops(blocks: Any) -> bool:
    """Return True if the control flow has a backward edge, as loops do."""
    return any(label >= after for label, block in blocks.items() for after in block.terminator.get_targets())


class QuickContext(CPUContext):  # type: ignore[misc]
    """numba's CPU target context with memoised lookups."""

    load_additional_registries = _load_registries

    def refresh(self) -> None:
        """Refresh the registries of this context and of the typing context if they have grown."""
        typing = self.typing_context
        known = [*self._registries, *typing._registries]
        size = len(known), sum(len(held) for each in known for held in vars(each).values() if type(held) is list)
        if typing.__dict__.get("_size_of_registries") != size:
            super().refresh()
            Context.refresh(typing)
            typing._size_of_registries = size  # size before the refresh: entries added meanwhile are read the next time

    def get_abi_sizeof(self, kind: Any) -> Any:
        """Return the size of a type [bytes], memoised, because numba has LLVM parse a module for each query."""
        sizes = self.target_data.__dict__.setdefault("_known_sizes", {})
        text = str(kind)
        if "%" in text:  # a named struct type does not show its fields
            return super().get_abi_sizeof(kind)
        if text not in sizes:
            sizes[text] = super().get_abi_sizeof(kind)
        return sizes[text]

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return the implementation of a function, found without numba's record of all its arguments."""
        plain = sig.as_function()
        key = fn.get_impl_key(plain) if isinstance(fn, types.Callable) else fn
        try:
            return _Implementation(self._defns[key].find(plain.args), self, plain)
        except NumbaNotImplementedError:
            return super().get_function(fn, sig, _firstcall)


class _Implementation(wrap_impl):  # type: ignore[misc]
    """Function that emits LLVM code, with its context and signature."""

    def __init__(self, found: Any, context: Any, signature: Any) -> None:
        self._callable = found
        self._imp = found if takes_location(found) else _adapt_location(found)
        self._context, self._sig = context, signature


def takes_location(function: Any) -> bool:
    """Return True if a function has a parameter ``loc``."""
    if type(function) is not FunctionType or function.__dict__.keys() & {"__wrapped__", "__signature__"}:
        return "loc" in signature(function).parameters
    code = function.__code__
    rest = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]


def _adapt_location(function: Any) -> Any:
    """Return a function without ``loc`` as one that callers may give ``loc``."""

    def write(context: Any, builder: Any, sig: Any, args: Any, loc: Any = None) -> Any:
        return function(context, builder, sig, args)

    write.libs = getattr(function, "libs", ())  # type: ignore[attr-defined]
    return write


def _canonicalise(function: Any) -> None:
    """Canonicalise the blocks of a function; variable lifetimes are computed on demand and not after each pass."""
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


@register_pass(mutates_CFG=True, analysis_only=False)
class _Processing(IRProcessing):  # type: ignore[misc]
    """numba's pass ``IRProcessing`` without variable lifetimes."""

    _name = "quick_ir_processing"

    def run_pass(self, state: Any) -> bool:
        """Canonicalise the control flow."""
        _canonicalise(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Rewriting(GenericRewrites):  # type: ignore[misc]
    """numba's pass ``GenericRewrites`` without variable lifetimes."""

    _name = "quick_generic_rewrites"

    def run_pass(self, state: Any) -> bool:
        """Apply the rewrites that precede type inference."""
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for label in tuple(blocks):
                while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()
        _canonicalise(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _SingleAssignment(ReconstructSSA):  # type: ignore[misc]
    """numba's pass ``ReconstructSSA`` without variable lifetimes."""

    _name = "quick_reconstruct_ssa"

    def run_pass(self, state: Any) -> bool:
        """Bring the function into static single assignment form."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        _canonicalise(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _WithoutPhis(PreLowerStripPhis):  # type: ignore[misc]
    """numba's pass ``PreLowerStripPhis``, after which variable lifetimes are computed."""

    _name = "quick_strip_phis"

    def run_pass(self, state: Any) -> bool:
        """Replace phi nodes by assignments."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        _canonicalise(state.func_ir)
        return True


#: Replacements by numba's pass; unlike numba's they do not handle generators, which device code does not have.
QUICK_PASSES: dict[type, type] = {
    IRProcessing: _Processing,
    GenericRewrites: _Rewriting,
    ReconstructSSA: _SingleAssignment,
    PreLowerStripPhis: _WithoutPhis,
}


class _QuickFlags(Flags):  # type: ignore[misc]
    """Compiler flags that list their values without one lookup by name for each."""

    __slots__ = ()

    def values(self) -> dict[str, Any]:
        """Return the values of all flags."""
        return {**_DEFAULTS, **self._values}


_QuickFlags.__name__ = Flags.__name__  # the class name becomes part of symbol names
_DEFAULTS = {name: option.default for name, option in Flags.options.items()}


def make_flags_quick(flags: Any) -> None:
    """Make the flags of one compilation list their values faster."""
    flags.__class__ = _QuickFlags
