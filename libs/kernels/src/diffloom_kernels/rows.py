"""Rows: a vec3 padded to four entries, held in one SIMD register on the CPU and as a tuple elsewhere.

They serve passes over nodes, which are visited one by one: a node loads, sums and stores whole rows.

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
from .tangents.types import Dual


def row_zero(rows):
    """Return a row of zeros.

    Args:
        rows: Array whose dtype the row has.
    """
    zero = rows.dtype.type(0)
    return (zero, zero, zero)


def row_accumulate(acc, rows, s):
    """Return ``acc`` plus row s of ``rows``.

    Args:
        acc: Row.
        rows: Array (count, 3 or 4).
        s: Number of the row to add.
    """
    return (acc[0] + rows[s, 0], acc[1] + rows[s, 1], acc[2] + rows[s, 2])


def row_sum(rows, slots, start, end):
    """Return the sum of the rows slots[start:end] of ``rows``.

    Two partial sums halve the dependency chain, and the even count needs no remainder iteration.

    Args:
        rows: Array (count, 4).
        slots: Numbers of rows.
        start: First entry of ``slots``.
        end: End of the entries; end - start must be even.
    """
    even = row_zero(rows)
    odd = row_zero(rows)
    for s in range(start, end, 2):
        even = row_accumulate(even, rows, slots[s])
        odd = row_accumulate(odd, rows, slots[s + 1])
    return row_add(even, odd)


def row_vec3(row):
    """Return a row as a vec3.

    Args:
        row: Row.
    """
    return row


def row_from_vec3(v):
    """Return a vec3 as a row; the fourth entry is undefined.

    Args:
        v: vec3.
    """
    return v


def row_load(a, i):
    """Return a[i, 0:3] as a row.

    Args:
        a: Array (nodes, 3 or 4).
        i: Number of the row, or a scene node.
    """
    return (a[i, 0], a[i, 1], a[i, 2])


def row_store(a, i, row):
    """Store a[i, 0:3] = row; a fourth column becomes undefined.

    Args:
        a: Array (nodes, 3 or 4).
        i: Number of the row, or a scene node.
        row: Row to store.
    """
    a[i, 0] = row[0]
    a[i, 1] = row[1]
    a[i, 2] = row[2]


def row_add(a, b):
    """Return a + b.

    Args:
        a: Row.
        b: Row.
    """
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def row_scale(a, s):
    """Return a s.

    Args:
        a: Row.
        s: Scalar.
    """
    return (a[0] * s, a[1] * s, a[2] * s)


def row_fma(a, s, b):
    """Return a s + b, fused.

    Args:
        a: Row.
        s: Scalar.
        b: Row.
    """
    return (fma(a[0], s, b[0]), fma(a[1], s, b[1]), fma(a[2], s, b[2]))


#: Rules that compile the plain functions on every target; numba prefers the CPU overloads below.
_PORTABLE_RULES = {
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
for _function, _rule in _PORTABLE_RULES.items():
    overloaded(_function)(_rule)


def _on_cpu(function):
    """Return the decorator that overloads a function on the CPU alone."""
    return overloaded(function, target="cpu")


@intrinsic
def _zero(typingctx, rows):
    """Emit a zero vector of four."""
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(rows), codegen


@intrinsic
def _load(typingctx, rows, s):
    """Emit the vector load of row s."""
    lanes = FloatLanes(rows.dtype, 4)

    def codegen(context, builder, sig, args):
        return load_row(context, builder, rows, args[0], args[1])

    return lanes(rows, types.int64), codegen


@intrinsic
def _store(typingctx, a, i, row):
    """Emit the vector store of row i."""
    def codegen(context, builder, sig, args):
        store_row(context, builder, a, args[0], args[1], args[2])
        return context.get_dummy_value()

    return types.none(a, types.int64, row), codegen


@intrinsic
def _entry(typingctx, slots, s):
    """Emit slots[s] without numba's wraparound of negative indices."""

    def codegen(context, builder, sig, args):
        entry = builder.load(address(context, builder, slots, args[0], [args[1]]))
        return context.cast(builder, entry, slots.dtype, types.int64)

    return types.int64(slots, types.int64), codegen


@intrinsic
def _vec3(typingctx, row):
    """Emit the tuple of the first three entries of a vector."""
    def codegen(context, builder, sig, args):
        values = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(3)]
        return context.make_tuple(builder, sig.return_type, values)

    return types.UniTuple(row.dtype, 3)(row), codegen


