"""Areas: what a renderer draws beside what an ideal camera sees.

A renderer that declares itself ``unbiased`` is held to the limits; of any other the checks tell how far off it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Surface
from diffloom_testing.renderers.images import claimed_outputs, draw, precision, require_output
from diffloom_testing.results import Skip, check, count_comparisons, require
from diffloom_testing.scenes import DISTANCE, camera, front, gem, octahedron_faces
from diffloom_testing.subjects import RendererSubject

#: Most that a drawn radius may be off, relative to the true one.
RADIUS = 0.002
#: Most that an area's derivative may be off, relative to the analytic one.
SLOPE = 1e-3
#: Samples along the side of a pixel, and most that a pixel may be off from their mean.
SAMPLES, PIXEL = 64, 0.01


def hold(subject: RendererSubject, off: float, limit: float, found: str) -> str:
    """Raise Failure if an unbiased renderer is ``off`` by more than ``limit``; return the finding."""
    if subject.renderer.unbiased:
        require(off <= limit, f"{found}; an unbiased renderer is off by {limit:g} at most")
    else:
        count_comparisons()
    return found


def draw_coverage(subject: RendererSubject, surface: Surface, view: Camera) -> Tensor:
    """(height, width): coverage of the first frame."""
    if "silhouette" in claimed_outputs(subject):
        return draw(subject, surface, view, "silhouette")[0]
    return draw(subject, surface, view, "rgba")[0, ..., 3]


def make_sphere(radius: float, subdivisions: int, dtype: torch.dtype) -> Surface:
    """A sphere about the origin, of an octahedron's faces divided so often, with its vertices on the sphere."""
    vertices = torch.tensor(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=torch.float64
    )  # fmt: skip
    faces = octahedron_faces()
    for _ in range(subdivisions):
        edges = torch.cat([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).sort(dim=1).values
        pairs, back = edges.unique(dim=0, return_inverse=True)
        ab, bc, ca = (len(vertices) + back).reshape(3, -1)
        vertices = torch.cat([vertices, vertices[pairs].mean(dim=1)])
        a, b, c = faces.unbind(1)
        faces = torch.stack([a, ab, ca, b, bc, ab, c, ca, bc, ab, bc, ca], dim=1).reshape(-1, 3)
    vertices = radius * vertices / vertices.norm(dim=1, keepdim=True)
    return Surface(vertices[None].to(dtype), faces)


def make_torus(dtype: torch.dtype) -> Surface:
    """A tilted torus of 576 faces that hides a part of itself."""
    around, along = torch.meshgrid(torch.arange(24), torch.arange(12), indexing="ij")
    u, v = around * (2.0 * math.pi / 24), along * (2.0 * math.pi / 12)
    ring = 0.6 + 0.25 * torch.cos(v.double())
    points = torch.stack(
        [ring * torch.cos(u.double()), ring * torch.sin(u.double()), 0.25 * torch.sin(v.double())], -1
    ).reshape(-1, 3)
    tilt = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.4, -0.9], [0.0, 0.9, 0.4]], dtype=torch.float64)
    here = 12 * around + along
    right, up = 12 * ((around + 1) % 24) + along, 12 * around + (along + 1) % 12
    across = 12 * ((around + 1) % 24) + (along + 1) % 12
    faces = torch.cat([torch.stack([here, right, across], -1), torch.stack([here, across, up], -1)]).reshape(-1, 3)
    colours = 0.5 + 0.4 * torch.sin(3.0 * points)
    return Surface((points @ tilt.T)[None].to(dtype), faces, colours=colours.to(dtype))


def project_to_image(points: Tensor, view: Camera) -> Tensor:
    """(points, 3): column and row [px] from the image's corner, and depth [m]."""
    x, y, back = ((points.double() - view.eye.double()) @ view.rotation.double().T).unbind(-1)
    focal, centre = view.focal.double(), view.centre.double()
    return torch.stack([centre[0] - focal[0] * x / back, centre[1] + focal[1] * y / back, -back], dim=-1)


