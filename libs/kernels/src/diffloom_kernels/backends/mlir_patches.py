"""Monkeypatches for faults and gaps of numba-cuda-mlir 0.6.0 in device functions.

All patched names are private to that release, so the packages pin it. If tests of
``libs/kernels/tests/test_cuda_compilers.py`` fail with a later release, check first whether each patch is still needed.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

try:
    from numba_cuda_mlir import descriptor, mlir_lowering, mlir_optimization, models, types as mlir_types
    from numba_cuda_mlir.numba_cuda.core import ir
    from numba_cuda_mlir.numbair_transforms import NumbaCudaMlirInlineInlinables as Inlining
except ImportError as error:
    raise ImportError(f"this needs numba-cuda-mlir: pip install 'diffloom-core[cuda-mlir]' ({error})") from error

from . import mlir_modules

_allocate_numbers = mlir_lowering.MLIRLower.allocate_stack_space_for_vars_with_multiple_assigns
_compile_whole = descriptor.MLIRDispatcher._compile_public
_inline = Inlining._do_work

_answers: dict[Any, Any] = {}


@functools.cache
def apply() -> None:
    """Apply the patches, once per process."""
    mlir_lowering.MLIRLower.allocate_stack_space_for_vars_with_multiple_assigns = _allocate
    descriptor.MLIRDispatcher._compile_public = _compile
    Inlining._do_work = _inline_calls_of_many
    models.UniTupleModel.from_return = _from_return
    mlir_optimization.get_base_pipeline = mlir_modules.pipeline
    mlir_optimization.run_pre_codegen_patterns = mlir_modules.finish


def _allocate(self: Any, counts: dict[str, int]) -> None:
    """Allocate stack slots for variables that are assigned more than once.

    numba-cuda-mlir treats a homogeneous tuple of tuples as a tuple of numbers here; it gets the slot of a general
    tuple.
    """
    rest = dict(counts)
    for name, count in counts.items():
        kind = self.get_numba_type(name) if count > 1 else None
        if isinstance(kind, mlir_types.UniTuple) and isinstance(kind.dtype, mlir_types.BaseTuple):
            self.varmap[name] = self._allocate_stack_slot_for_type(kind)
            del rest[name]
    _allocate_numbers(self, rest)


def _compile(self: Any, signature: Any, abi_info: Any = None, output: Any = None) -> Any:
    """Compile a function, memoised for device functions.

    numba-cuda-mlir compiles the implementation that an overload returns to machine code at every call, although it then
    inlines its MLIR into the caller: here the MLIR is made once.
    """
    if abi_info is None or output is not None or not self.targetoptions.get("device"):
        return _compile_whole(self, signature, abi_info=abi_info, output=output)
    key = (self.py_func, abi_info["abi_name"])  # the mangled name encodes the types
    if key not in _answers:
        _answers[key] = self._compile_device_callee(signature, abi_name=abi_info["abi_name"])
    return _answers[key]


def _from_return(self: Any, builder: Any, value: Any) -> Any:
    """Return a call's result as a homogeneous tuple; numba-cuda-mlir returns the bare entry for tuples of length
    one.
    """
    return self.from_data(builder, value if isinstance(value, tuple | list) else (value,))


def _inline_calls_of_many(self: Any, state: Any, work_list: Any, block: Any, i: int, expr: Any, worker: Any) -> Any:
    """Inline a call with more than 30 arguments.

    CPython builds a tuple ``*args`` for them, which numba-cuda-mlir refuses to inline; the entries of a known tuple
    become the arguments.
    """
    if expr.op == "call" and expr.vararg is not None:
        entries = _entries(state.func_ir, expr.vararg)
        if entries is not None:
            expr._kws["args"] = (*expr.args, *entries)
            expr._kws["vararg"] = None
    return _inline(self, state, work_list, block, i, expr, worker)


def _entries(function: Any, value: Any) -> list[Any] | None:
    """Return the variables of a tuple that is built in place or as a sum of tuples; None for any other value."""
    try:
        made = function.get_definition(value)
    except KeyError:
        return None
    match made:
        case ir.Expr(op="build_tuple"):
            return list(made.items)
        case ir.Expr(op="binop", fn=operator.add):
            first, second = _entries(function, made.lhs), _entries(function, made.rhs)
            return None if first is None or second is None else first + second
    return None
