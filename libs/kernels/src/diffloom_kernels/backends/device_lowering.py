"""Writing device functions as LLVM code that is quick to make and to optimise.

numba's functions take arrays apart into nine numbers each, return through memory and hand on whether they raised. A
device function that is always written out in its callers needs none of that: here it takes its arguments as they are
and returns its result. That leaves about half the code. Where something in it might raise (a range whose step might be
zero, an index into a tuple, a call of a function that is not written out), numba's convention is kept.

This stands on private parts of numba as ``whole_program`` does, where the tests of both are named.
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

#: What numba says of a range whose step is zero.
_NO_STEP = ("range() arg 3 must not be zero",)


class _MightRaiseError(Exception):
    """The function has to be written by numba's convention."""


class _Direct(CPUCallConv):  # type: ignore[misc]
    """Results as they are, and no way to raise. Arguments are taken apart, so that the optimiser can leave out what
    nobody reads where the function is really called."""

    def get_function_type(self, restype: Any, argtypes: Any) -> Any:
        kinds = self._get_arg_packer(argtypes).argument_types
        return ir.FunctionType(self.context.get_return_type(restype), kinds)

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        """Nothing."""

    def get_arguments(self, func: Any) -> Any:
        return func.args

    def return_value(self, builder: Any, retval: Any) -> None:
        builder.ret(retval)

    def call_function(self, *given: Any, **named: Any) -> Any:
        """What is called by numba's convention may raise."""
        raise _MightRaiseError

    def return_user_exc(self, builder: Any, exc: Any, exc_args: Any = None, **named: Any) -> None:
        """Every range asks whether its step is zero, also where nobody gave it one."""
        if exc_args != _NO_STEP or _has_steps(self.context.fndesc):
            raise _MightRaiseError
        builder.unreachable()

    return_dynamic_user_exc = return_status_propagate = call_function
    set_static_user_exc = set_dynamic_user_exc = _return_errcode_raw = call_function


class _Whole(_Direct):
    """The same with arguments as they are: for functions that are written out where they are called."""

    def get_function_type(self, restype: Any, argtypes: Any) -> Any:
        kinds = [self.context.get_value_type(kind) for kind in argtypes]
        return ir.FunctionType(self.context.get_return_type(restype), kinds)

    def decode_arguments(self, builder: Any, argtypes: Any, func: Any) -> Any:
        return func.args


class _DirectContext(QuickContext):
    """What numba knows of the processor, with a convention of ours."""

    @property
    def call_conv(self) -> Any:
        return (_Whole if self.fndesc.inline else _Direct)(self)


class _DirectLower(Lower):  # type: ignore[misc]
    """Writes a function by a direct convention, or gives up."""

    def init(self) -> None:
        super().init()
        self.context.__class__ = _DirectContext  # a copy that every function has of its own

    def emit_environment_object(self) -> None:
        """None: nothing asks for it."""

    def _find_singly_assigned_variable(self) -> None:
        """Note the variables that are assigned once and used in that block alone, from what is known of their lives."""
        used_elsewhere = set().union(*self.func_ir.variable_lifetime.usedefs.usemap.values())
        single = {name for name, definitions in self.func_ir._definitions.items() if len(definitions) == 1}
        self._singly_assigned_vars = single - used_elsewhere
        self._blk_local_varmap: dict[str, Any] = {}


@register_pass(mutates_CFG=True, analysis_only=False)
class DeviceLowering(LoweringPass):  # type: ignore[misc]
    """numba's ``NativeLowering`` for device functions."""

    _name = "device_lowering"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Write the function, directly where it cannot raise."""
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
        # What typing found out is kept no longer than it is needed: it holds on to the whole of the function.
        fndesc.typemap = fndesc.calltypes = None
        state.reload_init.extend(library._reload_init)
        state["cr"] = LowerResult(fndesc, lower.call_helper, cfunc=function, env=lower.env)
        return True


def _has_steps(fndesc: Any) -> bool:
    """Whether a function has a range with steps."""
    made = [signature for signature in fndesc.calltypes.values() if signature is not None]
    return any(isinstance(s.return_type, RangeType) and len(s.args) == 3 for s in made)


def _short_name(name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """A name that only this compilation has. numba's tells all types, which takes longer to write than the code."""
    kind = "environment" if name.startswith(".NumbaEnv") else "device"
    short: str = itanium_mangler.mangle(f"{kind}.{name.rpartition('.')[2]}", (), uid=uid)
    return short


def _direct_call(fndesc: Any) -> Any:
    """How other functions call one that was written directly."""

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
