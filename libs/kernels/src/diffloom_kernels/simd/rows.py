"""Loads and stores of rows of three or four entries under lanes, by transposition in registers."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.extending import intrinsic

from .. import memory
from ..language import BOUNDS, overloaded
from ..rowtypes import KnownRows
from .arrays import address
from .types import FloatLanes, IndexLanes, Run, unpack_indices


def _shuffle(builder, a, b, mask):
    """Emit a shuffle of two vectors."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(mask)), mask))


# Masks of two-operand shuffles of N lanes. Shuffles within 16-byte halves are cheap, hence two variants.
def _narrow_masks(count):
    """Return the shuffle masks for 4-byte lanes: interleave low and high pairs of every four, then join pairs."""
    low = [group + k + half for group in range(0, count, 4) for k in (0, 1) for half in (0, count)]
    first = [group + k + half for group in range(0, count, 4) for half in (0, count) for k in (0, 1)]
    return low, [k + 2 for k in low], first, [k + 2 for k in first]


def _wide_masks():
    """Return the shuffle masks for four 8-byte lanes: interleave even and odd lanes, then join halves."""
    return [0, 4, 2, 6], [1, 5, 3, 7], [0, 1, 4, 5], [2, 3, 6, 7]


def _emit_transposed(builder, a, b, c, d):
    """Emit the transpose of four vectors within groups of four lanes: (a, b, c, d) -> entries 0, 1, 2, 3 of each."""
    if isinstance(a.type.element, ir.FloatType):
        low, high, first, second = _narrow_masks(a.type.count)
        order = ((0, first), (0, second), (1, first), (1, second))
    else:
        low, high, first, second = _wide_masks()
        order = ((0, first), (1, first), (0, second), (1, second))
    left = [_shuffle(builder, a, b, mask) for mask in (low, high)]
    right = [_shuffle(builder, c, d, mask) for mask in (low, high)]
    return [_shuffle(builder, left[k], right[k], mask) for k, mask in order]


def _can_transpose(real: types.Float, count: int) -> bool:
    """Return True if the shuffles exist for this float type and lane count."""
    return count == 4 or (real.bitwidth == 32 and count == 8)


