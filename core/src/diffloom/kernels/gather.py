"""Summing slot rows at a node: the other half of writing slots.

``rows`` is the slots array seen as (elements x corners, 4), contiguous; a row is one vector load on the CPU.

    acc = row_zero(rows)
    for k in range(start[i], start[i + 1]):
        acc = row_add(acc, rows, slot[k])
    f = row_vec3(acc)
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from .device import DEVICE_OPTIONS
from .lanes.types import FloatLanes


def row_zero(rows):
    """An empty sum."""
    zero = rows.dtype.type(0)
    return (zero, zero, zero)


def row_add(acc, rows, s):
    """The sum ``acc`` plus row s."""
    return (acc[0] + rows[s, 0], acc[1] + rows[s, 1], acc[2] + rows[s, 2])


def row_vec3(acc):
    """The sum as a vec3."""
    return acc


@overload(row_zero, jit_options=DEVICE_OPTIONS)
def _row_zero(rows):
    return row_zero


@overload(row_add, jit_options=DEVICE_OPTIONS)
def _row_add(acc, rows, s):
    return row_add


@overload(row_vec3, jit_options=DEVICE_OPTIONS)
def _row_vec3(acc):
    return row_vec3


@intrinsic
def _vector_zero(typingctx, rows):
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(rows), codegen


@intrinsic
def _vector_load(typingctx, rows, s):
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        data = context.make_array(rows)(context, builder, args[0]).data
        entry = builder.gep(data, [builder.shl(args[1], ir.Constant(args[1].type, 2))])
        pointer = builder.bitcast(entry, context.get_value_type(lanes).as_pointer())
        return builder.load(pointer, align=rows.dtype.bitwidth // 8)

    return lanes(rows, types.int64), codegen


@intrinsic
def _vector_vec3(typingctx, acc):
    def codegen(context, builder, sig, args):
        values = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(3)]
        return context.make_tuple(builder, sig.return_type, values)

    return types.UniTuple(acc.dtype, 3)(acc), codegen


def _is_rows(rows) -> bool:
    return isinstance(rows, types.Array) and rows.ndim == 2 and rows.layout == "C"


# numba prefers these to the overloads above where the target is the CPU.
@overload(row_zero, jit_options=DEVICE_OPTIONS, target="cpu")
def _cpu_row_zero(rows):
    return (lambda rows: _vector_zero(rows)) if _is_rows(rows) else None


@overload(row_add, jit_options=DEVICE_OPTIONS, target="cpu")
def _cpu_row_add(acc, rows, s):
    if _is_rows(rows) and isinstance(acc, FloatLanes):
        return lambda acc, rows, s: acc + _vector_load(rows, s)
    return None


@overload(row_vec3, jit_options=DEVICE_OPTIONS, target="cpu")
def _cpu_row_vec3(acc):
    return (lambda acc: _vector_vec3(acc)) if isinstance(acc, FloatLanes) else None
