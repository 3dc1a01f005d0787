"""Loads and stores of array elements by runs and node indices: ``mu[e]``, ``idx[e, 0]``, ``x[i, c]``, ``slots[e, a, c]
= f``.

Negative indices do not wrap around, and bounds are checked with DIFFLOOM_BOUNDS=1 alone.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from ..language import BOUNDS
from .types import FloatLanes, IndexLanes, MaskLanes, Run, SceneNode, pack, pack_indices, unpack, unpack_indices


class IndexTuple(types.Type):
    """Type of an index tuple with an entry that is neither an integer nor a slice.

    It is a type of its own, because lowering getitem for plain tuples would replace numba's tuple indexing.
    """

    def __init__(self, kinds, name):
        self.kinds = tuple(kinds)
        super().__init__(name=f"{name}({', '.join(map(str, kinds))})")


class IndexTupleModel(models.TupleModel):
    """Data model of an index tuple: that of a tuple."""

    def __init__(self, manager, kind):
        super().__init__(manager, types.Tuple(kind.kinds))


class LaneIndex(IndexTuple):
    """Type of an index tuple with a run or node indices."""

    def __init__(self, kinds):
        super().__init__(kinds, "lane_index")


register_model(LaneIndex)(IndexTupleModel)


@lower_cast(types.BaseTuple, IndexTuple)
def _tuple_to_index(context, builder, fromty, toty, value):
    """Convert a tuple to an index tuple."""
    return context.cast(builder, value, fromty, types.Tuple(toty.kinds))


@lower_cast(Run, IndexTuple)
@lower_cast(IndexLanes, IndexTuple)
@lower_cast(SceneNode, IndexTuple)
def _single_to_index(context, builder, fromty, toty, value):
    """Convert a single index to an index tuple."""
    return context.make_tuple(builder, types.Tuple(toty.kinds), [value])


def _lane_index(array, index):
    """Return the index type of array[index], or None if it has no lanes."""
    if isinstance(index, LaneIndex):  # numba types the call again with the types of the first answer
        return index
    kinds = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
    lanes = [kind for kind in kinds if isinstance(kind, Run | IndexLanes)]
    if not isinstance(array, types.Array) or not lanes:
        return None
    if len(kinds) != array.ndim or len({kind.count for kind in lanes}) != 1:
        raise errors.TypingError(f"lanes index every axis of an array: {array.ndim} indices expected, got {len(kinds)}")
    if not all(isinstance(kind, Run | IndexLanes | types.Integer) for kind in kinds):
        raise errors.TypingError("lanes index arrays together with integers only, not slices")
    return LaneIndex([kind if isinstance(kind, Run | IndexLanes) else types.int64 for kind in kinds])


def _count(index: LaneIndex) -> int:
    """Return the number of lanes of an index."""
    return next(kind.count for kind in index.kinds if isinstance(kind, Run | IndexLanes))


def _make_lane_type(array: types.Array, count: int):
    """Return the type of the lanes loaded from an array."""
    if isinstance(array.dtype, types.Float):
        return FloatLanes(array.dtype, count)
    if isinstance(array.dtype, types.Boolean):
        return MaskLanes(count)
    if isinstance(array.dtype, types.Integer):
        return IndexLanes(count)
    raise errors.TypingError(f"lanes hold floats, integers or booleans, not {array.dtype}")


@infer_global(operator.getitem)
class _LaneGetItem(AbstractTemplate):
    """Typing rule of a load by lanes."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        index = _lane_index(*args)
        return signature(_make_lane_type(args[0], _count(index)), args[0], index) if index else None


