"""Densities for the start or the goal: simple shapes by name, or the bright parts of an image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.regular_files import IMAGE_FORMATS, MOST_IMAGE, check_pixels, open_regular
from diffloom.validation import suggest_name

Field = NDArray[np.float64]

#: Width of an edge, as a fraction of the domain's longer side, because smoke has no sharp edges.
EDGE = 0.055


def _inside(distance: Field) -> Field:
    """Return 1 inside (negative distances), 0 outside, linear over an edge in between."""
    return np.clip(0.5 - distance / EDGE, 0.0, 1.0)


def _disc(x: Field, y: Field) -> Field:
    """Return a disc over half the area."""
    return _inside(np.hypot(x, y) - np.sqrt(0.5 / np.pi))


def _layer(_x: Field, y: Field) -> Field:
    """Return a layer on the ground, with as much smoke as the letter."""
    return _inside(y + 0.5 - 0.3236)


def _letter(x: Field, y: Field) -> Field:
    """Return the letter d: a ring and a stem."""
    ring = np.abs(np.hypot(x + 0.07, y + 0.13) - 0.2) - 0.085
    stem = np.maximum(np.abs(x - 0.21) - 0.085, np.abs(y - 0.025) - 0.4)
    return _inside(np.minimum(ring, stem))


def _plume(x: Field, y: Field) -> Field:
    """Return a small disc near the ground."""
    return _inside(np.hypot(x, y + 0.28) - 0.14)


def _none(x: Field, _y: Field) -> Field:
    """Return no smoke."""
    return np.zeros_like(x)


PATTERNS: dict[str, Callable[[Field, Field], Field]] = {
    "disc": _disc,
    "layer": _layer,
    "letter": _letter,
    "none": _none,
    "plume": _plume,
}


def make_pattern(name: str | Path, rows: int, columns: int) -> Field:
    """Return the densities (rows x columns,) of a pattern by name, or of an image by its path, row by row from below.

    Patterns are laid out in a square of side 1 around the middle of the domain, whose longer side is 1 long.
    """
    known = PATTERNS.get(str(name))
    if known is None:
        return _read_image(Path(name), rows, columns)
    cell = 1.0 / max(rows, columns)
    y, x = np.meshgrid(
        (np.arange(rows) + 0.5 - 0.5 * rows) * cell, (np.arange(columns) + 0.5 - 0.5 * columns) * cell, indexing="ij"
    )
    return known(x, y).reshape(-1)


def _read_image(path: Path, rows: int, columns: int) -> Field:
    """Return the bright parts of an image as densities."""
    from PIL import Image

    try:
        with open_regular(path, MOST_IMAGE, what="image") as file, Image.open(file, formats=IMAGE_FORMATS) as image:
            check_pixels(f"image {str(path)!r}", *image.size)
            small = image.convert("L").resize((columns, rows), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError) as error:
        names = ", ".join(sorted(PATTERNS))
        raise InputError(
            f"smoke: got smoke {str(path)!r}, which is neither a pattern ({names}) nor an image that can be read "
            f"({error})"
            f"{suggest_name(str(path), sorted(PATTERNS))}"
        ) from error
    return np.asarray(small, dtype=np.float64)[::-1].reshape(-1) / 255.0
