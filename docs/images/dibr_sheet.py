"""Draw the contact sheets of the DIB-R renderer: python docs/images/dibr_sheet.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
import trimesh
from torch import Tensor

from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom.shading import project
from diffloom_render_dibr.renderer import DibrRenderer

FOLDER = Path(__file__).parent
EVERYTHING = ("rgba", "silhouette", "depth", "face_index")


def torus() -> tuple[Tensor, Tensor, Tensor]:
    """Vertices, faces, and texture coordinates of the vertices (which wrap around once)."""
    mesh = trimesh.creation.torus(major_radius=1.0, minor_radius=0.42, major_sections=48, minor_sections=24)
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


def show(axis: plt.Axes, picture: Tensor | np.ndarray, title: str, **more: object) -> None:
    """One picture of the sheet."""
    axis.imshow(np.asarray(picture), interpolation="nearest", **more)
    axis.set_title(title, fontsize=9)
    axis.axis("off")


def sheet() -> None:
    """Ways of colouring, and what else a picture holds."""
    vertices, faces, uv = torus()
    view = Camera.look_at((0.0, -2.2, 2.4), up=(0.0, 0.0, 1.0), fov=50.0, size=(160, 200))
    renderer = DibrRenderer(background=(0.08, 0.08, 0.1))
    rainbow = 0.5 + 0.5 * torch.cos(vertices * 2.0 + torch.tensor([0.0, 2.0, 4.0]))
    patches = torch.rand((len(faces), 3), generator=torch.Generator().manual_seed(0))
    lamp = (AmbientLight(0.25), PointLight((2.0, -2.0, 3.0), 0.8, 0.5))
    bands = torch.tensor([1.9, 0.1, 0.9, 0.3, 0.0, -0.2, 0.1, 0.2, 0.1])
    sky = HarmonicLight(bands[:, None] * torch.tensor([[1.0, 0.9, 0.7]]))
    plain, matt, shiny = (Material(shading) for shading in ("unlit", "lambert", "phong"))

    def look(lights: tuple = (), **colour: object) -> Tensor:
        return renderer.render(Surface(vertices[None], faces, **colour), view, lights).rgba[0, ..., :3]

    figure, axes = plt.subplots(3, 4, figsize=(12, 8))
    flat = axes.flat
    show(next(flat), look(colours=rainbow, material=plain), "colour per vertex")
    show(next(flat), look(colours=patches, colour_per="face", material=plain), "colour per face")
    show(next(flat), look(texture=Texture(checks(), uv), material=plain), "texture, bilinear")
    show(next(flat), look(texture=Texture(checks(), uv, filter="nearest"), material=plain), "texture, nearest")
    orange = torch.tensor([0.9, 0.45, 0.2])
    show(next(flat), look(lamp, colours=orange, material=matt), "Lambert")
    show(next(flat), look(lamp, colours=orange, material=shiny), "Phong")
    show(next(flat), look((sky,), colours=orange, material=matt), "spherical harmonics")
    show(next(flat), look(lamp, texture=Texture(checks(), uv), material=shiny), "texture and Phong")
    image = renderer.render(Surface(vertices[None], faces), view, outputs=EVERYTHING)
    covered = image.face_index[0] >= 0
    depth = torch.where(covered, image.depth[0], float("nan"))
    show(next(flat), image.silhouette[0], "silhouette: the soft mask", cmap="gray")
    soft = DibrRenderer(sigmainv=150.0).render(Surface(vertices[None], faces), view, outputs=("silhouette",))
    show(next(flat), soft.silhouette[0], "softer: sigmainv = 150", cmap="gray")
    show(next(flat), depth, "depth", cmap="viridis_r")
    show(next(flat), torch.where(covered, image.face_index[0] * 37 % 101, float("nan")), "face index", cmap="prism")
    figure.tight_layout()
    figure.savefig(FOLDER / "dibr_sheet.png", dpi=90)


def modes() -> None:
    """What is corrected, and where gradients live."""
    floor = torch.tensor([[-2.0, -0.6, 1.5], [2.0, -0.6, 1.5], [2.0, -0.6, -6.0], [-2.0, -0.6, -6.0]])
    faces, uv = torch.tensor([[0, 1, 2], [0, 2, 3]]), torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    tiles = Texture(checks(16), uv.clamp(0.0, 1.0), filter="nearest")
    view = Camera.look_at((0.0, 0.4, 3.0), (0.0, -0.4, 0.0), fov=50.0, size=(160, 200))
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4))
    flat = axes.flat
    for compat, title in ((None, "perspective-correct (default)"), ("kaolin", 'affine (compat="kaolin")')):
        picture = DibrRenderer(compat=compat).render(Surface(floor[None], faces, texture=tiles), view)
        show(next(flat), picture.rgba[0, ..., :3], title)
    below = floor * torch.tensor([1.0, 1.0, 3.0])
    picture = DibrRenderer().render(Surface(below[None], faces, texture=tiles), view)
    show(next(flat), picture.rgba[0, ..., :3], "a floor cut at the near plane")
    vertices, solid, _ = torus()
    card = Camera.look_at((0.0, -2.2, 2.4), up=(0.0, 0.0, 1.0), fov=50.0, size=(80, 200))
    for compat, title in ((None, "wide picture: isotropic mask"), ("kaolin", "wide picture: Kaolin's mask")):
        soft = DibrRenderer(sigmainv=60.0, boxlen=0.4, compat=compat)
        mask = soft.render(Surface(vertices[None], solid), card, outputs=("silhouette",)).silhouette
        show(next(flat), mask[0], title, cmap="gray")
    show_gradient(next(flat), vertices, solid, view)
    figure.tight_layout()
    figure.savefig(FOLDER / "dibr_modes.png", dpi=90)


def show_gradient(axis: plt.Axes, vertices: Tensor, faces: Tensor, view: Camera) -> None:
    """How the vertices should move for the silhouette to reach a target to the right of it."""
    renderer = DibrRenderer(sigmainv=150.0)
    there = vertices[None] + torch.tensor([0.25, 0.0, 0.0])
    target = renderer.render(Surface(there, faces), view, outputs=("silhouette",))
    moving = vertices.clone().requires_grad_()
    mask = renderer.render(Surface(moving[None], faces), view, outputs=("silhouette",)).silhouette
    (mask - target.silhouette).square().sum().backward()
    place = project(vertices[None], view)[0]
    ahead = project((vertices - 0.02 * moving.grad)[None], view)[0] - place
    show(axis, target.silhouette[0], "pull of a target on the vertices", cmap="Blues", alpha=0.6)
    x, y = place[:, 0] + 0.5 * view.width, place[:, 1] + 0.5 * view.height
    axis.quiver(x, y, ahead[:, 0], ahead[:, 1], angles="xy", scale_units="xy", scale=0.05, width=0.003, color="crimson")


if __name__ == "__main__":
    sheet()
    modes()
