"""Forward and backward passes of renderers with fused pipelines, as far as they do not depend on how pixels are made.

The renderer's program has the pipelines "to_points" (part, setup, triangles, slots, sums over points) and
"values_adjoint" (repeats, stride, corners, triangles, slots, sums over rows of values).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from diffloom_kernels import as_array, cache_numbers

from .drawing import SceneStyle, SceneTensors
from .layout import ImageLayout
from .lighting import count_light_columns, split_light_cotangents
from .lighting_kernels import EYE
from .records import EntryCells, Lights, TileLists
from .surface_records import CornerSlots, PointCotangents, SurfaceLighting, SurfaceShading, Surfacing


class FusedPlan(Protocol):
    """Parameters of a draw that do not depend on the scene."""

    @property
    def layout(self) -> ImageLayout:
        """Layout of the images."""
        ...

    @property
    def setup(self) -> Any:
        """Constant arguments of the pipelines."""
        ...

    def run(self, pipeline: str, *args: Any) -> None:
        """Run a pipeline of the renderer's program.

        Args:
            pipeline: Name of the pipeline.
            args: Its arguments.
        """


class FusedDrawing(Protocol):
    """Triangles of one draw, projected and binned."""

    @property
    def plan(self) -> FusedPlan:
        """Plan of the draw."""
        ...

    @property
    def source(self) -> Any:
        """Record with ``points`` (points, 3) [m] and ``cameras``."""
        ...

    @property
    def triangles(self) -> Any:
        """Record of the triangles, as the renderer's pipelines take it."""
        ...

    @property
    def lists(self) -> TileLists:
        """Entries of the tiles."""
        ...

    def camera_adjoint(self, camera: list[Tensor], adjoint: PointCotangents) -> list[Tensor]:
        """Return cotangents of the camera.

        Args:
            camera: Rotation (frames or 1, 3, 3) and eye (frames or 1, 3) [m].
            adjoint: Cotangents of the points.

        Returns:
            Cotangents of rotation, eye, focal and centre.
        """


def make_shading(
    style: SceneStyle, given: SceneTensors, drawing: FusedDrawing, background: Sequence[float]
) -> SurfaceShading:
    """Return the colours and lights of a scene as kernels take them.

    Args:
        style: Properties of the scene without gradients.
        given: Tensors of the scene.
        drawing: The draw, for its points and cameras.
        background: rgb where nothing is drawn.

    Returns:
        Arrays that share memory with the tensors.
    """
    made, source = style.appearance, drawing.source
    texels, values = given.texels(made), as_array(given.values)
    surfacing = Surfacing(int(made.textured), texels, made.corners.faces, made.stride, values)
    normals = as_array(given.normals).reshape(-1, 3)
    lights = given.lights(style.kinds)
    lighting = SurfaceLighting(style.shading, source.points, normals, source.cameras.eye, style.material, lights)
    return SurfaceShading(surfacing, lighting, cache_numbers(drawing.plan.layout.arena, tuple(background)))


def allocate_slots(
    drawing: FusedDrawing, first_cell: Any, cells: int, parts: int, fill: float | None = None
) -> CornerSlots:
    """Return arrays for the cotangents of entries.

    Args:
        drawing: The draw.
        first_cell: (triangles,) first cell of each triangle.
        cells: Number of cells.
        parts: Number of parts, see ``CornerSlots``.
        fill: Number that ``sums`` starts from, None where kernels write all of it.

    Returns:
        The arrays.
    """
    layout = drawing.plan.layout
    arena, rows = layout.arena, int(drawing.lists.triangle.shape[0]) * layout.stripes
    sums = arena.floats(rows, parts, 9) if fill is None else arena.floats(rows, parts, 9, fill=fill)
    found = EntryCells(first_cell, arena.ints(cells, fill=0))
    return CornerSlots(layout.stripes, layout.corners, found, sums, arena.floats(layout.triangles, 3, 3))


def allocate_point_cotangents(drawing: FusedDrawing) -> PointCotangents:
    """Return arrays for the cotangents of points.

    Args:
        drawing: The draw.

    Returns:
        The arrays; those of ``world`` start from 0.
    """
    arena, shape = drawing.plan.layout.arena, drawing.source.points.shape
    return PointCotangents(arena.floats(*shape), arena.floats(*shape, fill=0.0), arena.floats(*shape))


