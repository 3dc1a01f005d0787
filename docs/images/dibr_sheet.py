"""Draw the contact sheets of the DIB-R renderer: python docs/images/dibr_sheet.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from bodies import checks, show, torus
from torch import Tensor

from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_raster import project
from diffloom_render_dibr.renderer import DibrRenderer

FOLDER = Path(__file__).parent
EVERYTHING = ("rgba", "silhouette", "depth", "face_index")


def silhouette(sigmainv: float, vertices: Tensor, faces: Tensor, view: Camera) -> Tensor:
    """The soft mask."""
    image = DibrRenderer(sigmainv=sigmainv).render(Surface(vertices[None], faces), view, outputs=("silhouette",))
    assert image.silhouette is not None
    return image.silhouette[0]


def show_change(axis: plt.Axes, plus: Tensor, minus: Tensor) -> None:
    """Show the change of an image between two places of the body, the second to the right of the first."""
    slope = plus - minus
    limit = float(slope.abs().quantile(0.995))
    show(axis, slope, "change as it moves right", cmap="RdBu", vmin=-limit, vmax=limit)


def sheet() -> None:
    """Ways of colouring, the soft mask from soft to sharp and how it changes, and what else an image holds."""
    vertices, faces, uv = torus()
    view = Camera.look_at((0.0, -2.2, 2.4), up=(0.0, 0.0, 1.0), fov=58.0, size=(160, 200))
    renderer = DibrRenderer(background=(0.08, 0.08, 0.1))
    rainbow = 0.5 + 0.5 * torch.cos(vertices * 2.0 + torch.tensor([0.0, 2.0, 4.0]))
    patches = torch.rand((len(faces), 3), generator=torch.Generator().manual_seed(0))
    lamp = (AmbientLight(0.2), PointLight((2.0, -2.0, 3.0), 0.7, 0.3))
    bands = torch.tensor([1.9, 0.1, 0.9, 0.3, 0.0, -0.2, 0.1, 0.2, 0.1])
    sky = HarmonicLight(0.8 * bands[:, None] * torch.tensor([[1.0, 0.9, 0.7]]))
    plain, matt, shiny = (Material(shading) for shading in ("unlit", "lambert", "phong"))

    def drawn(lights: tuple = (), **colour: object) -> Tensor:
        image = renderer.render(Surface(vertices[None], faces, **colour), view, lights)
        return image.rgba[0, ..., :3].clamp(0.0, 1.0)

    figure, axes = plt.subplots(5, 4, figsize=(12, 13.2))
    flat = axes.flat
    show(next(flat), drawn(colours=rainbow, material=plain), "colour per vertex")
    show(next(flat), drawn(colours=patches, colour_per="face", material=plain), "colour per face")
    show(next(flat), drawn(texture=Texture(checks(), uv), material=plain), "texture, bilinear")
    show(next(flat), drawn(texture=Texture(checks(), uv, filter="nearest"), material=plain), "texture, nearest")
    orange = torch.tensor([0.9, 0.45, 0.2])
    show(next(flat), drawn(lamp, colours=orange, material=matt), "Lambert")
    show(next(flat), drawn(lamp, colours=orange, material=shiny), "Phong")
    show(next(flat), drawn((sky,), colours=orange, material=matt), "spherical harmonics")
    show(next(flat), drawn(lamp, texture=Texture(checks(), uv), material=shiny), "texture and Phong")
    step = torch.tensor([1e-3, 0.0, 0.0])
    for k, sigmainv in enumerate((100.0, 1000.0, 7000.0, 50000.0)):
        masks = [silhouette(sigmainv, vertices + s * step, faces, view) for s in (0.0, 1.0, -1.0)]
        show(axes[2, k], masks[0], f"silhouette, sigmainv {sigmainv:.0f}", cmap="gray", vmin=0.0, vmax=1.0)
        show_change(axes[3, k], masks[1], masks[2])
    image = renderer.render(Surface(vertices[None], faces), view, outputs=EVERYTHING)
    covered = image.face_index[0] >= 0
    nothing = float("nan")
    show(axes[4, 0], torch.where(covered, image.depth[0], nothing), "depth", cmap="viridis_r")
    show(axes[4, 1], torch.where(covered, image.face_index[0] * 37 % 101, nothing), "face index", cmap="prism")
    show_pull(axes[4, 2], 100.0, vertices, faces, view)
    show_pull(axes[4, 3], 1000.0, vertices, faces, view)
    figure.tight_layout()
    figure.savefig(FOLDER / "dibr_sheet.png", dpi=80)


def show_pull(axis: plt.Axes, sigmainv: float, vertices: Tensor, faces: Tensor, view: Camera) -> None:
    """Show how a target to the right of the body pulls the vertices, by the gradient of the squared difference."""
    target = silhouette(sigmainv, vertices + torch.tensor([0.25, 0.0, 0.0]), faces, view)
    moving = vertices.clone().requires_grad_()
    (silhouette(sigmainv, moving, faces, view) - target).square().sum().backward()
    pull = -moving.grad * (0.3 / moving.grad.norm(dim=1).max())
    place = project(vertices[None], view)[0]
    ahead = project((vertices + pull)[None], view)[0] - place
    felt = ahead[:, :2].norm(dim=1) > 0.5
    (x, y), (u, v) = place[felt, :2].T, ahead[felt, :2].T
    show(axis, target, f"pull of a target, sigmainv {sigmainv:.0f}", cmap="Blues", alpha=0.6)
    axis.quiver(
        x + 0.5 * view.width, y + 0.5 * view.height, u, v, angles="xy", scale_units="xy", scale=1.0, width=0.006,
        color="crimson",
    )  # fmt: skip


def modes() -> None:
    """Show the differences from Kaolin."""
    floor = torch.tensor([[-2.0, -0.6, 1.5], [2.0, -0.6, 1.5], [2.0, -0.6, -6.0], [-2.0, -0.6, -6.0]])
    faces, uv = torch.tensor([[0, 1, 2], [0, 2, 3]]), torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    tiles = Texture(checks(16), uv.clamp(0.0, 1.0), filter="nearest")
    view = Camera.look_at((0.0, 0.4, 3.0), (0.0, -0.4, 0.0), fov=50.0, size=(160, 200))
    figure, axes = plt.subplots(2, 3, figsize=(11, 5.6), height_ratios=(2, 1))
    flat = axes.flat
    for compat, title in ((None, "perspective-correct (default)"), ("kaolin", 'affine (compat="kaolin")')):
        image = DibrRenderer(compat=compat).render(Surface(floor[None], faces, texture=tiles), view)
        show(next(flat), image.rgba[0, ..., :3], title)
    below = floor * torch.tensor([1.0, 1.0, 3.0])
    image = DibrRenderer().render(Surface(below[None], faces, texture=tiles), view)
    show(next(flat), image.rgba[0, ..., :3], "a floor cut at the near plane (default)")
    vertices, solid, _ = torus()
    wide = Camera.look_at((0.0, -2.2, 2.4), up=(0.0, 0.0, 1.0), fov=75.0, size=(80, 200))
    for compat, knum, title in (
        (None, 30, "the nearest 30 faces, isotropic (default)"), ("kaolin", 30, "the first 30 faces (Kaolin)"),
        ("kaolin", None, "Kaolin, all faces: softer sideways"),
    ):  # fmt: skip
        soft = DibrRenderer(sigmainv=200.0, boxlen=0.2, knum=knum, compat=compat)
        mask = soft.render(Surface(vertices[None], solid), wide, outputs=("silhouette",)).silhouette
        show(next(flat), mask[0], title, cmap="gray", vmin=0.0, vmax=1.0)
    figure.tight_layout()
    figure.savefig(FOLDER / "dibr_modes.png", dpi=80)


if __name__ == "__main__":
    sheet()
    modes()