def rows_of(builder, columns):
    """Emit N rows of four from four columns of N lanes: row l is (c0[l], c1[l], c2[l], c3[l])."""
    count = columns[0].type.count
    mixed = _emit_transposed(builder, *columns)
    groups = [[4 * g + k for k in range(4)] for g in range(count // 4)]
    return [_shuffle(builder, mixed[k], mixed[k], mask) if count > 4 else mixed[k] for mask in groups for k in range(4)]


def columns_of(builder, rows):
    """Emit the first three columns, N lanes each, of N rows of four."""
    count = len(rows)
    if count > 4:
        both = [*range(8)]
        rows = [_shuffle(builder, rows[k], rows[k + 4], both) for k in range(4)]
    return _emit_transposed(builder, *rows)[:3]


@intrinsic
def _store_slots(typingctx, slots, run, vectors):
    """Emit stores of the vec3 lanes of every corner to the slots of a run."""
    lanes = FloatLanes(slots.dtype, run.count)
    corners = len(vectors)

    def codegen(context, builder, sig, args):
        zero = ir.Constant(context.get_value_type(lanes), None)
        for corner in range(corners):
            vector = builder.extract_value(args[2], corner)
            rows = rows_of(builder, [*[builder.extract_value(vector, c) for c in range(3)], zero])
            for lane, row in enumerate(rows):
                place = [builder.add(args[1], _int(lane)), _int(corner), _int(0)]
                pointer = address(context, builder, slots, args[0], place)
                builder.store(row, builder.bitcast(pointer, row.type.as_pointer()), align=slots.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(slots, run, types.UniTuple(types.UniTuple(lanes, 3), corners)), codegen


def _int(value):
    """Return a 64-bit constant."""
    return ir.Constant(ir.IntType(64), value)


def _is_slots(slots, e) -> bool:
    """Return True if ``e`` is a run and slots can be stored as whole rows."""
    if not isinstance(e, Run):
        return False
    if not isinstance(slots, KnownRows) or slots.columns != 4 or slots.ndim != 3:
        raise errors.TypingError(f"slots are arrays (elements, corners, 4) in C order, not {slots}")
    return _can_transpose(slots.dtype, e.count)


@overloaded(memory.store_corners)
def _store_corners(slots, e, vectors):
    """Overload ``store_corners`` for runs."""
    return (lambda slots, e, vectors: _store_slots(slots, e, vectors)) if _is_slots(slots, e) else None


@intrinsic
def _load_vec3(typingctx, a, i):
    """Emit loads of vec3 lanes from whole rows."""
    result = types.UniTuple(FloatLanes(a.dtype, i.count), 3)

    def codegen(context, builder, sig, args):
        lanes = _elements(builder, i, args[1])
        rows = [load_row(context, builder, a, args[0], lane) for lane in lanes]
        return context.make_tuple(builder, result, columns_of(builder, rows))

    return result(a, i), codegen


@intrinsic
def _store_vec3(typingctx, a, i, vector):
    """Emit stores of vec3 lanes as whole rows with a zero last entry."""
    lanes = FloatLanes(a.dtype, i.count)

    def codegen(context, builder, sig, args):
        zero = ir.Constant(context.get_value_type(lanes), None)
        rows = rows_of(builder, [*[builder.extract_value(args[2], c) for c in range(3)], zero])
        for element, row in zip(_elements(builder, i, args[1]), rows, strict=True):
            builder.store(row, row_pointer(context, builder, a, args[0], element), align=a.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(a, i, types.UniTuple(lanes, 3)), codegen


def _elements(builder, kind, value):
    """Return the elements of a run, or node indices, as scalars."""
    if isinstance(kind, Run):
        return [builder.add(value, _int(lane)) for lane in range(kind.count)]
    return unpack_indices(builder, value)


def row_pointer(context, builder, array_type, array, row):
    """Return the address of a row of an array (rows, 3 or 4) as a pointer to a vector of four."""
    fields = context.make_array(array_type)(context, builder, array)
    if BOUNDS:
        cgutils.do_boundscheck(context, builder, row, cgutils.unpack_tuple(builder, fields.shape)[0], 0)
    data = fields.data
    kind = ir.VectorType(context.get_value_type(array_type.dtype), 4).as_pointer()
    return builder.bitcast(builder.gep(data, [builder.mul(row, _int(array_type.columns))]), kind)


def load_row(context, builder, array_type, array, row):
    """Emit the load of a row as a vector of four; the last entry is zero if the row has three."""
    pointer = row_pointer(context, builder, array_type, array, row)
    if array_type.columns == 4:
        return builder.load(pointer, align=array_type.dtype.bitwidth // 8)
    vector = pointer.type.pointee
    mask = ir.VectorType(ir.IntType(1), 4)
    bits = array_type.dtype.bitwidth
    kind = ir.FunctionType(vector, [pointer.type, ir.IntType(32), mask, vector])
    load = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.v4f{bits}.p0v4f{bits}")
    align, first_three = ir.Constant(ir.IntType(32), bits // 8), ir.Constant(mask, [1, 1, 1, 0])
    return builder.call(load, [pointer, align, first_three, ir.Constant(vector, None)])


def store_row(context, builder, array_type, array, row, value):
    """Emit the store of a vector of four as a row; a row of three takes its first entries."""
    pointer = row_pointer(context, builder, array_type, array, row)
    align = array_type.dtype.bitwidth // 8
    if array_type.columns == 4:
        builder.store(value, pointer, align=align)
        return
    # Two plain stores, because a masked store cannot be forwarded to the loads that follow.
    pair = _shuffle(builder, value, value, [0, 1])
    builder.store(pair, builder.bitcast(pointer, pair.type.as_pointer()), align=align)
    last = builder.extract_element(value, ir.Constant(ir.IntType(32), 2))
    builder.store(last, builder.gep(builder.bitcast(pointer, last.type.as_pointer()), [_int(2)]))


def _is_rows(a, i) -> bool:
    """Return True if rows of the array can be loaded whole."""
    return isinstance(a, KnownRows) and a.ndim == 2 and _can_transpose(a.dtype, i.count)


@overloaded(memory.ld3)
def _ld3(a, i):
    """Overload ``ld3`` for runs and node indices."""
    if not isinstance(i, IndexLanes | Run):
        return None
    return (lambda a, i: _load_vec3(a, i)) if _is_rows(a, i) else memory.ld3


@overloaded(memory.store_row3)
def _store_row3(a, i, v):
    """Overload ``store_row3`` for runs."""
    if not isinstance(i, Run):
        return None
    return (lambda a, i, v: _store_vec3(a, i, v)) if _is_rows(a, i) and a.columns == 4 else memory.store_row3
