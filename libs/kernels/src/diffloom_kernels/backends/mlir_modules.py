"""What numba-cuda-mlir leaves undone between a kernel's module in MLIR and its translation for CUDA's own compiler.

Variables that are assigned more than once have memory of their own, and arrays come with an offset and all strides.
Left at that, kernels of many arrays need twice the registers, and a thousand bytes of memory where there are none left.
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

#: How an array's axes and order stand in the name of a kernel that takes it.
_ARRAY = re.compile(r"5ArrayI.*?Li(\d+)E1([ACF])")


def pipeline() -> str:
    """The passes over a module. Variables leave their memory first: once blocks that differ in nothing else are one,
    which of two variables one means is known only when it runs."""
    return str(_passes()).replace("builtin.module(", "builtin.module(gpu.module(any(mem2reg)),", 1)


def finish(module: Any) -> None:
    """The last changes to a module, numba-cuda-mlir's own first: functions are written out in their callers by now."""
    _finish(module)
    functions = {each.sym_name.value: each for each in _all(module, llvm.LLVMFuncOp) if each.regions[0].blocks}
    kernels = [each for each in functions.values() if "gpu.kernel" in each.attributes]
    if not kernels:
        return  # a device function by itself, for others to call
    _keep(functions, {each.sym_name.value for each in kernels})
    for kernel in kernels:
        _allocate_at_start(kernel)
        _settle_layouts(kernel)


def _keep(functions: dict[str, Any], needed: set[str]) -> None:
    """Drop functions that no kernel reaches: they stand there for others to link to, and nobody does."""
    waiting = list(needed)
    while waiting:
        for call in _all(functions[waiting.pop()], llvm.CallOp):
            name = call.callee.value if call.callee is not None else None
            if name in functions and name not in needed:
                needed.add(name)
                waiting.append(name)
    for name in functions.keys() - needed:
        functions[name].erase()


def _allocate_at_start(function: Any) -> None:
    """Bring memory of fixed size, such as a tuple's, to the function's first block. What was a called function's own
    lies in the midst of its caller, where the optimiser does not take it into registers."""
    for allocated in _all(function, llvm.AllocaOp):
        size, first = allocated.arraySize.owner, function.regions[0].blocks[0].operations[0]
        if isinstance(size.opview, llvm.ConstantOp):
            if size != first.operation:
                size.move_before(first)
            allocated.move_after(size)


def _settle_layouts(kernel: Any) -> None:
    """Say of the arrays that a kernel is given in C's order what is known of them: they begin where they are said to
    lie, and their last axis is dense. Else every place in them is found by multiplying with numbers of the launch."""
    kinds = [kind.value for kind in kernel.attributes["numba_cuda_mlir.orig_arg_types"]]
    named = _ARRAY.findall(kernel.sym_name.value)
    if [str(kind.rank) for kind in kinds if isinstance(kind, ir.MemRefType)] != [axes for axes, _ in named]:
        return  # arrays in tuples, which kernels of ours are not given
    orders = iter([order for _, order in named])
    block = kernel.regions[0].blocks[0]
    place = 0
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        for kind in kinds:
            if not isinstance(kind, ir.MemRefType):
                place += 1
                continue
            # Two places in memory, where the first entry is from there, lengths, strides.
            if next(orders) == "C":
                _settle(block.arguments[place + 2], 0)
                _settle(block.arguments[place + 2 + 2 * kind.rank], 1)
            place += 3 + 2 * kind.rank


def _settle(argument: Any, value: int) -> None:
    whole = ir.IntegerType.get_signless(64)
    argument.replace_all_uses_with(llvm.ConstantOp(whole, ir.IntegerAttr.get(whole, value)).result)


def _all(operation: Any, kind: type) -> list[Any]:
    found: list[Any] = find_ops(operation, lambda each: isinstance(each, kind))
    return found
