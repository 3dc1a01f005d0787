"""Two renderers, one scene: the same pixels, and either fits what the other drew."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh

from diffloom.interfaces import Camera, Surface
from diffloom.plugins import get_renderer

SCENES = 20


def body(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A torus, a ball or a box, dented and turned at random."""
    random = np.random.default_rng(seed)
    shapes = (
        lambda: trimesh.creation.torus(0.9, 0.35, major_sections=20, minor_sections=10),
        lambda: trimesh.creation.icosphere(2),
        lambda: trimesh.creation.box((1.2, 1.5, 0.9)).subdivide(),
    )
    mesh = shapes[seed % 3]()
    mesh.apply_transform(trimesh.transformations.random_rotation_matrix(random.uniform(size=3)))
    vertices = np.asarray(mesh.vertices) * (1.0 + 0.05 * random.uniform(-1.0, 1.0, (len(mesh.vertices), 1)))
    return torch.tensor(vertices, dtype=torch.float32), torch.tensor(np.asarray(mesh.faces), dtype=torch.int64)


def view(seed: int) -> Camera:
    """Cameras at random, square and not, some with a principal point off the middle and unequal focal lengths."""
    random = np.random.default_rng(1000 + seed)
    size = ((64, 64), (48, 80), (80, 48))[seed % 3]
    eye = random.normal(size=3)
    eye = tuple(float(x) for x in 3.2 * eye / np.linalg.norm(eye))
    camera = Camera.look_at(eye, fov=float(random.uniform(40.0, 60.0)), size=size)
    if seed % 2:
        focal = camera.focal * torch.tensor([1.0, 1.15])
        centre = camera.centre + torch.tensor(random.uniform(-6.0, 6.0, 2), dtype=torch.float32)
        camera = Camera.intrinsics(camera.rotation, camera.eye, focal=focal, centre=centre, size=size)
    return camera


def test_same_faces_and_coverage():
    """Hard face indices are equal; at a small sigma the soft rasterizer covers what DIB-R covers."""
    dibr, softras = get_renderer("dibr")(), get_renderer("softras")(sigma=1e-7)
    pixels = differing = uncovered = 0
    for seed in range(SCENES):
        vertices, faces = body(seed)
        surface, camera = Surface(vertices[None], faces), view(seed)
        ours = dibr.render(surface, camera, outputs=("face_index", "depth"))
        theirs = softras.render(surface, camera, outputs=("face_index", "silhouette"))
        differing += int((ours.face_index != theirs.face_index).sum())
        uncovered += int(((ours.face_index >= 0) != (theirs.silhouette > 0.5)).sum())
        pixels += ours.face_index.numel()
        assert int((ours.face_index >= 0).sum()) > 200
    print(f"{pixels} pixels of {SCENES} scenes: {differing} face indices differ, {uncovered} covered by one only")
    # where two faces meet under a pixel's centre, rounding decides which of them it is
    assert differing <= 2e-5 * pixels
    assert uncovered <= 1e-3 * pixels


# Soft images widen the basin; the two draw a soft rim differently, so the place itself is read off sharp ones.
APPEARANCES = (
    {"dibr": {"sigmainv": 60.0}, "softras": {"sigma": 3e-3}},
    {"dibr": {"sigmainv": 3000.0}, "softras": {"sigma": 1e-4}},
)


@pytest.mark.parametrize("target_by", ["dibr", "softras"])
@pytest.mark.parametrize("fit_by", ["dibr", "softras"])
def test_translate_to_a_target(fit_by, target_by):
    """Move a mesh until its image is the target's, for any pair of renderers; the true place is found."""
    vertices, faces = body(1)
    camera = Camera.look_at((0.0, 0.6, 3.4), fov=50.0, size=(48, 48))
    truth = torch.tensor([0.3, -0.2, 0.15])
    outputs = ("silhouette",)
    place = torch.zeros(3, requires_grad=True)
    losses = []
    for appearance in APPEARANCES:
        with torch.no_grad():
            drawer = get_renderer(target_by)(**appearance[target_by])
            target = drawer.render(Surface((vertices + truth)[None], faces), camera, outputs=outputs)
        renderer = get_renderer(fit_by)(**appearance[fit_by])
        optimiser = torch.optim.Adam([place], lr=0.03)
        for step in range(60):
            optimiser.param_groups[0]["lr"] = 0.03 * (1.0 - step / 62.0)
            optimiser.zero_grad()
            found = renderer.render(Surface((vertices + place)[None], faces), camera, outputs=outputs)
            loss = (found.silhouette - target.silhouette).square().mean()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
    assert losses[-1] < 0.01 * losses[0]
    sideways = float((place.detach() - truth)[:2].abs().max())
    # the rims still differ a little, which a silhouette takes for a slightly different distance
    assert sideways < (0.01 if fit_by == target_by else 0.04)
