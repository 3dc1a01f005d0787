import gc
import threading

import numpy as np
import torch

from diffloom_kernels.arena import SMALL, Arena, MemoryPool, pool

SIZE = 2 * SMALL // 4


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_last_view_is_gone():
    array = pool.array((2, SIZE // 2), np.float32)
    array[...] = 3.0
    where, part = address(array), torch.from_numpy(array)[1, 5:]
    del array
    gc.collect()
    other = pool.array((SIZE,), np.float32)
    other[...] = 7.0
    assert address(other) != where
    assert bool((part == 3.0).all())
    del part
    gc.collect()
    assert address(pool.array((SIZE - 9,), np.float32)) == where


def test_tensors_share_the_pool():
    like = torch.zeros(3, dtype=torch.float64)
    states = pool.tensor((SIZE, 3), like)
    assert (states.shape, states.dtype) == ((SIZE, 3), torch.float64)
    where = states.data_ptr()
    del states
    assert pool.tensor((SIZE, 3), like).data_ptr() == where
    assert pool.tensor((2, 3), like).numel() == 6
    assert pool.tensor((SIZE, 3), torch.zeros(1, dtype=torch.int64)).dtype == torch.int64


def test_small_arrays_own_their_memory():
    assert pool.array((3, 4), np.float32).base is None
    assert pool.array((0, 7), np.float32).shape == (0, 7)


def test_the_longest_unused_is_let_go():
    kept = MemoryPool(most=250)
    pieces = [np.empty(100, np.uint8) for _ in range(4)]
    for piece in pieces:
        kept.give_back(piece)
    assert kept.waiting == 200
    assert {address(kept.take(100)) for _ in range(2)} == {address(piece) for piece in pieces[2:]}
    assert kept.waiting == 0


def test_threads_never_share_memory():
    wrong = []

    def work(number):
        for _ in range(200):
            array = pool.array((SIZE,), np.int32)
            array[::1000] = number
            if (array[::1000] != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_used_again_are_filled_as_asked():
    arena = Arena(torch.device("cpu"), torch.float64)
    arena.floats(SIZE, fill=5.0)
    assert not arena.floats(SIZE, fill=0.0).any()
    arena.ints(2 * SIZE, fill=4)
    assert bool((arena.ints(2 * SIZE, fill=-1) == -1).all())
    assert not arena.flags(8 * SIZE, fill=False).any()
