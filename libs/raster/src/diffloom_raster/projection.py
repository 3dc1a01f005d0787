"""Projection: positions of points in a camera's image, their depths, and cuts at the near plane.

A face with one corner in front of the near plane keeps a triangle, one with two keeps a quadrilateral, drawn as two
triangles whose common edge is marked hidden, because it bounds nothing. Everything is differentiable: a cut slides
along its edge as the vertices or the camera move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError
from diffloom.transforms import once_differentiable
from diffloom_kernels import Arena, as_array

from .pipelines import program
from .records import Cameras, Viewport

#: Time to project one point, roughly [ns].
PER_POINT = 8.0


def project(vertices: Tensor, camera: Camera) -> Tensor:
    """Return positions of points in the image.

    x runs to the right and y down, both from the middle of the image, where float32 is finest: pixel (i, j) has its
    centre at x = j + 0.5 - width / 2, y = i + 0.5 - height / 2. Depth is the distance along the viewing axis. Points
    nearer than half of ``camera.near`` have no position: they get x = y = 0 and no gradient but that of their depth.
    Faces that use them must be cut first (``clip_near``).

    Args:
        vertices: (frames, vertices, 3) [m], world. Differentiable.
        camera: Camera, with one pose or one for each frame. Differentiable in rotation, eye, focal and centre.

    Returns:
        (frames, vertices, 3): x, y [px] and depth [m].
    """
    vertices = vertices.expand(count_frames(vertices, camera), -1, -1)
    viewport = Viewport(int(vertices.shape[1]), camera.near, camera.height, camera.width)
    screen: Tensor = _Projection.apply(viewport, vertices, *read_camera(camera))  # type: ignore[no-untyped-call]
    return screen


def read_camera(camera: Camera) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the tensors of a camera, with a leading axis of frames for its pose.

    Args:
        camera: Camera, with one pose or one for each frame.

    Returns:
        Rotation (frames or 1, 3, 3), eye (frames or 1, 3) [m], focal (2,) and centre (2,) [px].
    """
    rotation, eye = camera.rotation, camera.eye
    return (
        rotation if rotation.dim() == 3 else rotation[None], eye if eye.dim() == 2 else eye[None],
        camera.focal, camera.centre,
    )  # fmt: skip


def to_camera_axes(vertices: Tensor, camera: Camera) -> Tensor:
    """Return world points in the camera's axes.

    Args:
        vertices: (frames, vertices, 3) [m], world. Differentiable.
        camera: Camera. Differentiable in rotation and eye.

    Returns:
        (frames, vertices, 3) right, up, back [m].
    """
    return (vertices - camera.eye.unsqueeze(-2)) @ camera.rotation.transpose(-1, -2)


def count_frames(vertices: Tensor, camera: Camera, appearance: Mapping[str, int] | None = None) -> int:
    """Return the number of images that a surface and a camera make together; each may have one frame or all of them.

    Args:
        vertices: (frames, vertices, 3).
        camera: Camera, with one pose or one for each frame.
        appearance: Frames of colours and textures, by name.

    Returns:
        Number of frames.

    Raises:
        InputError: Two of them have different numbers of frames, neither of them 1.
    """
    counts = {"Surface.vertices": int(vertices.shape[0]), **(appearance or {})}
    if camera.rotation.dim() == 3:
        counts["Camera.rotation"] = int(camera.rotation.shape[0])
    if camera.eye.dim() == 2:
        counts["Camera.eye"] = int(camera.eye.shape[0])
    frames = max(counts.values())
    if any(n not in (1, frames) for n in counts.values()):
        said = ", ".join(f"{what} has {n} frames" for what, n in counts.items())
        raise InputError(f"{said}; expected the same number, or 1 for a field that does not change")
    return frames


def split_camera_cotangents(rows: Tensor, rotation: Tensor, eye: Tensor) -> list[Tensor]:
    """Return cotangents of rotation, eye, focal and centre, summed where one serves all frames.

    Args:
        rows: (frames, 16), result of ``kernels.camera_adjoint``.
        rotation: Rotation as ``read_camera`` gives it.
        eye: Eye as ``read_camera`` gives it.

    Returns:
        Four tensors in the shapes of ``read_camera``.
    """
    turns, places = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:12]
    return [
        turns if rotation.shape[0] == len(rows) else turns.sum(0, keepdim=True),
        places if eye.shape[0] == len(rows) else places.sum(0, keepdim=True),
        rows[:, 12:14].sum(0), rows[:, 14:16].sum(0),
    ]  # fmt: skip