def supersample(surface: Surface, view: Camera, samples: int = SAMPLES) -> Tensor:
    """(height, width, 4): rgb over black and coverage, the mean of the nearest surface at samples x samples points of
    every pixel."""
    assert surface.colours is not None
    height, width = view.height, view.width
    points = project_to_image(surface.vertices[0], view)
    nearest = torch.zeros((height * samples, width * samples), dtype=torch.float64)
    colour = torch.zeros((*nearest.shape, 3), dtype=torch.float64)
    for face in surface.faces.tolist():
        x, y, z = points[face].unbind(-1)
        ends = []
        for values, size in ((x, width), (y, height)):
            low, high = int(float(values.min()) * samples), int(float(values.max()) * samples) + 1
            ends.append((min(max(low, 0), size * samples), min(max(high, 0), size * samples)))
        (left, right), (top, bottom) = ends
        area = (x[1] - x[0]) * (y[2] - y[0]) - (y[1] - y[0]) * (x[2] - x[0])
        if left >= right or top >= bottom or float(area) == 0.0:
            continue
        columns = (torch.arange(left, right, dtype=torch.float64) + 0.5) / samples
        rows = ((torch.arange(top, bottom, dtype=torch.float64) + 0.5) / samples)[:, None]
        parts = [
            ((x[k - 1] - x[k - 2]) * (rows - y[k - 2]) - (y[k - 1] - y[k - 2]) * (columns - x[k - 2])) / area / z[k]
            for k in range(3)
        ]
        total = parts[0] + parts[1] + parts[2]
        seen = (parts[0] > 0.0) & (parts[1] > 0.0) & (parts[2] > 0.0) & (total > nearest[top:bottom, left:right])
        nearest[top:bottom, left:right][seen] = total[seen]
        shares = torch.stack(parts, dim=-1)[seen] / total[seen][:, None]
        colour[top:bottom, left:right][seen] = shares @ surface.colours.double()[face]
    rgba = torch.cat([colour, (nearest > 0.0).double()[..., None]], dim=-1)
    return rgba.reshape(height, samples, width, samples, 4).mean(dim=(1, 3))


def radii(subject: RendererSubject) -> tuple[str, ...]:
    """Radii of the sphere in pixels; large images are for renderers that are held to them."""
    return ("1.5", "4.4", "17", "100") if subject.renderer.unbiased else ("1.5", "4.4", "17")


@check("areas", radii)
def sphere(subject: RendererSubject, pixels: str) -> str:
    """A sphere on the axis is drawn as the disc of radius f R / sqrt(d^2 - R^2) that it is."""
    dtype, radius, true = precision(subject), 0.3, float(pixels)
    size = 2 * math.ceil(true) + 12
    view = front(dtype, (size, size))
    view = replace(view, focal=torch.full_like(view.focal, true * math.sqrt(DISTANCE**2 - radius**2) / radius))
    surface = make_sphere(radius, 4 if subject.renderer.unbiased else 3, dtype)
    drawn = math.sqrt(float(draw_coverage(subject, surface, view).double().sum()) / math.pi)
    return hold(subject, abs(drawn / true - 1.0), RADIUS, f"drawn radius / true radius is {drawn / true:.4f}")


@check("areas")
def box(subject: RendererSubject) -> str:
    """A box that stands askew has the area of the polygon around its corners."""
    dtype = precision(subject)
    corners = 0.3 * torch.tensor(
        [[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)], dtype=torch.float64
    )  # fmt: skip
    faces = torch.tensor(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
         [1, 5, 7], [1, 7, 3]],
    )  # fmt: skip
    view = camera(dtype)
    places = project_to_image(corners, view)[:, :2].tolist()
    true = hull_area(places)
    found = float(draw_coverage(subject, Surface(corners[None].to(dtype), faces), view).double().sum())
    return hold(subject, abs(found / true - 1.0), 2.0 * RADIUS, f"drawn area / true area is {found / true:.4f}")


def hull_area(places: list[list[float]]) -> float:
    """Area of the convex polygon around points."""
    ordered = sorted(map(tuple, places))
    area = 0.0
    for points in (ordered, ordered[::-1]):
        chain: list[tuple[float, ...]] = []
        for x, y in points:
            while len(chain) > 1 and (
                (chain[-1][0] - chain[-2][0]) * (y - chain[-2][1]) <= (chain[-1][1] - chain[-2][1]) * (x - chain[-2][0])
            ):
                chain.pop()
            chain.append((x, y))
        area += sum(a[0] * b[1] - a[1] * b[0] for a, b in pairwise(chain))
    return 0.5 * area


@check("areas")
def torus(subject: RendererSubject) -> str:
    """A torus that hides a part of itself has the area that a dense sampling finds."""
    dtype = precision(subject)
    surface, view = make_torus(dtype), camera(dtype)
    true = float(supersample(surface, view)[..., 3].sum())
    found = float(draw_coverage(subject, surface, view).double().sum())
    return hold(subject, abs(found / true - 1.0), 2.0 * RADIUS, f"drawn area / true area is {found / true:.4f}")


