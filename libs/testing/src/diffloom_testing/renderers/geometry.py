"""Checks of placement and depth, and of independence from the order of faces and from other frames."""

from __future__ import annotations

from dataclasses import replace

import torch

from diffloom.interfaces import Surface, join_surfaces
from diffloom_testing.renderers.images import claimed_outputs, draw, precision, require_output
from diffloom_testing.results import check, require
from diffloom_testing.scenes import SIZE, camera, front, gem, square
from diffloom_testing.subjects import RendererSubject


@check("placement")
def where(subject: RendererSubject) -> str:
    """A square moved right and up appears right and up, centred where the camera projects it."""
    output = "silhouette" if "silhouette" in claimed_outputs(subject) else "rgba"
    dtype = precision(subject)
    base = square(2.5, 0.25, dtype)
    shift = torch.tensor([0.5, 0.35, 0.0], dtype=dtype)
    moved = type(base)(base.vertices + shift, base.faces)
    found = draw(subject, moved, front(dtype), output).double()[0]
    mask = found[..., 3] if output == "rgba" else found
    rows, columns = (torch.arange(n, dtype=torch.float64) + 0.5 for n in SIZE)
    total = mask.sum()
    row, column = float((mask.sum(1) * rows).sum() / total), float((mask.sum(0) * columns).sum() / total)
    focal = float(front(dtype).focal[0])
    wanted = (0.5 * SIZE[0] - focal * 0.35 / 2.5, 0.5 * SIZE[1] + focal * 0.5 / 2.5)
    off = max(abs(row - wanted[0]), abs(column - wanted[1]))
    require(
        off <= 0.5,
        f"its middle is seen at row {row:.2f}, column {column:.2f}; expected {wanted[0]:.2f}, {wanted[1]:.2f}",
    )
    return f"off by {off:.2f} px"


@check("placement")
def depth(subject: RendererSubject) -> None:
    """The depth of a square is its distance along the viewing axis."""
    require_output(subject, "depth")
    dtype = precision(subject)
    found = float(draw(subject, square(2.0, 0.6, dtype), front(dtype), "depth")[0, SIZE[0] // 2, SIZE[1] // 2])
    require(abs(found - 2.0) <= 0.02, f"a square 2 m away has the depth {found:.4g} m")


@check("placement")
def hiding(subject: RendererSubject) -> None:
    """A near square hides one 1 m behind it, in either order."""
    require_output(subject, "rgba")
    dtype = precision(subject)
    near, far = square(2.0, 0.5, dtype), square(3.0, 0.9, dtype)
    far = far.replace_appearance(colours=torch.tensor([0.1, 0.2, 0.9], dtype=dtype))
    for both in ([near, far], [far, near]):
        rgb = draw(subject, join_surfaces(both), front(dtype))[0, SIZE[0] // 2, SIZE[1] // 2, :3].double()
        off = float((rgb - torch.tensor([0.8, 0.4, 0.2], dtype=torch.float64)).abs().max())
        require(off <= 0.1, f"the middle shows {rgb.tolist()}; expected the nearer square's (0.8, 0.4, 0.2)")


def tolerance(dtype: torch.dtype) -> float:
    """Return the tolerance for sums in another order."""
    return 1e-9 if dtype == torch.float64 else 1e-4


@check("face_order", claimed_outputs)
def faces(subject: RendererSubject, output: str) -> str:
    """Faces in another order make the same image; face numbers follow the order."""
    dtype = precision(subject)
    base = gem(2, dtype)
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    shuffled = Surface(base.vertices, base.faces[order], colours=base.colours)
    a, b = draw(subject, base, camera(dtype), output), draw(subject, shuffled, camera(dtype), output)
    if output == "face_index":
        b = torch.where(b >= 0, order[b.clamp_min(0)], b)
    off = float((a.double() - b.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} changes by {off:.3g} when faces come in another order")
    return f"{off:.1e}"


@check("face_order", claimed_outputs)
def vertices(subject: RendererSubject, output: str) -> str:
    """Vertices in another order, and faces that start at another corner, make the same image."""
    dtype = precision(subject)
    base = gem(2, dtype)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    back = torch.argsort(order)
    assert base.colours is not None
    shuffled = Surface(base.vertices[:, order], back[base.faces].roll(1, dims=1), colours=base.colours[order])
    a, b = draw(subject, base, camera(dtype), output), draw(subject, shuffled, camera(dtype), output)
    off = float((a.double() - b.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} changes by {off:.3g} when vertices come in another order")
    return f"{off:.1e}"


@check("batch", claimed_outputs)
def one_by_one(subject: RendererSubject, output: str) -> str:
    """Three frames drawn together are equal to each drawn alone."""
    dtype = precision(subject)
    surface = gem(3, dtype)
    together = draw(subject, surface, camera(dtype), output)
    alone = torch.cat([draw(subject, surface.frames([k]), camera(dtype), output) for k in range(3)])
    off = float((together.double() - alone.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} of three frames and of each alone differ by {off:.3g}")
    return f"{off:.1e}"


@check("batch", claimed_outputs)
def a_camera_per_frame(subject: RendererSubject, output: str) -> str:
    """A camera with one position per frame draws each frame from its position."""
    dtype = precision(subject)
    surface, view = gem(2, dtype), camera(dtype)
    eyes = torch.stack([view.eye, view.eye + 0.2])
    together = draw(subject, surface, replace(view, eye=eyes), output)
    each = [draw(subject, surface.frames([k]), replace(view, eye=eyes[k]), output) for k in range(2)]
    off = float((together.double() - torch.cat(each).double()).abs().max())
    require(off <= tolerance(dtype), f"{output} by a moving camera and by each of its places differ by {off:.3g}")
    return f"{off:.1e}"


CHECKS = (where, depth, hiding, faces, vertices, one_by_one, a_camera_per_frame)
