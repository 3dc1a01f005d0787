import gc

import numpy as np
import torch

from diffloom.shading.arrays import Room
from diffloom.shading.storage import LEAST, Store, lent

FLOAT = np.dtype(np.float32)
SIZE = 2 * LEAST // FLOAT.itemsize


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_last_view_is_gone():
    array = lent((2, SIZE // 2), FLOAT)
    array[...] = 3.0
    where, part = address(array), torch.from_numpy(array)[1, 5:]
    del array
    gc.collect()
    other = lent((SIZE,), FLOAT)
    other[...] = 7.0
    assert address(other) != where
    assert bool((part == 3.0).all())
    del part
    gc.collect()
    assert address(lent((SIZE - 9,), FLOAT)) == where


def test_small_arrays_own_their_memory():
    assert lent((3, 4), FLOAT).base is None
    assert lent((0, 7), FLOAT).shape == (0, 7)


def test_a_store_keeps_only_so_much():
    store = Store()
    for _ in range(5):
        store.keep(np.empty(100 << 20, np.uint8))
    kept = [store.take(100 << 20) for _ in range(2)]
    assert store._total == 0
    assert len({address(memory) for memory in kept}) == 2


def test_arrays_used_again_are_filled_as_asked():
    room = Room(torch.device("cpu"), torch.float64)
    room.floats(SIZE, fill=5.0)
    assert not room.floats(SIZE, fill=0.0).any()
    room.ints(2 * SIZE, fill=4)
    assert bool((room.ints(2 * SIZE, fill=-1) == -1).all())
    assert not room.flags(8 * SIZE, fill=False).any()
