"""Draw the contact sheet of the soft rasterizer: python docs/images/softras_sheet.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from bodies import checks, show, torus
from torch import Tensor

from diffloom.interfaces import AmbientLight, Camera, Material, PointLight, Surface, Texture
from diffloom_render_softras.renderer import SoftRasRenderer

FOLDER = Path(__file__).parent
SIGMAS = (1e-3, 1e-4, 1e-5, 1e-6)
LIGHTS = (AmbientLight(0.3), PointLight((2.0, -2.0, 3.0), 0.7, 0.5))
BACKGROUND = (0.08, 0.08, 0.1)


def surfaces() -> dict[str, Surface]:
    """Return one body, coloured in several ways."""
    vertices, faces, uv = torus(12)
    patches = torch.rand((len(faces), 3), generator=torch.Generator().manual_seed(0))
    rainbow = 0.5 + 0.5 * torch.cos(vertices * 2.0 + torch.tensor([0.0, 2.0, 4.0]))
    shiny = Material("phong", shininess=24.0)
    orange = torch.tensor([0.9, 0.45, 0.2])
    return {
        "flat: a colour per face": Surface(vertices[None], faces, patches, "face"),
        "a colour per vertex": Surface(vertices[None], faces, rainbow),
        "Phong": Surface(vertices[None], faces, orange, material=shiny),
        "texture and Phong": Surface(vertices[None], faces, texture=Texture(checks(), uv), material=shiny),
    }


def pull(surface: Surface, camera: Camera, sigma: float) -> Tensor:
    """Show the change of each pixel's alpha when the body moves to the right: the support of the gradient."""

    def alpha(shift: Tensor) -> Tensor:
        moved = Surface(surface.vertices + shift * torch.tensor([1.0, 0.0, 0.0]), surface.faces)
        found = SoftRasRenderer(sigma=sigma).render(moved, camera, outputs=("silhouette",)).silhouette
        assert found is not None
        return found[0]

    step = 1e-3
    with torch.no_grad():
        return (alpha(torch.tensor(step)) - alpha(torch.tensor(-step))) / (2.0 * step)


def sheet() -> None:
    """Rows of colourings, columns of sigma; then silhouettes, the pull on them, and depth."""
    camera = Camera.look_at((0.0, -2.2, 2.4), up=(0.0, 0.0, 1.0), fov=58.0, size=(112, 140), near=1.0, far=10.0)
    bodies = surfaces()
    figure, axes = plt.subplots(len(bodies) + 3, len(SIGMAS), figsize=(11, 15.5))
    for row, (name, surface) in zip(axes, bodies.items(), strict=False):
        for axis, sigma in zip(row, SIGMAS, strict=True):
            renderer = SoftRasRenderer(sigma=sigma, gamma=1e-3, background=BACKGROUND)
            show(axis, renderer.render(surface, camera, LIGHTS).rgb[0].clamp(0.0, 1.0), f"{name}, sigma {sigma:.0e}")
    body = bodies["Phong"]
    for k, sigma in enumerate(SIGMAS):
        image = SoftRasRenderer(sigma=sigma, gamma=1e-3).render(body, camera, outputs=("silhouette", "depth"))
        assert image.silhouette is not None
        assert image.depth is not None
        show(axes[-3, k], image.silhouette[0], f"silhouette, sigma {sigma:.0e}", cmap="gray")
        slope = pull(body, camera, sigma)
        limit = float(slope.abs().quantile(0.995))
        show(axes[-2, k], slope, "change as it moves right", cmap="RdBu", vmin=-limit, vmax=limit)
        show(axes[-1, k], image.depth[0], "depth", cmap="viridis_r", vmin=2.0, vmax=4.5)
    figure.tight_layout()
    figure.savefig(FOLDER / "softras_sheet.png", dpi=68)


if __name__ == "__main__":
    sheet()
