"""Bodies and layout of the contact sheets of the renderers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
import trimesh
from torch import Tensor


def torus(sections: int = 24) -> tuple[Tensor, Tensor, Tensor]:
    """Vertices, faces, and texture coordinates of the vertices (which wrap around without a seam)."""
    mesh = trimesh.creation.torus(1.0, 0.42, major_sections=2 * sections, minor_sections=sections)
    vertices = np.asarray(mesh.vertices)
    around = np.arctan2(vertices[:, 1], vertices[:, 0])
    across = np.arctan2(vertices[:, 2], np.hypot(vertices[:, 0], vertices[:, 1]) - 1.0)
    uv = np.stack([0.5 + 0.5 * np.cos(3 * around), 0.5 + 0.5 * np.cos(across)], axis=-1)
    return torch.tensor(vertices).float(), torch.tensor(np.asarray(mesh.faces)).long(), torch.tensor(uv).float()


def checks(size: int = 8) -> Tensor:
    """A chessboard."""
    i, j = np.indices((size, size))
    odd = ((i + j) % 2)[..., None]
    return torch.tensor(np.where(odd, [0.95, 0.85, 0.3], [0.15, 0.25, 0.6]), dtype=torch.float32)


def show(axis: plt.Axes, image: Tensor | np.ndarray, title: str, **more: object) -> None:
    """One image of the sheet."""
    axis.imshow(np.asarray(image), interpolation="nearest", **more)
    axis.set_title(title, fontsize=9)
    axis.axis("off")
