"""Things are seen where the camera's formula puts them, and near things hide far ones."""

from __future__ import annotations

import torch

from diffloom.interfaces import join
from diffloom.testing.checks import check, require
from diffloom.testing.renderers.images import draw, needs, offered, precision
from diffloom.testing.scenes import SIZE, front, square
from diffloom.testing.subjects import RendererSubject


@check("placement")
def where(subject: RendererSubject) -> str:
    """A square moved right and up is seen right and up, centred where the camera projects it."""
    output = "silhouette" if "silhouette" in offered(subject) else "rgba"
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
    needs(subject, "depth")
    dtype = precision(subject)
    found = float(draw(subject, square(2.0, 0.6, dtype), front(dtype), "depth")[0, SIZE[0] // 2, SIZE[1] // 2])
    require(abs(found - 2.0) <= 0.02, f"a square 2 m away has the depth {found:.4g} m")


@check("placement")
def hiding(subject: RendererSubject) -> None:
    """A near square hides one 1 m behind it, in whatever order they come."""
    needs(subject, "rgba")
    dtype = precision(subject)
    near, far = square(2.0, 0.5, dtype), square(3.0, 0.9, dtype)
    far = far.with_appearance(colours=torch.tensor([0.1, 0.2, 0.9], dtype=dtype))
    for both in ([near, far], [far, near]):
        rgb = draw(subject, join(both), front(dtype))[0, SIZE[0] // 2, SIZE[1] // 2, :3].double()
        off = float((rgb - torch.tensor([0.8, 0.4, 0.2], dtype=torch.float64)).abs().max())
        require(off <= 0.1, f"the middle shows {rgb.tolist()}; expected the nearer square's (0.8, 0.4, 0.2)")


CHECKS = (where, depth, hiding)