class SceneAdjoint:
    """Backward pass of a scene: from what the main adjoint left in slots to cotangents of the scene's tensors.

    Args:
        drawing: The draw.
        style: Properties of the scene without gradients.
        given: Tensors of the scene.
        needed: For each tensor, True if its cotangent is wanted.

    Example:
        adjoint = SceneAdjoint(drawing, style, given, needed)
        table = adjoint.allocate_table(lights)
        ...  # the renderer's own pipeline fills table, slots and points
        found = adjoint.collect(slots, points, table, colour=True)
    """

    def __init__(self, drawing: FusedDrawing, style: SceneStyle, given: SceneTensors, needed: SceneTensors) -> None:
        self.drawing, self.style, self.given, self.needed = drawing, style, given, needed
        self.arena = drawing.plan.layout.arena

    @property
    def tabled(self) -> bool:
        """True if cotangents of lights, or of the eye that highlights are seen from, are wanted."""
        return self.style.lit and any((*self.needed.lighting, self.needed.eye))

    def allocate_table(self, lights: Lights) -> Any:
        """Return zeros for the cotangents of lights, (entries x stripes, columns); one row where none are wanted.

        Args:
            lights: The lights as kernels take them.

        Returns:
            The array that ``light_table_adjoint`` adds to.
        """
        entries = int(self.drawing.lists.triangle.shape[0])
        rows = entries * self.drawing.plan.layout.stripes if self.tabled else 1
        return self.arena.floats(rows, count_light_columns(lights), fill=0.0)

    def collect(
        self, slots: CornerSlots, adjoint: PointCotangents, table: Any, *, colour: bool
    ) -> dict[str, Tensor | Any]:
        """Return cotangents by the names of ``SceneTensors``, but for that of the texture's image.

        Args:
            slots: Cotangents of the entries.
            adjoint: Cotangents of the points.
            table: Cotangents of the lights.
            colour: True if colours were drawn.

        Returns:
            Those that are wanted, and that of the points.
        """
        found: dict[str, Any] = {}
        given, needed = self.given, self.needed
        if any(needed.camera):
            rows = self.drawing.camera_adjoint([given.rotation, given.eye], adjoint)
            found.update(zip(("rotation", "eye", "focal", "centre"), rows, strict=True))
        points = self.arena.tensor(adjoint.world)
        if self.style.lit:
            found["normals"] = self._to_points(2, slots).reshape(given.normals.shape)
            points = points + self._to_points(3, slots)
        found["points"] = points.reshape(given.points.shape)
        if colour and needed.values:
            found["values"] = self._gather_values(slots)
        if self.tabled:
            self._add_table(table, found)
        return found

    def _run(self, pipeline: str, *args: Any) -> None:
        self.drawing.plan.run(pipeline, *args)

    def _to_points(self, part: int, slots: CornerSlots) -> Tensor:
        """Return sums of one part of the slots over points."""
        sums = self.arena.floats(*self.drawing.source.points.shape)
        self._run("to_points", part, self.drawing.plan.setup, self.drawing.triangles, slots, sums)
        return self.arena.tensor(sums)

    def _gather_values(self, slots: CornerSlots) -> Tensor:
        """Return the cotangent of colours or texture coordinates."""
        made = self.style.appearance
        rows = self.arena.floats(*self.given.values.shape)
        repeats = self.drawing.plan.layout.triangles // max(1, int(made.corners.faces.shape[0]))
        self._run("values_adjoint", repeats, made.stride, made.corners, self.drawing.triangles, slots, rows)
        return self.arena.tensor(rows)

    def _add_table(self, rows: Any, found: dict[str, Any]) -> None:
        """Add sums over the rows of the light table, those of the eye frame by frame.

        Sums are taken over arrays, because the order of PyTorch's sums depends on its threads.
        """
        layout, eye = self.drawing.plan.layout, self.given.eye
        sums = self.arena.tensor(rows.sum(0))
        found.update(split_light_cotangents(sums, self.given.table))
        if self.style.shading < 2:
            return
        part = sums[None, EYE : EYE + 3]
        if eye.shape[0] > 1:
            start = self.arena.tensor(self.drawing.lists.start)[:: layout.tiles // layout.frames]
            bounds = [int(n) * layout.stripes for n in start]
            parts = [rows[a:b, EYE : EYE + 3].sum(0) for a, b in itertools.pairwise(bounds)]
            part = torch.stack([self.arena.tensor(part) for part in parts])
        found["eye"] = part if "eye" not in found else found["eye"] + part
