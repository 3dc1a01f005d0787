"""Memory for long sequences of states, used again by the rollout after.

The system hands out fresh memory page by page, each with an interruption, which for a large body takes as long as
simulating it. A fit runs the same rollout many times, so what one has let go the next takes up.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Pieces below this many bytes come from where all small ones come from; at most so much is held for later.
SMALL, HELD = 1 << 18, 1 << 28

_free: dict[int, NDArray[np.uint8]] = {}  # by identity, the longest unused first


def states_like(one: Tensor, count: int) -> Tensor:
    """Uninitialised memory for ``count`` states like this one, given back when nothing refers to it any more."""
    shape = (count, *one.shape)
    size = math.prod(shape) * one.element_size()
    if one.device.type != "cpu" or size < SMALL:
        return one.new_empty(shape)
    piece = _take(size)
    real = np.float32 if one.dtype == torch.float32 else np.float64
    view: NDArray[Any] = piece[:size].view(real).reshape(shape)
    weakref.finalize(view, _give_back, piece).atexit = False
    return torch.from_numpy(view)


def _take(size: int) -> NDArray[np.uint8]:
    """The smallest free piece that is large enough but not many times as large; else a new one."""
    fitting = [(len(piece), key) for key, piece in list(_free.items()) if size <= len(piece) <= 2 * size]
    for _, key in sorted(fitting):
        if (piece := _free.pop(key, None)) is not None:  # else another thread was quicker
            return piece
    # Not np.empty: the large pages it asks for are slower to come by.
    return torch.empty(size, dtype=torch.uint8).numpy()


def _give_back(piece: NDArray[np.uint8]) -> None:
    _free[id(piece)] = piece
    while sum(map(len, list(_free.values()))) > HELD:
        _free.pop(next(iter(_free)), None)