class _Projection(torch.autograd.Function):
    """Autograd function (viewport, vertices, rotation, eye, focal, centre) -> screen."""

    @staticmethod
    def forward(ctx: Any, viewport: Viewport, vertices: Tensor, *camera: Tensor) -> Tensor:
        points = as_array(vertices).reshape(-1, 3)
        screen = Arena.of(vertices).floats(*points.shape)
        cameras = Cameras(*map(as_array, camera))
        program.run("project_points", viewport, cameras, points, screen, work=len(points) * PER_POINT)
        ctx.viewport = viewport
        ctx.save_for_backward(vertices, *camera)
        return Arena.of(vertices).tensor(screen).reshape(vertices.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_screen: Tensor) -> tuple[Any, ...]:
        vertices, *camera = ctx.saved_tensors
        arena, points, adj = Arena.of(vertices), as_array(vertices).reshape(-1, 3), as_array(adj_screen).reshape(-1, 3)
        adj_points, adj_c = arena.floats(*points.shape, fill=0.0), arena.floats(*points.shape)
        given, work = (ctx.viewport, Cameras(*map(as_array, camera)), points, adj), len(points) * PER_POINT
        program.run("project_points_adjoint", *given, adj_points, adj_c, work=work)
        grads: list[Any] = [None] * 4
        if any(ctx.needs_input_grad[2:]):
            rows = arena.floats(vertices.shape[0], 16)
            program.run("project_cameras_adjoint", *given, adj_c, rows, work=work)
            grads = split_camera_cotangents(arena.tensor(rows), camera[0], camera[1])
        return None, arena.tensor(adj_points).reshape(vertices.shape), *grads


@dataclass(frozen=True)
class NearCut:
    """Triangles in front of the near plane, of all frames.

    Args:
        parents: (frames, cuts, 2) vertices between which a cut lies.
        fraction: (frames, cuts) position of a cut, 0 at the first parent and 1 at the second.
        corners: (triangles, 3) int32, rows of the (frames * (vertices + cuts), 3) points, frame by frame.
        face: (triangles,) int32, the face that each triangle is a part of.
        frame_start: (frames + 1,) int32, first triangle of a frame.
        hidden: (triangles,) bool, True if the edge from the last corner to the first lies inside a face.
        local: (triangles, 3, 2) corners of the face (0..2) between which a corner lies.
        cut: (triangles, 3) row of ``fraction`` flattened, -1 for an uncut corner.
    """

    parents: Tensor
    fraction: Tensor
    corners: Tensor
    face: Tensor
    frame_start: Tensor
    hidden: Tensor
    local: Tensor
    cut: Tensor

    def sibling(self) -> Tensor:
        """Return the other half of each quadrilateral.

        Returns:
            (triangles,) int32, -1 for triangles without another half.
        """
        halves = self.hidden.nonzero()[:, 0]
        other = torch.full_like(self.face, -1)
        other[halves[0::2]], other[halves[1::2]] = halves[1::2].to(other), halves[0::2].to(other)
        return other

    def frame(self) -> Tensor:
        """Return the frame that each triangle belongs to.

        Returns:
            (triangles,) int64.
        """
        counts = self.frame_start.long().diff()
        return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)

    def extend(self, values: Tensor) -> Tensor:
        """Return values of vertices followed by those of cuts.

        Args:
            values: (frames or 1, vertices, n). Differentiable.

        Returns:
            (frames, vertices + cuts, n).
        """
        frames, cuts = self.fraction.shape
        values = values.expand(frames, -1, -1)
        ends = values.gather(1, self.parents.reshape(frames, 2 * cuts, 1).expand(-1, -1, values.shape[2]))
        first, second = ends.reshape(frames, cuts, 2, values.shape[2]).unbind(2)
        return torch.cat([values, torch.lerp(first, second, self.fraction[..., None])], dim=1)

    def corner_values(self, values: Tensor) -> Tensor:
        """Return values at the corners of the triangles from those at the corners of faces.

        Args:
            values: (faces, 3, n) or (frames, faces, 3, n). Differentiable.

        Returns:
            (triangles, 3, n).
        """
        face = self.face.long()
        part = values[face] if values.dim() == 3 else values[self.frame(), face]
        width = part.shape[2]
        first, second = (part.gather(1, self.local[..., k, None].expand(-1, -1, width)) for k in (0, 1))
        flat = torch.cat([self.fraction.reshape(-1), self.fraction.new_zeros(1)])
        return torch.lerp(first, second, flat[self.cut][..., None])


