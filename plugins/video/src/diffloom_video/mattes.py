"""Mattes from rough masks: one clean piece, with edges as soft as in the video."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name

Plane = NDArray[np.float32]
Flags = NDArray[np.bool_]

#: Coverage that counts as 0, and whose complement counts as 1, because of a codec's noise.
DREGS = 0.08
_ROUND = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)


@dataclass(frozen=True)
class Cleaning:
    """Settings for cleaning a rough mask.

    Args:
        least: Smallest piece that counts, as a part of the image.
        keep: Number of pieces of the object, the largest ones; pieces that touch the border, such as a hand, count a
            fifth of their size.
        soft: Reach of the edge beyond the rough outline [px], or below 1 as a part of the object's radius. Large values
            of soft and edge keep motion blur, for an object of one colour.
        edge: Reach of the edge within the rough outline, in the same units.
        close: Half the width of gaps that are closed [px].
        thin: Half the width of parts that are removed, such as a thread, as a part of the object's radius.
        convex: True to fill the convex hull of the object.
        gamma: Exponent from numbers to light, in which blurred edges mix; 2.2 for most cameras.
        shade: True if the background may be in the object's shadow.
        exposure: Largest part of the time between frames that is exposed; sets the motion blur of edges.
    """

    least: float = 2e-4
    keep: int = 1
    soft: float = 3
    edge: float = 2
    close: int = 2
    thin: float = 0.0
    convex: bool = False
    gamma: float = 1.0
    shade: bool = False
    exposure: float = 0.0

    def __post_init__(self) -> None:
        if (
            not 0.0 <= self.least < 1.0
            or self.keep < 1
            or min(self.soft, self.edge, self.close) < 0
            or not 0 <= self.thin < 1
            or not 0.2 <= self.gamma <= 5.0
            or not 0.0 <= self.exposure <= 1.0
        ):
            raise InputError(
                f"cleaning: got least={self.least}, keep={self.keep}, soft={self.soft}, edge={self.edge}, "
                f"close={self.close}, thin={self.thin}, gamma={self.gamma} and exposure={self.exposure}; expected a "
                "part of the image below 1, at least one piece, pixels of 0 or more, a share of the radius below 1, a "
                "power of 0.2 to 5 and a part of the time between frames"
            )

    def pieces(self, rough: Flags) -> Flags:
        """Return the largest pieces of a rough mask, without holes."""
        margin = self.close + 1
        wide = np.pad(rough, margin)  # so that closing keeps pieces at the border
        closed = scipy.ndimage.binary_closing(wide, _ROUND, iterations=self.close) if self.close else wide
        labels, count = scipy.ndimage.label(scipy.ndimage.binary_fill_holes(closed)[margin:-margin, margin:-margin])
        if not count:
            return np.zeros_like(rough)
        sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:].astype(float)
        if self.thin > 0.0:
            sizes = self._without_threads(labels, sizes)
        ends = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
        sizes[np.unique(ends[ends > 0]) - 1] *= 0.2
        order = np.argsort(-sizes)[: self.keep]
        kept = [int(k) + 1 for k in order if sizes[k] >= max(4.0, self.least * rough.size)]
        found = [self._smooth(labels == k) for k in kept]
        return np.asarray(np.any(found, axis=0)) if found else np.zeros_like(rough)

    def _without_threads(self, labels: NDArray[Any], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sizes of pieces, 0 for pieces that consist of a thread only."""
        bodies = sizes.copy()
        for k in np.flatnonzero(sizes >= max(4.0, self.least * labels.size)):
            part = labels == k + 1
            reach = self._reach(part)
            if reach and not _open_mask(part[_window(part, 2)], reach).any():
                bodies[k] = 0.0
        return bodies if bodies.any() else sizes

    def _reach(self, part: Flags) -> int:
        """Return half the width [px] of parts that count as thin."""
        return round(self.thin * float(np.sqrt(part.sum() / np.pi)))

    def _smooth(self, piece: Flags) -> Flags:
        """Return a piece without its thin parts, and its hull if ``convex``."""
        window = _window(piece, 2)
        part = piece[window]
        reach = self._reach(part)
        if reach > 0:
            opened = _open_mask(part, reach)
            part = opened if opened.any() else part
        if self.convex:
            part = _hull(part)
        found = np.zeros_like(piece)
        found[window] = part
        return found

    def matte(self, image: Plane, rough: Flags, behind: Plane | None) -> Plane:
        """Estimate the coverage of each pixel from three colours (`estimate_coverage`).

        Args:
            image: (height, width, 3).
            rough: (height, width), rough mask.
            behind: Background plate; None takes the nearest colour outside of the object.

        Returns:
            (height, width) in 0..1.
        """
        return self._soft(image, self.pieces(rough), behind, (0.0, 0.0))

    def mattes(self, video: Sequence[Plane] | Plane, rough: Iterable[Flags], behind: Plane | None) -> Plane:
        """Estimate the matte of each frame; edges reach as far as the object moves during the exposure.

        Args:
            video: (frames, height, width, 3).
            rough: Rough mask of each frame.
            behind: Background plate; None takes the nearest colour outside of the object.

        Returns:
            (frames, height, width) in 0..1.
        """
        cores = [self.pieces(mask) for mask in rough]
        ways = estimate_motions(cores)
        return np.stack([self._soft(*each) for each in zip(video, cores, [behind] * len(cores), ways, strict=True)])

    def _soft(self, image: Plane, core: Flags, behind: Plane | None, way: tuple[float, float]) -> Plane:
        matte = np.zeros(core.shape, np.float32)
        if not core.any():
            return matte
        blur = (0.5 * self.exposure * way[0], 0.5 * self.exposure * way[1])
        within, beyond = (_pixels(reach, core) for reach in (self.edge, self.soft))
        window = _window(core, beyond + 3 + round(max(abs(blur[0]), abs(blur[1]))))
        image, core = image[window], core[window]
        inner = _well_within(core, within, blur)
        outer = scipy.ndimage.binary_dilation(core, _ROUND, iterations=beyond) if beyond else core
        outer = _along(outer, blur)
        edge = outer & ~inner
        front = _nearest(image, inner)[edge]
        back = (_nearest(image, ~outer) if behind is None else behind[window])[edge]
        share = estimate_coverage(image[edge], front, back, self.gamma, self.shade)
        part = inner.astype(np.float32)
        part[edge] = np.clip((share - DREGS) / (1.0 - 2.0 * DREGS), 0.0, 1.0)
        matte[window] = part
        return matte


