"""Optimisations that numba-cuda-mlir leaves out between a kernel's MLIR module and its translation to NVVM.

Variables assigned more than once live in stack memory, and array descriptors carry an offset and all strides. Without
these passes, kernels of many arrays need twice the registers and spill a thousand bytes.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from numba_cuda_mlir import mlir_optimization
    from numba_cuda_mlir._mlir import ir
    from numba_cuda_mlir._mlir.dialects import llvm
    from numba_cuda_mlir.mlir.util import find_ops
except ImportError as error:
    raise ImportError(f"this needs numba-cuda-mlir: pip install 'diffloom-core[cuda-mlir]' ({error})") from error

_passes = mlir_optimization.get_base_pipeline
_finish = mlir_optimization.run_pre_codegen_patterns

#: Rank and memory order of an array in the mangled name of a kernel.
_ARRAY = re.compile(r"5ArrayI.*?Li(\d+)E1([ACF])")


def pipeline() -> str:
    """Return the pass pipeline of a module, with mem2reg before identical blocks are merged.

    After merging, the identity of a variable depends on the control flow, and mem2reg fails.
    """
    return str(_passes()).replace("builtin.module(", "builtin.module(gpu.module(any(mem2reg)),", 1)


def finish(module: Any) -> None:
    """Apply the last changes to a module, after numba-cuda-mlir's own, when functions are inlined."""
    _finish(module)
    functions = {each.sym_name.value: each for each in _find_all(module, llvm.LLVMFuncOp) if each.regions[0].blocks}
    kernels = [each for each in functions.values() if "gpu.kernel" in each.attributes]
    if not kernels:
        return  # a device function compiled on its own
    _erase_unreached(functions, {each.sym_name.value for each in kernels})
    for kernel in kernels:
        _allocate_at_start(kernel)
        _fix_layouts(kernel)


def _erase_unreached(functions: dict[str, Any], needed: set[str]) -> None:
    """Erase functions that no kernel reaches; they exist for external callers, and there are none."""
    waiting = list(needed)
    while waiting:
        for call in _find_all(functions[waiting.pop()], llvm.CallOp):
            name = call.callee.value if call.callee is not None else None
            if name in functions and name not in needed:
                needed.add(name)
                waiting.append(name)
    for name in functions.keys() - needed:
        functions[name].erase()


def _allocate_at_start(function: Any) -> None:
    """Move allocas of constant size to the entry block.

    Allocas of inlined functions are in the middle of the caller, where LLVM does not promote them to registers.
    """
    for allocated in _find_all(function, llvm.AllocaOp):
        size, first = allocated.arraySize.owner, function.regions[0].blocks[0].operations[0]
        if isinstance(size.opview, llvm.ConstantOp):
            if size != first.operation:
                size.move_before(first)
            allocated.move_after(size)


def _fix_layouts(kernel: Any) -> None:
    """Replace offset and last stride of the kernel's C-ordered arrays by the constants 0 and 1, which saves
    multiplications.
    """
    kinds = [kind.value for kind in kernel.attributes["numba_cuda_mlir.orig_arg_types"]]
    named = _ARRAY.findall(kernel.sym_name.value)
    if [str(kind.rank) for kind in kinds if isinstance(kind, ir.MemRefType)] != [axes for axes, _ in named]:
        return  # arrays inside tuples, which generated kernels do not take
    orders = iter([order for _, order in named])
    block = kernel.regions[0].blocks[0]
    place = 0
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        for kind in kinds:
            if not isinstance(kind, ir.MemRefType):
                place += 1
                continue
            # A memref descriptor: two pointers, offset, sizes, strides.
            if next(orders) == "C":
                _replace_by_constant(block.arguments[place + 2], 0)
                _replace_by_constant(block.arguments[place + 2 + 2 * kind.rank], 1)
            place += 3 + 2 * kind.rank


def _replace_by_constant(argument: Any, value: int) -> None:
    """Replace an argument by a constant."""
    whole = ir.IntegerType.get_signless(64)
    argument.replace_all_uses_with(llvm.ConstantOp(whole, ir.IntegerAttr.get(whole, value)).result)


def _find_all(operation: Any, kind: type) -> list[Any]:
    """Return all operations of a kind inside an operation."""
    found: list[Any] = find_ops(operation, lambda each: isinstance(each, kind))
    return found
