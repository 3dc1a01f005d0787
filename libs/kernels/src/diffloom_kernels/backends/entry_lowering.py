"""Python wrapper of a compiled program, which unpacks its arguments without checks.

A program takes records of a hundred arrays. numba's wrapper checks the type of each, increments and decrements its
reference count: more than half of the code of a short program, and half of the time to optimise it. The arguments were
checked before (``compile/arguments.py``) and live until the call returns, so the wrapper made here reads the data
pointers, shapes and strides alone.

Tuples and arrays are read at fixed offsets, as the macros of CPython and numpy do. The offsets are verified on an
example first; if they differ, or an argument or the result is of another kind, numba's wrapper is used. This relies on
private parts of numba, like ``whole_program``.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types.containers import BaseTuple
from numba.core.types.misc import NoneType

from .numba_internals import Lower, NativeLowering, PyCallWrapper, register_pass

#: Offsets of a tuple's entries, and of an array's data, shape and strides, from the start of the object [bytes].
FIRST_ENTRY = tuple.__basicsize__
DATA, LENGTHS, STRIDES = (object.__basicsize__ + offset for offset in (0, 16, 24))

_WORD = ir.IntType(64)
_PLACE = ir.IntType(8).as_pointer()


@functools.cache
def layout_is_known() -> bool:
    """Return True if tuples and arrays have the expected memory layout."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.empty((5, 7), np.float32)
    word, pair = ctypes.c_int64.from_address, (ctypes.c_int64 * 2).from_address
    entries = (array, None)
    if word(id(entries) + FIRST_ENTRY).value != id(array):
        return False
    lies, lengths, strides = (word(id(array) + offset).value for offset in (DATA, LENGTHS, STRIDES))
    if lies != array.ctypes.data or not lengths or not strides:
        return False
    return tuple(pair(lengths)) == array.shape and tuple(pair(strides)) == array.strides


class _OtherKindError(Exception):
    """Signal that numba's own wrapper must take the arguments."""


class _UncheckedWrapper(PyCallWrapper):  # type: ignore[misc]
    """Wrapper that calls a program, which returns None, with arguments known to have the right types."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        """Emit the wrapper: unpack the arguments, release the GIL, call the program, raise its error if there is
        one.
        """
        self.context.declare_env_global(builder.module, self.context.get_env_name(self.fndesc))
        given: list[Any] = []
        for k, kind in enumerate(self.fndesc.argtypes):
            given += self._unpack(api, builder, kind, _load_entry(builder, args, k))
        if [value.type for value in given] != [argument.type for argument in self.func.args[2:]]:
            raise _OtherKindError
        with builder.if_then(_is_set(builder, api.err_occurred()), likely=False):  # an argument was not a number
            builder.ret(api.get_null_object())
        made = [builder.alloca(argument.type.pointee) for argument in self.func.args[:2]]
        for place in made:
            builder.store(ir.Constant(place.type.pointee, None), place)
        thread = api.save_thread() if self.release_gil else None
        code = builder.call(self.func, [*made, *given], attrs=("noinline",))
        if thread is not None:
            api.restore_thread(thread)
        convention = self.context.call_conv
        status = convention._get_return_status(builder, code, builder.load(made[1]))
        with builder.if_then(status.is_ok, likely=True):
            api.return_none()
        convention.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def _unpack(self, api: Any, builder: Any, kind: Any, value: Any) -> Iterator[Any]:
        """Yield the LLVM values of one argument in the order of numba's calling convention."""
        if isinstance(kind, BaseTuple):
            for k, entry in enumerate(kind):
                yield from self._unpack(api, builder, entry, _load_entry(builder, value, k))
        elif isinstance(kind, types.Array):
            yield from self._unpack_array(builder, kind, value)
        elif isinstance(kind, NoneType):
            yield ir.Constant(self.context.get_argument_type(kind), None)
        elif kind == types.int64:
            yield api.long_as_longlong(value)
        elif kind == types.float64:
            yield api.float_as_double(value)
        elif kind == types.float32:
            yield builder.fptrunc(api.float_as_double(value), ir.FloatType())
        elif kind == types.boolean:
            yield builder.trunc(api.object_istrue(value), self.context.get_argument_type(kind))
        else:
            raise _OtherKindError

    def _unpack_array(self, builder: Any, kind: Any, value: Any) -> Iterator[Any]:
        """Yield the array struct: null meminfo and parent, then nitems, itemsize, data, shape, strides."""
        lengths, strides = (
            [_load_word(builder, _load_pointer(builder, value, offset), 8 * k) for k in range(kind.ndim)]
            for offset in (LENGTHS, STRIDES)
        )
        entry = self.context.get_data_type(kind.dtype)
        yield from (ir.Constant(_PLACE, None),) * 2
        yield functools.reduce(builder.mul, lengths, ir.Constant(_WORD, 1))
        yield ir.Constant(_WORD, self.context.get_abi_sizeof(entry))
        yield builder.bitcast(_load_pointer(builder, value, DATA), entry.as_pointer())
        yield from lengths
        yield from strides


def _load_pointer(builder: Any, place: Any, offset: int) -> Any:
    """Return the pointer stored at a byte offset of an object."""
    return builder.inttoptr(_load_word(builder, place, offset), _PLACE)


def _load_word(builder: Any, place: Any, offset: int) -> Any:
    """Return the 64-bit integer stored at a byte offset of an object."""
    there = builder.gep(place, [ir.Constant(_WORD, offset)])
    return builder.load(builder.bitcast(there, _WORD.as_pointer()))


def _load_entry(builder: Any, entries: Any, k: int) -> Any:
    """Return a pointer to entry k of a tuple."""
    return _load_pointer(builder, entries, FIRST_ENTRY + 8 * k)


def _is_set(builder: Any, place: Any) -> Any:
    """Return the condition that a pointer is not null."""
    return builder.icmp_unsigned("!=", place, ir.Constant(place.type, None))


class _EntryLower(Lower):  # type: ignore[misc]
    """Lowering of a program's entry, with ``_UncheckedWrapper`` where it applies."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Emit ``_UncheckedWrapper``, or else numba's wrapper."""
        context, fndesc = self.context, self.fndesc
        if self.genlower is None and isinstance(fndesc.restype, NoneType) and layout_is_known():
            module = context.create_module("wrapper")
            kind = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
            function = ir.Function(module, kind, fndesc.llvm_func_name)
            wrapper = _UncheckedWrapper(context, module, function, fndesc, self.env, self.call_helper, release_gil)
            try:
                wrapper.build()
            except _OtherKindError:
                pass
            else:
                self.library.add_ir_module(module)
                return
        super().create_cpython_wrapper(release_gil)


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):  # type: ignore[misc]
    """Replacement of numba's pass ``NativeLowering`` for the entry of a program."""

    _name = "entry_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """Class that lowers the function."""
        return _EntryLower
