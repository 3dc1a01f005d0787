"""Topologies and layouts: everything about images that does not depend on the points. Kept from call to call.

A topology lists the corners of faces that use a row (a vertex, a colour, a texture coordinate), so that cotangents can
be gathered by sums over them.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError
from diffloom_kernels import Arena, BoundRecord, Program, as_array

from .binning_kernels import TILE
from .projection import NearCut
from .records import Bins, Corners, FrameSetup, TileGrid, TileLists, TriangleMesh, Viewport

#: Number of topologies that are kept.
MOST = 32


@dataclass(frozen=True, eq=False)
class Topology:
    """Faces and the rows they use. Equal topologies are one object, so that results made from them can be kept.

    Args:
        faces: (faces, 3) int64.
        rows: Number of rows that faces may use.
        corners: The same faces as kernels read them.
    """

    faces: Tensor
    rows: int
    corners: Corners


_known: list[Topology] = []  # least recently used first
_lock = threading.Lock()


def find_topology(faces: Tensor, rows: int) -> Topology:
    """Return the topology of faces, a kept one where the content of the faces is equal.

    Faces are compared by content, because models may make them anew for each image, or change them in place.

    Args:
        faces: (faces, 3) int64.
        rows: Number of rows that the faces may use.

    Returns:
        The topology.

    Raises:
        InputError: An index lies outside of 0 to ``rows`` - 1.
    """
    for known in reversed(_known):
        if known.rows == rows and known.faces.device == faces.device and torch.equal(known.faces, faces):
            if known is not _known[-1]:
                _keep(known)
            return known
    made = _make_topology(faces.detach().clone(), rows)
    _keep(made)
    return made


def _keep(topology: Topology) -> None:
    """Move a topology to the end of the kept ones, and drop the least recently used."""
    with _lock:
        if topology in _known:
            _known.remove(topology)
        _known.append(topology)
        del _known[:-MOST]


def _make_topology(faces: Tensor, rows: int) -> Topology:
    """Make the topology of faces, after a check of their indices."""
    flat = faces.reshape(-1)
    if flat.numel() and not 0 <= int(flat.min()) <= int(flat.max()) < rows:
        raise InputError(
            f"faces: indices run from {int(flat.min())} to {int(flat.max())}; expected 0 to {rows - 1}: were they "
            "changed in place?"
        )
    start = torch.zeros(rows + 1, dtype=torch.int32, device=faces.device)
    torch.cumsum(torch.bincount(flat, minlength=rows), 0, out=start[1:])
    order = flat.argsort(stable=True)
    return Topology(faces, rows, Corners(*(as_array(t.to(torch.int32)) for t in (faces, start, order))))


class BehindNearError(Exception):
    """A point is nearer than the camera's near: faces must be cut before they can be drawn."""


