"""HTML for notebooks: parameters as a table, surfaces as a table and a drawing of the mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from diffloom.interfaces.surface import Surface

__all__ = ["format_html_table", "format_tensor"]

#: Largest number of faces that are drawn, because browsers are slow with more.
MOST_FACES = 3000
#: Width and height of a drawing [px].
SIZE = 220


def format_html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML, with escaped cells.

    Args:
        head: Headings of the columns.
        rows: Cells by row.

    Returns:
        HTML text.
    """
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def format_tensor(value: Tensor) -> str:
    """Return a tensor in one line: its numbers if there are at most four, else its shape and range.

    Args:
        value: Tensor of any shape.

    Returns:
        Text.
    """
    flat = value.detach().flatten().tolist()
    if value.dim() == 0:
        return f"{flat[0]:.6g}"
    if len(flat) <= 4:
        return "(" + ", ".join(f"{number:.6g}" for number in flat) + ")"
    return f"{' × '.join(map(str, value.shape))}, {min(flat):.4g} to {max(flat):.4g}"


def format_params_html(values: Mapping[str, Tensor], dtype: torch.dtype) -> str:
    """Return the parameters as an HTML table."""
    rows = [(name, format_tensor(value), "yes" if value.requires_grad else "") for name, value in values.items()]
    return format_html_table(("parameter", "value", "gradient"), rows) + f"<p>{escape(str(dtype))}</p>"


def format_surface_html(surface: Surface) -> str:
    """Return the counts of a surface, and a drawing of its first frame from the front and above."""
    vertices = surface.vertices.detach()
    rows = [("frames", str(len(surface))), ("vertices", str(vertices.shape[1])), ("faces", str(len(surface.faces)))]
    if vertices.numel():
        low, high = vertices.amin(dim=(0, 1)), vertices.amax(dim=(0, 1))
        rows.append(("from, to [m]", f"{format_tensor(low)}, {format_tensor(high)}"))
    drawn = _draw_faces(vertices[0].cpu(), surface.faces.cpu()) if 0 < len(surface.faces) <= MOST_FACES else ""
    return format_html_table(("surface", ""), rows) + drawn


def _draw_faces(vertices: Tensor, faces: Tensor) -> str:
    """Return an SVG of one frame: faces from back to front, shaded by their angle to the viewer."""
    turn = torch.tensor([[0.82, 0.0, -0.57], [-0.22, 0.92, -0.32], [0.53, 0.39, 0.75]], dtype=vertices.dtype)
    seen = (vertices - 0.5 * (vertices.amin(0) + vertices.amax(0))) @ turn.T
    scale = 0.46 * SIZE / max(float(seen[:, :2].abs().max()), 1e-9)
    corners = seen[faces]
    normals = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = (normals[:, 2] / normals.norm(dim=1).clamp(min=1e-12)).abs()
    order = corners[..., 2].mean(dim=1).argsort()
    parts = []
    for k in order.tolist():
        points = " ".join(f"{SIZE / 2 + scale * x:.1f},{SIZE / 2 - scale * y:.1f}" for x, y, _ in corners[k].tolist())
        parts.append(f'<polygon points="{points}" fill="hsl(212 45% {25 + 45 * float(facing[k]):.0f}%)"/>')
    return f'<svg width="{SIZE}" height="{SIZE}" viewBox="0 0 {SIZE} {SIZE}">{"".join(parts)}</svg>'