def _well_within(core: Flags, within: int, blur: tuple[float, float]) -> Flags:
    """Return the pixels that are object during the whole exposure: farther within than ``within`` and the blur.

    If the motion leaves none, the blur is reduced until some are left.
    """
    for part in (1.0, 0.8, 0.6, 0.4, 0.2):
        reach = round(part * within)
        inner = scipy.ndimage.binary_erosion(core, _ROUND, iterations=reach, border_value=1) if reach else core
        inner = ~_along(~inner, (part * blur[0], part * blur[1]))
        if inner.any():
            return inner
    return core


def _open_mask(part: Flags, reach: int) -> Flags:
    """Return a mask without parts narrower than twice ``reach`` [px]; the mask is extended beyond the image."""
    opened = scipy.ndimage.binary_opening(np.pad(part, reach, mode="edge"), _ROUND, iterations=reach)
    return np.asarray(opened[reach:-reach, reach:-reach])


def estimate_motions(masks: Sequence[Flags]) -> list[tuple[float, float]]:
    """Estimate the motion of each frame's object until the next frame: (down, right) [px]; 0 if unknown."""
    places = np.array([np.argwhere(mask).mean(axis=0) if mask.any() else (np.nan, np.nan) for mask in masks])
    steps = np.diff(places, axis=0)
    # The mean of the steps before and after, or the one that exists.
    found = np.full((len(masks), 2), np.nan)
    for k in range(len(masks)):
        beside = [steps[i] for i in (k - 1, k) if 0 <= i < len(steps) and np.isfinite(steps[i]).all()]
        if beside:
            found[k] = np.mean(beside, axis=0)
    return [(float(down), float(right)) for down, right in np.nan_to_num(found)]


def _along(mask: Flags, way: tuple[float, float]) -> Flags:
    """Return the area that a mask covers while it moves by ``way`` [px] forwards and backwards."""
    steps = int(np.ceil(np.hypot(*way)))
    found = mask.copy()
    for k in range(1, steps + 1):
        down, right = round(way[0] * k / steps), round(way[1] * k / steps)
        found |= scipy.ndimage.shift(mask, (down, right), order=0, cval=False)
        found |= scipy.ndimage.shift(mask, (-down, -right), order=0, cval=False)
    return found


