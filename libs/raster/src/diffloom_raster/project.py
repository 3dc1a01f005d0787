"""Projection: where points of the world lie in a camera's image, and how deep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.interfaces import Camera, InputError
from diffloom_kernels import Arena, array_of

from .programs import program
from .records import Cameras, Viewport

#: Nanoseconds to project one point, roughly.
PER_POINT = 8.0


def project(vertices: Tensor, camera: Camera) -> Tensor:
    """Places in the image, (frames, vertices, 3): x, y [px] and depth [m].

    vertices: (frames, vertices, 3) [m], world. x runs to the right and y down, both from the middle of the image:
    x = column - width / 2, y = row - height / 2, so that float32 is finest where things usually are. Pixel (i, j) has
    its centre at x = j + 0.5 - width / 2, y = i + 0.5 - height / 2. depth is the distance along the viewing axis.
    Points nearer than half of ``camera.near`` have no place: they get x = y = 0 and no gradient but their depth's;
    faces that use them must be cut first (``diffloom_raster.clip_near``). Differentiable in the vertices and in the
    camera's rotation, eye, focal and centre.
    """
    vertices = vertices.expand(frames_of(vertices, camera), -1, -1)
    viewport = Viewport(int(vertices.shape[1]), camera.near, camera.height, camera.width)
    screen: Tensor = _Projection.apply(viewport, vertices, *camera_tensors(camera))  # type: ignore[no-untyped-call]
    return screen


def camera_tensors(camera: Camera) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rotation and eye with a leading axis (1 where one serves all frames), focal and centre."""
    rotation, eye = camera.rotation, camera.eye
    return (
        rotation if rotation.dim() == 3 else rotation[None], eye if eye.dim() == 2 else eye[None],
        camera.focal, camera.centre,
    )  # fmt: skip


def camera_points(vertices: Tensor, camera: Camera) -> Tensor:
    """Camera coordinates (right, up, back) [m] of world points, (frames, vertices, 3)."""
    return (vertices - camera.eye.unsqueeze(-2)) @ camera.rotation.transpose(-1, -2)


def frames_of(vertices: Tensor, camera: Camera, appearance: Mapping[str, int] | None = None) -> int:
    """How many images surface and camera make together; each may have one frame or all of them.

    appearance: frames of colours and textures, by name.
    """
    counts = {"Surface.vertices": int(vertices.shape[0]), **(appearance or {})}
    if camera.rotation.dim() == 3:
        counts["Camera.rotation"] = int(camera.rotation.shape[0])
    if camera.eye.dim() == 2:
        counts["Camera.eye"] = int(camera.eye.shape[0])
    frames = max(counts.values())
    if any(n not in (1, frames) for n in counts.values()):
        said = ", ".join(f"{what} has {n} frames" for what, n in counts.items())
        raise InputError(f"{said}; expected the same number, or 1 for what does not change")
    return frames


def camera_cotangents(rows: Tensor, rotation: Tensor, eye: Tensor) -> list[Tensor]:
    """Cotangents of rotation, eye, focal and centre from a frame's row of 16 each, summed where one serves all."""
    turns, places = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:12]
    return [
        turns if rotation.shape[0] == len(rows) else turns.sum(0, keepdim=True),
        places if eye.shape[0] == len(rows) else places.sum(0, keepdim=True),
        rows[:, 12:14].sum(0), rows[:, 14:16].sum(0),
    ]  # fmt: skip


class _Projection(torch.autograd.Function):
    """(viewport, vertices, rotation, eye, focal, centre) -> screen."""

    @staticmethod
    def forward(ctx: Any, viewport: Viewport, vertices: Tensor, *camera: Tensor) -> Tensor:
        points = array_of(vertices).reshape(-1, 3)
        screen = Arena.of(vertices).floats(*points.shape)
        cameras = Cameras(*map(array_of, camera))
        program.run("project_forward", viewport, cameras, points, screen, work=len(points) * PER_POINT)
        ctx.viewport = viewport
        ctx.save_for_backward(vertices, *camera)
        return Arena.of(vertices).tensor(screen).reshape(vertices.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_screen: Tensor) -> tuple[Any, ...]:
        vertices, *camera = ctx.saved_tensors
        arena, points, adj = Arena.of(vertices), array_of(vertices).reshape(-1, 3), array_of(adj_screen).reshape(-1, 3)
        adj_points, adj_c = arena.floats(*points.shape, fill=0.0), arena.floats(*points.shape)
        given, work = (ctx.viewport, Cameras(*map(array_of, camera)), points, adj), len(points) * PER_POINT
        program.run("project_backward", *given, adj_points, adj_c, work=work)
        grads: list[Any] = [None] * 4
        if any(ctx.needs_input_grad[2:]):
            rows = arena.floats(vertices.shape[0], 16)
            program.run("camera_backward", *given, adj_c, rows, work=work)
            grads = camera_cotangents(arena.tensor(rows), camera[0], camera[1])
        return None, arena.tensor(adj_points).reshape(vertices.shape), *grads