@intrinsic
def _emit_packed(typingctx, v):
    """Emit a vector of four from a tuple of three."""
    lanes = FloatLanes(v[0], 4)

    def codegen(context, builder, sig, args):
        # The last entry is undefined, so that LLVM can remove an extraction followed by an insertion.
        row = ir.Constant(ir.VectorType(context.get_value_type(v[0]), 4), ir.Undefined)
        for k in range(3):
            row = builder.insert_element(row, builder.extract_value(args[0], k), ir.Constant(ir.IntType(32), k))
        return row

    return lanes(v), codegen


@_on_cpu(row_zero)
def _cpu_zero(rows):
    """Overload ``row_zero`` on the CPU."""
    return row_zero if _holds_duals(rows) else lambda rows: _zero(rows)


@_on_cpu(row_accumulate)
def _cpu_accumulate(acc, rows, s):
    """Overload ``row_accumulate`` on the CPU."""
    if _holds_duals(rows):
        return row_accumulate
    if isinstance(rows, KnownRows):
        return lambda acc, rows, s: acc + _load(rows, s)
    return lambda acc, rows, s: acc + _emit_packed((rows[s, 0], rows[s, 1], rows[s, 2]))


@_on_cpu(row_sum)
def _cpu_sum(rows, slots, start, end):
    """Overload ``row_sum`` on the CPU, without wraparound checks of the slots."""
    if _holds_duals(rows):
        return row_sum

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


def _has_lanes(*kinds) -> bool:
    """Return True if one of the types is a vec3 of float lanes, or of dual numbers, which fill whole registers."""
    found = [k for kind in kinds if isinstance(kind, types.BaseTuple) for k in kind]
    return any(isinstance(k, FloatLanes | Dual) for k in found)


def _holds_duals(array) -> bool:
    """Return True for an array of dual numbers."""
    return isinstance(array, types.Array) and isinstance(array.dtype, Dual)


@_on_cpu(row_vec3)
def _cpu_vec3(row):
    """Overload ``row_vec3`` on the CPU."""
    return row_vec3 if isinstance(row, types.BaseTuple) else lambda row: _vec3(row)


@_on_cpu(row_from_vec3)
def _cpu_from_vec3(v):
    """Overload ``row_from_vec3`` on the CPU."""
    return row_from_vec3 if _has_lanes(v) else lambda v: _emit_packed(v)


@_on_cpu(row_load)
def _cpu_load(a, i):
    """Overload ``row_load`` on the CPU."""
    if isinstance(i, SceneNode) or _holds_duals(a):
        return row_load
    if isinstance(a, KnownRows):
        return lambda a, i: _load(a, i)
    return lambda a, i: _emit_packed((a[i, 0], a[i, 1], a[i, 2]))


@_on_cpu(row_store)
def _cpu_store(a, i, row):
    """Overload ``row_store`` on the CPU."""
    if isinstance(i, SceneNode) or _holds_duals(a):
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
    """Overload ``row_add`` on the CPU."""
    if _has_lanes(a, b):
        return lambda a, b: _add3(row_vec3(a), row_vec3(b))
    return lambda a, b: a + b


@_on_cpu(row_scale)
def _cpu_scale(a, s):
    """Overload ``row_scale`` on the CPU."""
    if _has_lanes(a):
        return row_scale
    return (lambda a, s: _scaled3(row_vec3(a), s)) if isinstance(s, Dual) else lambda a, s: a * s


@_on_cpu(row_fma)
def _cpu_fma(a, s, b):
    """Overload ``row_fma`` on the CPU."""
    if _has_lanes(a, b) or isinstance(s, Dual):
        return lambda a, s, b: _fused3(row_vec3(a), s, row_vec3(b))
    return lambda a, s, b: fma(a, s, b)


@device
def _add3(a, b):
    """Return a + b by component."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@device
def _scaled3(a, s):
    """Return a s by component."""
    return (a[0] * s, a[1] * s, a[2] * s)


@device
def _fused3(a, s, b):
    """Return a s + b by component."""
    return (fma(a[0], s, b[0]), fma(a[1], s, b[1]), fma(a[2], s, b[2]))


@device
def _entries(a, i, v):
    """Store a[i, 0:3] = v by component."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