def make_cleaning(given: Cleaning | Mapping[str, Any]) -> Cleaning:
    """Build a `Cleaning` from a table of its settings."""
    if isinstance(given, Cleaning):
        return given
    known = [f.name for f in fields(Cleaning)]
    for key in given:
        if key not in known:
            raise InputError(f"cleaning: it has no {key!r}{suggest_name(key, known) or '.'} It has: {', '.join(known)}")
    return Cleaning(**given)


def _pixels(reach: float, core: Flags) -> int:
    """Convert a reach to whole pixels: below 1 it is a part of the object's radius."""
    return round(reach * float(np.sqrt(core.sum() / np.pi))) if 0.0 < reach < 1.0 else round(reach)


def _window(mask: Flags, margin: int) -> tuple[slice, slice]:
    """Return the rows and columns around the pixels that are set."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return (
        slice(max(0, int(rows[0]) - margin), int(rows[-1]) + margin + 1),
        slice(max(0, int(columns[0]) - margin), int(columns[-1]) + margin + 1),
    )


def _hull(mask: Flags) -> Flags:
    """Return the convex hull of the pixels that are set."""
    places = np.argwhere(mask)
    if len(places) < 4 or np.ptp(places, axis=0).min() == 0:
        return mask
    sides = scipy.spatial.ConvexHull(places).equations
    grid = np.indices(mask.shape).reshape(2, -1).T
    inside = (grid @ sides[:, :2].T + sides[:, 2] <= 1e-9).all(1)
    return np.asarray(inside.reshape(mask.shape))


def _nearest(image: Plane, where: Flags) -> Plane:
    """Replace every pixel of an image by the nearest pixel in ``where``."""
    if not where.any():
        return image
    places = scipy.ndimage.distance_transform_edt(~where, return_distances=False, return_indices=True)
    return np.asarray(image[tuple(places)])


Colours = NDArray[Any]

#: Darkest colour that noise is scaled at, darkest shade, and smallest sine squared between the colours of object and
#: background at which a shade can be separated.
DARK, SHADE, APART = 0.05, 0.3, 0.05


def estimate_coverage(
    image: Colours, front: Colours, back: Colours, gamma: float = 1.0, shade: bool = False
) -> Colours:
    """Estimate the share of the object in pixels of mixed colour.

    Light is linear before encoding: i^gamma = a f^gamma + (1 - a) s b^gamma, solved for a by least squares of the
    encoded numbers, whose noise is uniform.

    Args:
        image: (n, 3), colours i of the pixels.
        front: (n, 3), colours f of the object.
        back: (n, 3), colours b behind the object.
        gamma: Exponent from numbers to light.
        shade: True to estimate a shadow s, from 0.3 to 1, where the two colours are not shades of each other; else s =
            1.

    Returns:
        (n,), a; it may lie outside 0..1.
    """
    light = [np.clip(colours, 0.0, None) ** gamma for colours in (image, front, back)]
    i, f, b = (each * np.maximum(image, DARK) ** (1.0 - gamma) for each in light)
    plain = _share_along(i, f, b)
    if not shade:
        return plain
    ff, fb, bb = dot(f, f), dot(f, b), dot(b, b)
    across = ff * bb - fb * fb
    safe = np.maximum(across, 1e-12)
    a = (dot(i, f) * bb - dot(i, b) * fb) / safe
    behind = (dot(i, b) * ff - dot(i, f) * fb) / safe  # (1 - a) s
    told = across > APART * ff * bb
    darkest = _share_along(i, f, SHADE * b)
    found = np.where(behind < SHADE * (1.0 - a), darkest, a)
    return np.asarray(np.where(told & (behind < 1.0 - a), found, plain), np.float32)


def _share_along(i: Colours, f: Colours, b: Colours) -> Colours:
    """Return (i - b).(f - b) / |f - b|^2."""
    span = f - b
    return np.asarray(dot(i - b, span) / np.maximum(dot(span, span), 1e-4), np.float32)


def dot(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the dot product over the channels; several times faster than a sum over an axis of three."""
    return np.asarray(np.einsum("...c,...c->...", a, b))
