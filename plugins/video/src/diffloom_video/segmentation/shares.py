"""How much of a pixel is object: its colour as a mixture of what is in front and what is behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Colours = NDArray[Any]

#: Least colour that noise is judged at, darkest shade, and the least sine squared between object and background
#: colours at which one can be told from a shade of the other.
DARK, SHADE, APART = 0.05, 0.3, 0.05


def shares(image: Colours, front: Colours, back: Colours, gamma: float = 1.0, shade: bool = False) -> Colours:
    """(n,): how much of each pixel is object, for colours (n, 3) of the image, of the object and behind it.

    Light adds up before it is encoded: i^gamma = a f^gamma + (1 - a) s b^gamma, in the least squares of the encoded
    numbers, whose noise is even. shade: s, a shadow of the object on its background, is found as well, from 0.3 to 1,
    where the two colours are no shades of each other; else it is 1.
    """
    light = [np.clip(colours, 0.0, None) ** gamma for colours in (image, front, back)]
    i, f, b = (each * np.maximum(image, DARK) ** (1.0 - gamma) for each in light)
    plain = _along(i, f, b)
    if not shade:
        return plain
    ff, fb, bb = _dot(f, f), _dot(f, b), _dot(b, b)
    across = ff * bb - fb * fb
    safe = np.maximum(across, 1e-12)
    a = (_dot(i, f) * bb - _dot(i, b) * fb) / safe
    behind = (_dot(i, b) * ff - _dot(i, f) * fb) / safe  # (1 - a) s
    told = across > APART * ff * bb
    darkest = _along(i, f, SHADE * b)
    found = np.where(behind < SHADE * (1.0 - a), darkest, a)
    return np.asarray(np.where(told & (behind < 1.0 - a), found, plain), np.float32)


def _along(i: Colours, f: Colours, b: Colours) -> Colours:
    """(i - b).(f - b) / |f - b|^2."""
    span = f - b
    return np.asarray(_dot(i - b, span) / np.maximum(_dot(span, span), 1e-4), np.float32)


def _dot(a: NDArray[Any], b: NDArray[Any]) -> Colours:
    return np.asarray(np.einsum("nc,nc->n", a, b))
