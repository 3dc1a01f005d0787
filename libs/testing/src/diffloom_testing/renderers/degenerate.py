"""Checks of empty scenes and degenerate faces: no crash and no NaN in images and gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Surface
from diffloom_testing.comparisons import require_finite
from diffloom_testing.renderers.images import claimed_outputs, differentiable_outputs, draw, precision
from diffloom_testing.results import check, count_comparisons, require
from diffloom_testing.scenes import DISTANCE, FAR, front, gem, square
from diffloom_testing.subjects import RendererSubject


def _with_faces(surface: Surface, rows: list[list[int]]) -> Surface:
    """Return the surface with more faces."""
    return Surface(surface.vertices, torch.cat([surface.faces, torch.tensor(rows, dtype=torch.int64)]))


def _make_squashed(dtype: torch.dtype) -> Surface:
    """Return a body collapsed to one point."""
    base = gem(1, dtype)
    return Surface(0.0 * base.vertices, base.faces)


def _edge_on(dtype: torch.dtype) -> Surface:
    """Return a square seen exactly from its edge."""
    base = square(2.0, 0.4, dtype)
    return Surface(base.vertices[..., [2, 1, 0]] * torch.tensor([0.0, 1.0, 1.0], dtype=dtype), base.faces)


def _through_the_camera(dtype: torch.dtype) -> Surface:
    """Return a triangle that begins before the camera and ends behind it."""
    rows = [[-0.4, -0.5, 0.0], [0.5, -0.5, 0.0], [0.0, -0.4, DISTANCE + 2.0]]
    return Surface(torch.tensor([rows], dtype=dtype), torch.tensor([[0, 1, 2]]))


SCENES: dict[str, Callable[[torch.dtype], Surface]] = {
    "a face with a corner twice": lambda dtype: _with_faces(gem(1, dtype), [[0, 0, 2], [4, 4, 4]]),
    "a face on a line": lambda dtype: Surface(
        torch.cat(
            [gem(1, dtype).vertices, torch.tensor([[[-0.9, 0, 0.5], [0, 0, 0.5], [0.9, 0, 0.5]]], dtype=dtype)], 1
        ),
        torch.cat([gem(1, dtype).faces, torch.tensor([[6, 7, 8]])]),
    ),
    "a face twice": lambda dtype: _with_faces(gem(1, dtype), [[0, 2, 4], [4, 2, 0]]),
    "a body in one point": _make_squashed,
    "a square from its edge": _edge_on,
    "a triangle through the camera": _through_the_camera,
    "a body as large as the sky": lambda dtype: Surface(100.0 * gem(1, dtype).vertices, gem(1, dtype).faces),
}
UNSEEN: dict[str, Callable[[torch.dtype], Surface]] = {
    "behind the camera": lambda dtype: Surface(
        gem(1, dtype).vertices + 4.0 * _z(dtype) * DISTANCE, gem(1, dtype).faces
    ),
    "beside the image": lambda dtype: Surface(gem(1, dtype).vertices + 50.0 * _x(dtype), gem(1, dtype).faces),
}


def _x(dtype: torch.dtype) -> Tensor:
    """Return the unit vector along x."""
    return torch.tensor([1.0, 0.0, 0.0], dtype=dtype)


def _z(dtype: torch.dtype) -> Tensor:
    """Return the unit vector along z."""
    return torch.tensor([0.0, 0.0, 1.0], dtype=dtype)


def scenes(subject: RendererSubject) -> tuple[str, ...]:
    """Return the names of the degenerate scenes."""
    return tuple(SCENES)


def hidden_scenes(subject: RendererSubject) -> tuple[str, ...]:
    """Return the names of the scenes with nothing in view."""
    return tuple(UNSEEN)


def draw_with_gradient(subject: RendererSubject, base: Surface, output: str) -> tuple[Tensor, Tensor]:
    """Return an output of a scene and the gradient of its sum by the vertices (zero if there is none)."""
    vertices = base.vertices.detach().clone().requires_grad_()
    found = draw(subject, Surface(vertices, base.faces), front(vertices.dtype), output)
    grad = None
    if "vertices" in subject.renderer.capabilities.gradients and found.requires_grad:
        (grad,) = torch.autograd.grad(found.sum(), vertices, allow_unused=True)
    return found.detach(), torch.zeros_like(vertices) if grad is None else grad


@check("degenerate", scenes)
def finite_everywhere(subject: RendererSubject, scene: str) -> None:
    """Images and gradients of degenerate faces are finite."""
    for output in differentiable_outputs(subject):
        found, grad = draw_with_gradient(subject, SCENES[scene](precision(subject)), output)
        require_finite(f"{output} of {scene}", found)
        require_finite(f"the gradient of {output} of {scene}", grad)


@check("degenerate", hidden_scenes)
def nothing_in_view(subject: RendererSubject, scene: str) -> None:
    """A body out of view leaves the background unchanged and has a zero gradient."""
    for output in claimed_outputs(subject):
        found, grad = draw_with_gradient(subject, UNSEEN[scene](precision(subject)), output)
        shown = found[..., 3] if output == "rgba" else found
        nothing = {"depth": FAR, "face_index": -1.0}.get(output, 0.0)
        off = float((shown.double() - nothing).abs().max())
        require(off <= 1e-6 * FAR, f"{output} is off by {off:.3g} though the body is {scene}")
        require(float(grad.abs().max()) <= 1e-9, f"{output} has a gradient though the body is {scene}")


@check("degenerate")
def no_faces(subject: RendererSubject) -> str:
    """A surface without faces gives the background, or InputError."""
    dtype = precision(subject)
    empty = Surface(gem(1, dtype).vertices, torch.zeros((0, 3), dtype=torch.int64))
    try:
        found = draw(subject, empty, front(dtype), differentiable_outputs(subject)[0])
    except InputError as error:
        count_comparisons()
        return f"refused: {error}"
    shown = found[..., 3] if found.dim() == 4 else found
    require(float(shown.abs().max()) <= 1e-6, "a surface without faces covers pixels")
    return "drawn as background"


CHECKS = (finite_everywhere, nothing_in_view, no_faces)