@check("areas")
def tessellation(subject: RendererSubject) -> str:
    """A flat square of 2 faces and of 128 makes the same image."""
    output, dtype = "rgba" if "rgba" in claimed_outputs(subject) else "silhouette", precision(subject)
    turn = torch.tensor([[0.9, 0.3, 0.0], [-0.3, 0.9, 0.0], [0.0, 0.0, 1.0]], dtype=dtype)
    squares = [flat_square(count, dtype) for count in (1, 8)]
    turned = [replace(each, vertices=each.vertices @ turn) for each in squares]
    images = [draw(subject, each, front(dtype), output).double() for each in turned]
    off = float((images[0] - images[1]).abs().max())
    return hold(subject, off, 1e-9 if dtype == torch.float64 else 1e-4, f"{output} changes by {off:.2g}")


def flat_square(count: int, dtype: torch.dtype, half: float = 0.5) -> Surface:
    """A square across the axis of ``front``, of count x count cells; its colours run linearly across it."""
    steps = torch.linspace(-half, half, count + 1, dtype=torch.float64)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    points = torch.stack([x, y, torch.zeros_like(x)], dim=-1).reshape(-1, 3)
    cell = (torch.arange(count)[:, None] * (count + 1) + torch.arange(count)).reshape(-1)
    lower, upper = (
        torch.stack([cell, cell + 1, cell + count + 2], 1),
        torch.stack([cell, cell + count + 2, cell + count + 1], 1),
    )
    colours = torch.stack([0.5 + 0.6 * points[:, 0], 0.5 + 0.5 * points[:, 1], 0.4 + 0.0 * points[:, 0]], dim=-1)
    return Surface(points[None].to(dtype), torch.cat([lower, upper]), colours=colours.to(dtype))


def shapes(subject: RendererSubject) -> tuple[str, ...]:
    """Return the names of the supersampled shapes."""
    return ("gem", "torus")


@check("areas", shapes)
def supersampled(subject: RendererSubject, shape: str) -> str:
    """Each pixel is the mean over the nearest surfaces at 64 x 64 points."""
    require_output(subject, "rgba")
    dtype = precision(subject)
    surface, view = gem(1, dtype) if shape == "gem" else make_torus(dtype), camera(dtype)
    found = draw(subject, surface, view, "rgba")[0].double()
    off = float((found - supersample(surface, view)).abs().max())
    return hold(subject, off, PIXEL, f"the worst pixel is off by {off:.4f}")


def motions(subject: RendererSubject) -> tuple[str, ...]:
    """Return the changes of the derivative."""
    return ("size", "place", "depth")


@check("areas", motions)
def slope(subject: RendererSubject, by: str) -> str:
    """The gradient of a square's area by size and depth, and of where its pixels lie by place, is the analytic one."""
    if "vertices" not in subject.renderer.capabilities.gradients:
        raise Skip("the renderer claims no gradient of vertices")
    dtype = precision(subject)
    square, view = flat_square(2, dtype, half=0.4), front(dtype)
    change = torch.zeros((), dtype=dtype, requires_grad=True)
    shift = {"size": square.vertices / 0.4, "place": torch.tensor([1.0, 0.0, 0.0]), "depth": torch.tensor([0, 0, -1.0])}
    moved = replace(square, vertices=square.vertices + change * shift[by].to(dtype))
    alpha = draw_coverage(subject, moved, view)
    columns = torch.arange(alpha.shape[1], dtype=dtype) + 0.5 - view.centre[0]
    measured = (alpha * columns).sum() if by == "place" else alpha.sum()
    found = float(torch.autograd.grad(measured, change)[0])
    focal, side = float(view.focal[0]), 0.8
    area, middle = (focal * side / DISTANCE) ** 2, float(view.centre[0])
    # the pixels in which the upright edges lie, a side's length apart but for the rest of a pixel
    left, right = (math.floor(middle + sign * 0.5 * math.sqrt(area)) for sign in (-1.0, 1.0))
    speed = math.sqrt(area) * focal / DISTANCE
    true = {"size": 2.0 * area / 0.4, "place": speed * (right - left), "depth": -2.0 * area / DISTANCE}[by]
    return hold(subject, abs(found / true - 1.0), SLOPE, f"found / true slope is {found / true:.5f}")


CHECKS = (sphere, box, torus, tessellation, supersampled, slope)
