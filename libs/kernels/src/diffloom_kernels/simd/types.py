"""numba types of lanes, their data models, and conversions of scalars to lanes."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, datamodel, types
from numba.core.typeconv import Conversion
from numba.extending import lower_cast, register_model


class FloatLanes(types.Type):
    """Type of ``count`` values of a float type, one per element of a run.

    Args:
        dtype: numba's type of the values.
        count: Number of lanes.
    """

    def __init__(self, dtype: types.Float, count: int) -> None:
        self.dtype = dtype
        self.count = count
        super().__init__(name=f"float_lanes({dtype}, {count})")


class MaskLanes(types.Type):
    """Type of ``count`` booleans.

    Args:
        count: Number of lanes.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"mask_lanes({count})")


class IndexLanes(types.Type):
    """Type of ``count`` integers: node indices or small integer data.

    Args:
        count: Number of lanes.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"index_lanes({count})")


class Run(types.Type):
    """Type of ``count`` consecutive elements, represented by the first.

    Args:
        count: Number of elements.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"run({count})")


class SceneNode(types.Type):
    """Type of a node of a block of scenes, one scene per lane (see scene_nodes.py)."""

    def __init__(self) -> None:
        super().__init__(name="place")


class _Vector(datamodel.models.PrimitiveModel):
    """Data model of float lanes and masks: an LLVM vector."""

    def __init__(self, manager, kind):
        element = ir.IntType(1) if isinstance(kind, MaskLanes) else manager[kind.dtype].get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


class _Indices(datamodel.models.PrimitiveModel):
    """Data model of index lanes: an LLVM array, because indices serve as addresses and belong in scalar registers."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.ArrayType(ir.IntType(64), kind.count))


class _Start(datamodel.models.PrimitiveModel):
    """Data model of a run: its first element."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(64))


register_model(FloatLanes)(_Vector)
register_model(MaskLanes)(_Vector)
register_model(IndexLanes)(_Indices)
register_model(Run)(_Start)


def broadcast(builder, value, count):
    """Emit a vector with ``value`` in every lane."""
    kind = ir.VectorType(value.type, count)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), mask)


def pack(builder, values):
    """Emit a vector of the given scalars."""
    vector = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
    return vector


def unpack(builder, vector):
    """Return the scalars of a vector.

    Args:
        builder: llvmlite's builder.
        vector: LLVM vector.

    Returns:
        List of LLVM values, one per lane.
    """
    count = vector.type.count
    return [builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(count)]


def call_intrinsic(builder, name, *vectors):
    """Emit a call of the LLVM intrinsic ``name`` on float vectors."""
    vector = vectors[0].type
    bits = 32 if isinstance(vector.element, ir.FloatType) else 64
    kind = ir.FunctionType(vector, [vector] * len(vectors))
    full = f"{name}.v{vector.count}f{bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), vectors)


def pack_indices(builder, values):
    """Emit index lanes of the given 64-bit integers.

    Args:
        builder: llvmlite's builder.
        values: LLVM integers, one per lane.

    Returns:
        LLVM array of integers.
    """
    array = ir.Constant(ir.ArrayType(ir.IntType(64), len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        array = builder.insert_value(array, value, lane)
    return array


def unpack_indices(builder, array):
    """Return the integers of index lanes."""
    return [builder.extract_value(array, lane) for lane in range(array.type.count)]


@lower_cast(types.Float, FloatLanes)
def _scalar_to_lanes(context, builder, fromty, toty, value):
    """Convert a float to float lanes."""
    return broadcast(builder, context.cast(builder, value, fromty, toty.dtype), toty.count)


@lower_cast(types.Boolean, MaskLanes)
def _bool_to_mask(context, builder, fromty, toty, value):
    """Convert a boolean to mask lanes."""
    return broadcast(builder, cgutils.is_true(builder, value) if value.type != ir.IntType(1) else value, toty.count)


@lower_cast(types.Integer, IndexLanes)
def _int_to_indices(context, builder, fromty, toty, value):
    """Convert an integer to index lanes."""
    wide = context.cast(builder, value, fromty, types.int64)
    return pack_indices(builder, [wide] * toty.count)


@lower_cast(Run, IndexLanes)
def _run_to_indices(context, builder, fromty, toty, value):
    """Convert a run to index lanes."""
    return pack_indices(builder, [builder.add(value, ir.Constant(value.type, k)) for k in range(toty.count)])


def _float_unify(self, context, other):
    """Unify float lanes with their scalar type."""
    return self if other == self.dtype else None


def _float_convert(self, context, other):
    """Allow the conversion of a scalar to float lanes."""
    return Conversion.safe if other == self.dtype else None


def _mask_unify(self, context, other):
    """Unify mask lanes with booleans."""
    return self if isinstance(other, types.Boolean) else None


def _mask_convert(self, context, other):
    """Allow the conversion of a boolean to mask lanes."""
    return Conversion.safe if isinstance(other, types.Boolean) else None


# A variable that is a scalar on one path and lanes on another is typed as lanes.
FloatLanes.unify = _float_unify
FloatLanes.can_convert_from = _float_convert
MaskLanes.unify = _mask_unify
MaskLanes.can_convert_from = _mask_convert
