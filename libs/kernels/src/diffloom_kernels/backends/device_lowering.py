"""Lowering of device functions with a direct calling convention, which is quick to emit and to optimise.

numba's calling convention splits each array into nine scalars, returns through memory and returns an error status. A
device function that is always inlined needs none of that: it takes its arguments as LLVM values and returns its result.
That halves the code. numba's convention is kept for functions that might raise: a range with a step that might be zero,
an index into a tuple, a call of a function that is not inlined.

This relies on private parts of numba as ``whole_program`` does, which names the tests of both.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core.types.iterators import RangeType

from .numba_internals import (
    CPUCallConv,
    Lower,
    LoweringPass,
    LowerResult,
    PythonFunctionDescriptor,
    itanium_mangler,
    register_pass,
    user_function,
)
from .quick_numba import QuickContext

#: Arguments of numba's error for a range whose step is zero.
_NO_STEP = ("range() arg 3 must not be zero",)


class _MightRaiseError(Exception):
    """Signal that the function needs numba's calling convention."""


class _Direct(CPUCallConv):  # type: ignore[misc]
    """Calling convention that returns results directly and cannot raise.

    Arguments are split into scalars, so that LLVM can drop unread ones from functions that are not inlined.
    """

    def get_function_type(self, restype: Any, argtypes: Any) -> Any:
        """Return the LLVM type of a function."""
        kinds = self._get_arg_packer(argtypes).argument_types
        return ir.FunctionType(self.context.get_return_type(restype), kinds)

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        """Leave the function's attributes unchanged."""

    def get_arguments(self, func: Any) -> Any:
        """Return the LLVM arguments of a function."""
        return func.args

    def return_value(self, builder: Any, retval: Any) -> None:
        """Emit the return of a value."""
        builder.ret(retval)

    def call_function(self, *given: Any, **named: Any) -> Any:
        """Refuse a call by numba's convention, which may raise."""
        raise _MightRaiseError

    def return_user_exc(self, builder: Any, exc: Any, exc_args: Any = None, **named: Any) -> None:
        """Refuse to raise, except for the zero-step check that numba emits even for one-argument ``range``: it is
        unreachable.
        """
        if exc_args != _NO_STEP or _has_steps(self.context.fndesc):
            raise _MightRaiseError
        builder.unreachable()

    return_dynamic_user_exc = return_status_propagate = call_function
    set_static_user_exc = set_dynamic_user_exc = _return_errcode_raw = call_function


class _Whole(_Direct):
    """Direct convention that passes arguments as whole LLVM values, for inlined functions."""

    def get_function_type(self, restype: Any, argtypes: Any) -> Any:
        """Return the LLVM type of a function."""
        kinds = [self.context.get_value_type(kind) for kind in argtypes]
        return ir.FunctionType(self.context.get_return_type(restype), kinds)

    def decode_arguments(self, builder: Any, argtypes: Any, func: Any) -> Any:
        """Return the arguments, which need no decoding."""
        return func.args


class _DirectContext(QuickContext):
    """Target context with the direct calling convention."""

    @property
    def call_conv(self) -> Any:
        """Calling convention of the function that is being lowered."""
        return (_Whole if self.fndesc.inline else _Direct)(self)


class _DirectLower(Lower):  # type: ignore[misc]
    """Lowering of one function by the direct convention; raises ``_MightRaiseError`` where it does not apply."""

    def init(self) -> None:
        """Set up the lowering."""
        super().init()
        self.context.__class__ = _DirectContext  # each function has its own copy of the context

    def emit_environment_object(self) -> None:
        """Emit no environment, because the function does not use one."""

    def _find_singly_assigned_variable(self) -> None:
        """Find variables that are assigned once and used in that block alone, from the known variable lifetimes."""
        used_elsewhere = set().union(*self.func_ir.variable_lifetime.usedefs.usemap.values())
        single = {name for name, definitions in self.func_ir._definitions.items() if len(definitions) == 1}
        self._singly_assigned_vars = single - used_elsewhere
        self._blk_local_varmap: dict[str, Any] = {}


@register_pass(mutates_CFG=True, analysis_only=False)
class DeviceLowering(LoweringPass):  # type: ignore[misc]
    """Replacement of numba's pass ``NativeLowering`` for device functions."""

    _name = "device_lowering"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Lower the function, with the direct convention if it cannot raise."""
        context, library = state.targetctx, state.library
        library._reload_init.update(state.reload_init)
        fndesc = PythonFunctionDescriptor.from_specialized_function(
            state.func_ir, state.typemap, state.return_type, state.calltypes, mangler=_short_name,
            inline=state.flags.forceinline, noalias=state.flags.noalias, abi_tags=(),
        )  # fmt: skip
        with context.push_code_library(library):
            try:
                lower = _DirectLower(context, library, fndesc, state.func_ir, metadata=state.metadata)
                lower.lower()
                call = _direct_call(fndesc)
            except _MightRaiseError:
                lower = Lower(context, library, fndesc, state.func_ir, metadata=state.metadata)
                lower.lower()
                call = user_function(fndesc, (library,))
        call.signature, call.libs = fndesc.argtypes, (library,)
        function = context.get_executable(library, fndesc, lower.env)
        context._defns[function].append(call, call.signature)
        # Free the results of type inference, because they keep the whole function alive.
        fndesc.typemap = fndesc.calltypes = None
        state.reload_init.extend(library._reload_init)
        state["cr"] = LowerResult(fndesc, lower.call_helper, cfunc=function, env=lower.env)
        return True


def _has_steps(fndesc: Any) -> bool:
    """Return True if a function calls ``range`` with a step."""
    made = [signature for signature in fndesc.calltypes.values() if signature is not None]
    return any(isinstance(s.return_type, RangeType) and len(s.args) == 3 for s in made)


def _short_name(name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """Return a unique symbol name that does not encode argument types, because numba's mangling takes long."""
    kind = "environment" if name.startswith(".NumbaEnv") else "device"
    short: str = itanium_mangler.mangle(f"{kind}.{name.rpartition('.')[2]}", (), uid=uid)
    return short


def _direct_call(fndesc: Any) -> Any:
    """Return the implementation by which other functions call a directly lowered one."""

    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        convention = (_Whole if fndesc.inline else _Direct)(context)
        function = builder.module.globals.get(fndesc.mangled_name)
        if function is None:
            kind = convention.get_function_type(fndesc.restype, fndesc.argtypes)
            function = ir.Function(builder.module, kind, fndesc.mangled_name)
        if not fndesc.inline:
            args = convention._get_arg_packer(fndesc.argtypes).as_arguments(builder, args)
        return context.get_returned_value(builder, fndesc.restype, builder.call(function, args))

    return call