@dataclass(frozen=True, eq=False)
class ImageLayout:
    """Sizes, tiles and topology of the images of one call.

    Args:
        arena: Precision and device of arrays.
        corners: Faces of one frame, or of all frames where they were cut.
        frames: Number of images.
        count: Number of points in a frame.
        cut: True if faces were cut at the near plane.
        frame_start: (frames + 1,) first triangle of each frame.
        sibling: Other halves of cut faces, see ``TriangleMesh``.
        height: Height of an image [px].
        width: Width of an image [px].
        near: Least depth [m].
        target: Where kernels run: "auto", "serial", "parallel" or "cuda".
        unit_plane: Pixel centres lie in [-1, 1], y up, instead of being counted in pixels from the middle, y down.
    """

    arena: Arena
    corners: Corners
    frames: int
    count: int
    cut: bool
    frame_start: Any
    sibling: Any
    height: int
    width: int
    near: float = -1e30
    target: str = "auto"
    unit_plane: bool = False

    @functools.cached_property
    def triangles(self) -> int:
        """Number of triangles of all frames."""
        faces = int(self.corners.faces.shape[0])
        return faces if self.cut else faces * self.frames

    @functools.cached_property
    def grid(self) -> TileGrid:
        """Tiles and pixel centres."""
        across, down = -(-self.width // TILE), -(-self.height // TILE)
        centres = compute_pixel_centres(self.arena, self.height, self.width, self.unit_plane)
        return TileGrid(across, down, self.height, self.width, *centres)

    @functools.cached_property
    def tiles(self) -> int:
        """Number of tiles of all frames."""
        return self.frames * self.grid.across * self.grid.down

    @functools.cached_property
    def padded(self) -> tuple[int, int, int]:
        """Frames, height and width of images padded to whole tiles."""
        return self.frames, TILE * self.grid.down, TILE * self.grid.across

    @functools.cached_property
    def whole(self) -> bool:
        """True if the images need no padding."""
        return self.padded[1:] == (self.height, self.width)

    @functools.cached_property
    def mesh(self) -> TriangleMesh:
        """Triangles as kernels read them."""
        period = self.count * self.frames if self.cut else self.count
        return TriangleMesh(period, self.corners.faces, self.frame_start, self.sibling)

    @functools.cached_property
    def bound(self) -> BoundRecord:
        """``FrameSetup``, bound once so that passing it to a pipeline costs nothing."""
        viewport = Viewport(self.count, self.near, self.height, self.width)
        bands = 1 if self.frames >= 4 else min(4, self.grid.down)
        return BoundRecord(FrameSetup(viewport, self.grid, self.mesh, self.grid.down if self.on_cuda else bands))

    @functools.cached_property
    def on_cuda(self) -> bool:
        """True if CUDA kernels run, or their simulator."""
        return not self.arena.on_host or self.target == "cuda"

    @functools.cached_property
    def lanes(self) -> int:
        """Number of elements of a run."""
        if self.on_cuda or numba.config.DISABLE_JIT:
            return 1
        return 8 if self.arena.dtype == torch.float32 else 4

    @functools.cached_property
    def stripes(self) -> int:
        """Number of runs in a tile's row of pixels."""
        return TILE // self.lanes

    @functools.cached_property
    def work(self) -> float:
        """Estimated time of a pipeline on one thread [ns], which decides if threads pay."""
        return 10.0 * self.frames * self.height * self.width + 100.0 * self.triangles

    def run(self, program: Program, pipeline: str, *args: Any) -> None:
        """Run a pipeline, on threads if the images are worth it.

        Args:
            program: Program of the pipeline.
            pipeline: Name of the pipeline.
            args: Its arguments.
        """
        program.run(pipeline, *args, target=self.target, work=self.work)

    def bins(self) -> Bins:
        """Allocate arrays to count triangles in.

        Returns:
            Arrays without values, except that the totals are zero.
        """
        arena, tiles = self.arena, self.tiles
        totals = arena.ints(self.frames + 1, 3, fill=0)
        return Bins(arena.ints(tiles), totals, arena.ints(tiles + 1), arena.ints(tiles), arena.ints(self.triangles))

    def lists(self, bins: Bins) -> tuple[TileLists, int, int]:
        """Allocate arrays for the entries that were counted.

        Args:
            bins: Result of the pipeline ``count_tiles``.

        Returns:
            The lists, the number of active tiles, and the number of cells.
        """
        entries, active, cells = (int(n) for n in bins.totals[self.frames].tolist())
        ints = self.arena.ints
        return TileLists(bins.start, ints(entries), ints(entries), bins.active), active, cells

    def pad_image(self, image: Tensor) -> Any:
        """Return an image as an array of whole tiles, 0 beyond the image.

        Args:
            image: (frames, ..., height, width).

        Returns:
            (frames, ..., rows, columns), sharing memory where no padding is needed.
        """
        _, height, width = self.padded
        if image.shape[-2:] == (height, width):
            return as_array(image)
        full = self.arena.floats(*image.shape[:-2], height, width, fill=0.0)
        full[..., : self.height, : self.width] = as_array(image)
        return full

    def crop(self, image: Any) -> Tensor:
        """Return an array of whole tiles as a tensor without its padding, sharing memory.

        Args:
            image: (frames, ..., rows, columns).

        Returns:
            (frames, ..., height, width).
        """
        tensor = self.arena.tensor(image)
        return tensor if self.whole else tensor[..., : self.height, : self.width]


def find_whole_layout(
    faces: Tensor, points: Tensor, camera: Camera, target: str, unit_plane: bool = False
) -> ImageLayout:
    """Return the layout of faces that are the same in every frame; kept, and found again by the content of the faces.

    Args:
        faces: (faces, 3) int64.
        points: (frames, count, 3); only its shape, precision and device matter.
        camera: Camera, for the size of images and the near plane.
        target: Where kernels run: "auto", "serial", "parallel" or "cuda".
        unit_plane: Pixel centres lie in [-1, 1], y up; see ``ImageLayout``.

    Returns:
        The layout.
    """
    return find_layout(
        find_topology(faces, int(points.shape[1])), int(points.shape[0]), Arena.of(points),
        (camera.height, camera.width), camera.near, target, unit_plane,
    )  # fmt: skip


@functools.lru_cache(maxsize=32)
def find_layout(
    topology: Topology, frames: int, arena: Arena, size: tuple[int, int], near: float = -1e30, target: str = "auto",
    unit_plane: bool = False,
) -> ImageLayout:  # fmt: skip
    """Return the layout of a topology repeated in every frame of images of ``size`` (height, width)."""
    start = torch.arange(frames + 1, dtype=torch.int32, device=arena.device) * topology.faces.shape[0]
    return ImageLayout(
        arena, topology.corners, frames, topology.rows, False, as_array(start), arena.ints(0), *size, near, target,
        unit_plane,
    )  # fmt: skip


def make_cut_layout(split: NearCut, points: Tensor, camera: Camera, target: str) -> ImageLayout:
    """Return the layout of faces cut at the near plane, triangles of all frames as one topology; not kept.

    Args:
        split: Cut that the near plane made.
        points: (frames, count, 3) vertices and cuts [m], ``split.extend(vertices)``.
        camera: Camera, for the size of images and the near plane.
        target: Where kernels run: "auto", "serial", "parallel" or "cuda".

    Returns:
        The layout.
    """
    frames, count = int(points.shape[0]), int(points.shape[1])
    corners = find_topology(split.corners.long(), frames * count).corners
    return ImageLayout(
        Arena.of(points), corners, frames, count, True, as_array(split.frame_start), as_array(split.sibling()),
        camera.height, camera.width, camera.near, target,
    )  # fmt: skip


@functools.lru_cache(maxsize=32)
def compute_pixel_centres(arena: Arena, height: int, width: int, unit_plane: bool = False) -> tuple[Any, Any]:
    """Return x of columns and y of rows for padded images: [px] from the middle, or on [-1, 1]^2 with y up."""
    j, i = np.arange(-(-width // TILE) * TILE), np.arange(-(-height // TILE) * TILE)
    if unit_plane:
        return arena.numbers((2 * j + 1 - width) / width), arena.numbers((height - 1 - 2 * i) / height)
    return arena.numbers(j + 0.5 - 0.5 * width), arena.numbers(i + 0.5 - 0.5 * height)
