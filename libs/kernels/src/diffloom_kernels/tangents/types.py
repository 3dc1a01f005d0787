"""numba type of dual numbers: a float64 with its derivatives along several directions."""

from __future__ import annotations

from llvmlite import ir
from numba.core import datamodel, types
from numba.core.typeconv import Conversion
from numba.extending import lower_cast, register_model

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(32)


class Dual(types.Hashable):
    """Type of a float64 with ``count`` tangents.

    Args:
        count: Number of tangents.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"dual({count})")

    def unify(self, context, other):
        """Unify with real numbers: a variable that is a constant on one path and a dual number on another is dual."""
        return self if isinstance(other, types.Float | types.Integer) else None

    def can_convert_from(self, context, other):
        """Allow the conversion of real numbers, whose tangents are zero."""
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


class _DualModel(datamodel.models.PrimitiveModel):
    """Data model: in registers a float and a vector of tangents; in memory an array of floats, the value first."""

    def __init__(self, manager, kind):
        self._vector = ir.VectorType(_DOUBLE, kind.count)
        self._count = kind.count
        super().__init__(manager, kind, ir.LiteralStructType([_DOUBLE, self._vector]))

    def get_data_type(self):
        """Return the type in memory."""
        return ir.ArrayType(_DOUBLE, self._count + 1)

    def as_data(self, builder, value):
        """Convert from registers to memory."""
        data = ir.Constant(self.get_data_type(), ir.Undefined)
        data = builder.insert_value(data, builder.extract_value(value, 0), 0)
        tangents = builder.extract_value(value, 1)
        for k in range(self._count):
            data = builder.insert_value(data, builder.extract_element(tangents, ir.Constant(_INT, k)), k + 1)
        return data

    def from_data(self, builder, value):
        """Convert from memory to registers."""
        tangents = ir.Constant(self._vector, ir.Undefined)
        for k in range(self._count):
            tangents = builder.insert_element(tangents, builder.extract_value(value, k + 1), ir.Constant(_INT, k))
        return make_dual(builder, builder.extract_value(value, 0), tangents)

    def load_from_data_pointer(self, builder, ptr, align=None):
        """Load the value and the vector of tangents."""
        place = builder.bitcast(ptr, _DOUBLE.as_pointer())
        value = builder.load(place, align=8)
        after = builder.gep(place, [ir.Constant(ir.IntType(64), 1)])
        return make_dual(builder, value, builder.load(builder.bitcast(after, self._vector.as_pointer()), align=8))


register_model(Dual)(_DualModel)


def make_dual(builder, value, tangents):
    """Emit a dual number of a float and a vector."""
    kind = ir.LiteralStructType([value.type, tangents.type])
    made = builder.insert_value(ir.Constant(kind, ir.Undefined), value, 0)
    return builder.insert_value(made, tangents, 1)


def parts_of(builder, dual):
    """Emit the value and the tangents of a dual number."""
    return builder.extract_value(dual, 0), builder.extract_value(dual, 1)


@lower_cast(types.Float, Dual)
@lower_cast(types.Integer, Dual)
def _real_to_dual(context, builder, fromty, toty, value):
    """Convert a real number, whose tangents are zero."""
    real = context.cast(builder, value, fromty, types.float64)
    return make_dual(builder, real, ir.Constant(ir.VectorType(_DOUBLE, toty.count), None))