def clip_near(vertices: Tensor, faces: Tensor, camera: Camera, depth: Tensor | None = None) -> NearCut | None:
    """Return the triangles in front of ``camera.near``, or None when no vertex is nearer and nothing needs cutting.

    Args:
        vertices: (frames, vertices, 3) [m]. Differentiable.
        faces: (faces, 3) int64.
        camera: Camera whose near plane cuts. Differentiable.
        depth: (frames, vertices) [m] where already known; it only decides which faces are cut.

    Returns:
        The cut triangles, or None.
    """
    if depth is None:
        depth = -to_camera_axes(vertices, camera)[..., 2].detach()
    front = depth.detach() >= camera.near
    if bool(front.all()):
        return None
    # Fractions need gradients of the vertices and the camera, which a given ``depth`` may not carry.
    exact = -to_camera_axes(vertices, camera)[..., 2]
    pieces = _cut_faces(front, faces)
    parents, fraction, cut = _find_cuts(pieces, exact, camera.near)
    frames, count = exact.shape
    stride = count + parents.shape[1]
    row = torch.where(cut >= 0, count + cut, pieces.vertex[..., 0]) + pieces.frame[:, None] * stride
    start = torch.searchsorted(pieces.frame, torch.arange(frames + 1, device=faces.device))
    flat = torch.where(cut >= 0, cut + pieces.frame[:, None] * parents.shape[1], -1)
    return NearCut(
        parents, fraction, row.to(torch.int32), pieces.face.to(torch.int32), start.to(torch.int32), pieces.hidden,
        pieces.local, flat,
    )  # fmt: skip


@dataclass(frozen=True)
class _Pieces:
    """Triangles whose corners lie between two vertices of their face (one vertex twice where uncut)."""

    frame: Tensor
    face: Tensor
    local: Tensor
    vertex: Tensor
    hidden: Tensor


#: Triangles that remain of a face, by the number of corners in front: each corner is a pair of the face's corners. The
#: face is turned so that the corner on a side of its own comes first.
_WHOLE = (((0, 0), (1, 1), (2, 2)),)
_ONE = (((0, 0), (0, 1), (0, 2)),)
_TWO = (((1, 1), (2, 2), (2, 0)), ((2, 0), (1, 0), (1, 1)))


def _cut_faces(front: Tensor, faces: Tensor) -> _Pieces:
    """Cut the faces, in the order of frames and faces."""
    inside = front[:, faces]
    number = inside.sum(-1)
    odd = torch.where(number[..., None] == 1, inside, ~inside)
    turn = torch.where((number == 1) | (number == 2), odd.to(torch.int64).argmax(-1), 0)
    found = []
    for count, shapes in ((3, _WHOLE), (1, _ONE), (2, _TWO)):
        frame, face = (number == count).nonzero(as_tuple=True)
        for part, shape in enumerate(shapes):
            pattern = torch.tensor(shape, device=faces.device).expand(len(face), 3, 2)
            local = (pattern + turn[frame, face][:, None, None]) % 3
            key = (frame * faces.shape[0] + face) * 2 + part
            hidden = torch.full_like(key, count == 2, dtype=torch.bool)
            found.append((key, frame, face, local, hidden))
    key, frame, face, local, hidden = (torch.cat(column) for column in zip(*found, strict=True))
    order = key.argsort()
    face, local = face[order], local[order]
    vertex = faces[face].gather(1, local.reshape(-1, 6)).reshape(-1, 3, 2)
    return _Pieces(frame[order], face, local, vertex, hidden[order])


def _find_cuts(pieces: _Pieces, depth: Tensor, near: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return parents and fractions, padded to one number in all frames, and each corner's cut (-1 for none)."""
    frames = depth.shape[0]
    is_cut = pieces.local[..., 0] != pieces.local[..., 1]
    frame = pieces.frame[:, None].expand(-1, 3)[is_cut]
    first = torch.searchsorted(frame, torch.arange(frames, device=frame.device))
    rank = torch.arange(len(frame), device=frame.device) - first[frame]
    width = int(rank.max()) + 1 if len(rank) else 0
    parents = torch.zeros((frames, width, 2), dtype=torch.int64, device=frame.device)
    parents[frame, rank] = pieces.vertex[is_cut]
    real = torch.zeros((frames, width), dtype=torch.bool, device=frame.device)
    real[frame, rank] = True
    ends = depth.gather(1, parents.reshape(frames, -1)).reshape(frames, width, 2)
    span = ends[..., 0] - ends[..., 1]
    fraction = torch.where(real, (ends[..., 0] - near) / torch.where(real, span, 1.0), 0.0)
    cut = torch.full(is_cut.shape, -1, dtype=torch.int64, device=frame.device)
    cut[is_cut] = rank
    return parents, fraction, cut