@infer_global(operator.setitem)
class _LaneSetItem(AbstractTemplate):
    """Typing rule of a store by lanes."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        array, given, value = args
        index = _lane_index(array, given)
        if index is None:
            return None
        if not any(isinstance(kind, Run) for kind in index.kinds):
            raise errors.TypingError(
                "cannot store through node indices: if two lanes had the same node, one update would be lost. "
                "Write to the element's own slots and let nodes gather them."
            )
        lanes = _make_lane_type(array, _count(index))
        if value != lanes and value != getattr(lanes, "dtype", array.dtype):
            raise errors.TypingError(f"cannot store {value} into lanes of {array.dtype}; convert it explicitly")
        return signature(types.none, array, index, lanes)


def _entries(builder, index_type, index):
    """Return the entries of an index tuple."""
    return [builder.extract_value(index, k) for k in range(len(index_type.kinds))]


def address(context, builder, array_type, array, indices):
    """Return the address of one array element."""
    fields = context.make_array(array_type)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, fields.shape, array_type.ndim)
    if BOUNDS:
        for axis, (index, length) in enumerate(zip(indices, shape, strict=True)):
            cgutils.do_boundscheck(context, builder, index, length, axis)
    strides = cgutils.unpack_tuple(builder, fields.strides, array_type.ndim)
    return cgutils.get_item_pointer2(
        context, builder, fields.data, shape, strides, array_type.layout, list(indices), wraparound=False
    )


def _addresses(context, builder, array_type, array, index_type, index):
    """Return the address of every lane."""
    columns = []
    for kind, value in zip(index_type.kinds, _entries(builder, index_type, index), strict=True):
        if isinstance(kind, Run):
            columns.append([builder.add(value, ir.Constant(value.type, k)) for k in range(kind.count)])
        elif isinstance(kind, IndexLanes):
            columns.append(unpack_indices(builder, value))
        else:
            columns.append([value] * _count(index_type))
    return [address(context, builder, array_type, array, lane) for lane in zip(*columns, strict=True)]


def _is_contiguous(array_type, index_type) -> bool:
    """Return True if the lanes are consecutive in memory."""
    axis = {"C": -1, "F": 0}.get(array_type.layout)
    if axis is None or not isinstance(index_type.kinds[axis], Run):
        return False
    return sum(isinstance(kind, Run | IndexLanes) for kind in index_type.kinds) == 1


def _first_address(context, builder, array_type, array, index_type, index):
    """Return the address of lane 0 as a pointer to a vector."""
    if BOUNDS:
        _addresses(context, builder, array_type, array, index_type, index)
    pointer = address(context, builder, array_type, array, _entries(builder, index_type, index))
    element = context.get_value_type(array_type.dtype)
    return builder.bitcast(pointer, ir.VectorType(element, _count(index_type)).as_pointer())


@lower_builtin(operator.getitem, types.Array, LaneIndex)
def _load(context, builder, sig, args):
    """Emit a load by lanes: one vector load if they are contiguous, else a gather by scalar loads."""
    array_type, index_type = sig.args
    if isinstance(array_type.dtype, types.Float) and _is_contiguous(array_type, index_type):
        pointer = _first_address(context, builder, array_type, args[0], index_type, args[1])
        return builder.load(pointer, align=array_type.dtype.bitwidth // 8)
    pointers = _addresses(context, builder, array_type, args[0], index_type, args[1])
    values = [context.unpack_value(builder, array_type.dtype, pointer) for pointer in pointers]
    if isinstance(array_type.dtype, types.Integer):
        return pack_indices(builder, [context.cast(builder, v, array_type.dtype, types.int64) for v in values])
    return pack(builder, values)


@lower_builtin(operator.setitem, types.Array, LaneIndex, FloatLanes)
@lower_builtin(operator.setitem, types.Array, LaneIndex, MaskLanes)
@lower_builtin(operator.setitem, types.Array, LaneIndex, IndexLanes)
def _store(context, builder, sig, args):
    """Emit a store by lanes: one vector store if they are contiguous, else scalar stores."""
    array_type, index_type, value_type = sig.args
    if isinstance(value_type, FloatLanes) and _is_contiguous(array_type, index_type):
        pointer = _first_address(context, builder, array_type, args[0], index_type, args[1])
        builder.store(args[2], pointer, align=array_type.dtype.bitwidth // 8)
        return context.get_dummy_value()
    if isinstance(value_type, IndexLanes):
        wide = unpack_indices(builder, args[2])
        values = [context.cast(builder, value, types.int64, array_type.dtype) for value in wide]
    else:
        values = unpack(builder, args[2])
    pointers = _addresses(context, builder, array_type, args[0], index_type, args[1])
    for pointer, value in zip(pointers, values, strict=True):
        context.pack_value(builder, array_type.dtype, value, pointer)
    return context.get_dummy_value()
