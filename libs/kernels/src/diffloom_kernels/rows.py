"""A vec3 held as one row of four entries: on the CPU a single register, elsewhere a tuple.

For work at nodes, which are visited one by one: a node loads, sums and stores whole rows.

    total = row_sum(rows, slots, start[i], start[i + 1])        # rows: the slots of all elements as (..., 4)
    row_store(u_next, i, row_fma(total, dt, row_load(u, i)))
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .functions import fma
from .language import device, overloaded
from .rowtypes import KnownRows
from .simd.arrays import address
from .simd.rows import load_row, store_row
from .simd.types import FloatLanes, SceneNode


def row_zero(rows):
    """An empty sum."""
    zero = rows.dtype.type(0)
    return (zero, zero, zero)


def row_accumulate(acc, rows, s):
    """The sum ``acc`` plus row s."""
    return (acc[0] + rows[s, 0], acc[1] + rows[s, 1], acc[2] + rows[s, 2])


def row_sum(rows, slots, start, end):
    """The sum of the rows slots[start:end], an even number of them.

    Two sums side by side, which a processor need not wait for in turn, and no odd one to ask for at the end.
    """
    even = row_zero(rows)
    odd = row_zero(rows)
    for s in range(start, end, 2):
        even = row_accumulate(even, rows, slots[s])
        odd = row_accumulate(odd, rows, slots[s + 1])
    return row_add(even, odd)


def row_vec3(row):
    """The row as a vec3."""
    return row


def row_from_vec3(v):
    """The vec3 v as a row."""
    return v


def row_load(a, i):
    """a[i, 0:3] of an array (nodes, 3 or 4)."""
    return (a[i, 0], a[i, 1], a[i, 2])


def row_store(a, i, row):
    """a[i, 0:3] = row; a fourth column becomes anything."""
    a[i, 0] = row[0]
    a[i, 1] = row[1]
    a[i, 2] = row[2]


def row_add(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def row_scale(a, s):
    """a s, with s a scalar."""
    return (a[0] * s, a[1] * s, a[2] * s)


def row_fma(a, s, b):
    """a s + b, with s a scalar."""
    return (fma(a[0], s, b[0]), fma(a[1], s, b[1]), fma(a[2], s, b[2]))


#: The plain functions compile as they stand; numba prefers what follows below for the CPU.
_AS_THEY_STAND = {
    row_zero: lambda rows: row_zero,
    row_accumulate: lambda acc, rows, s: row_accumulate,
    row_sum: lambda rows, slots, start, end: row_sum,
    row_vec3: lambda row: row_vec3,
    row_from_vec3: lambda v: row_from_vec3,
    row_load: lambda a, i: row_load,
    row_store: lambda a, i, row: row_store,
    row_add: lambda a, b: row_add,
    row_scale: lambda a, s: row_scale,
    row_fma: lambda a, s, b: row_fma,
}
for _function, _rule in _AS_THEY_STAND.items():
    overloaded(_function)(_rule)


def _on_cpu(function):
    return overloaded(function, target="cpu")


@intrinsic
def _zero(typingctx, rows):
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(rows), codegen


@intrinsic
def _load(typingctx, rows, s):
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        return load_row(context, builder, rows, args[0], args[1])

    return lanes(rows, types.int64), codegen


@intrinsic
def _store(typingctx, a, i, row):
    def codegen(context, builder, sig, args):
        store_row(context, builder, a, args[0], args[1], args[2])
        return context.get_dummy_value()

    return types.none(a, types.int64, row), codegen


@intrinsic
def _entry(typingctx, slots, s):
    """slots[s] for s that is not negative, which numba would ask first."""

    def codegen(context, builder, sig, args):
        entry = builder.load(address(context, builder, slots, args[0], [args[1]]))
        return context.cast(builder, entry, slots.dtype, types.int64)

    return types.int64(slots, types.int64), codegen


@intrinsic
def _vec3(typingctx, row):
    def codegen(context, builder, sig, args):
        values = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(3)]
        return context.make_tuple(builder, sig.return_type, values)

    return types.UniTuple(row.dtype, 3)(row), codegen


@intrinsic
def _packed(typingctx, v):
    lanes = FloatLanes(v[0], 4)

    def codegen(context, builder, sig, args):
        # The last entry is anything: taking a row apart and putting it together again then costs nothing.
        row = ir.Constant(ir.VectorType(context.get_value_type(v[0]), 4), ir.Undefined)
        for k in range(3):
            row = builder.insert_element(row, builder.extract_value(args[0], k), ir.Constant(ir.IntType(32), k))
        return row

    return lanes(v), codegen


@_on_cpu(row_zero)
def _cpu_zero(rows):
    return lambda rows: _zero(rows)


@_on_cpu(row_accumulate)
def _cpu_accumulate(acc, rows, s):
    if isinstance(rows, KnownRows):
        return lambda acc, rows, s: acc + _load(rows, s)
    return lambda acc, rows, s: acc + _packed((rows[s, 0], rows[s, 1], rows[s, 2]))


@_on_cpu(row_sum)
def _cpu_sum(rows, slots, start, end):
    def implementation(rows, slots, start, end):
        even = row_zero(rows)
        odd = row_zero(rows)
        s = start
        while s < end:
            even = row_accumulate(even, rows, _entry(slots, s))
            odd = row_accumulate(odd, rows, _entry(slots, s + 1))
            s += 2
        return even + odd

    return implementation


def _many(*kinds) -> bool:
    """Whether one of these is a vec3 of scenes side by side: their numbers fill registers as they are."""
    return any(isinstance(kind, types.BaseTuple) and any(isinstance(k, FloatLanes) for k in kind) for kind in kinds)


@_on_cpu(row_vec3)
def _cpu_vec3(row):
    return row_vec3 if isinstance(row, types.BaseTuple) else lambda row: _vec3(row)


@_on_cpu(row_from_vec3)
def _cpu_from_vec3(v):
    return row_from_vec3 if _many(v) else lambda v: _packed(v)


@_on_cpu(row_load)
def _cpu_load(a, i):
    if isinstance(i, SceneNode):
        return row_load
    if isinstance(a, KnownRows):
        return lambda a, i: _load(a, i)
    return lambda a, i: _packed((a[i, 0], a[i, 1], a[i, 2]))


@_on_cpu(row_store)
def _cpu_store(a, i, row):
    if isinstance(i, SceneNode):
        return lambda a, i, row: _entries(a, i, row_vec3(row))
    if isinstance(a, KnownRows):
        return lambda a, i, row: _store(a, i, row)

    def entries(a, i, row):
        v = _vec3(row)
        a[i, 0] = v[0]
        a[i, 1] = v[1]
        a[i, 2] = v[2]

    return entries


@_on_cpu(row_add)
def _cpu_add(a, b):
    if _many(a, b):
        return lambda a, b: _plus(row_vec3(a), row_vec3(b))
    return lambda a, b: a + b


@_on_cpu(row_scale)
def _cpu_scale(a, s):
    return row_scale if _many(a) else lambda a, s: a * s


@_on_cpu(row_fma)
def _cpu_fma(a, s, b):
    if _many(a, b):
        return lambda a, s, b: _fused(row_vec3(a), s, row_vec3(b))
    return lambda a, s, b: fma(a, s, b)


@device
def _plus(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@device
def _fused(a, s, b):
    return (fma(a[0], s, b[0]), fma(a[1], s, b[1]), fma(a[2], s, b[2]))


@device
def _entries(a, i, v):
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
