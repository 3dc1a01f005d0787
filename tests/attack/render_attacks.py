"""Attacks on renderers: gradients and invariances of random scenes, and absurd scenes."""

from __future__ import annotations

import dataclasses

import torch
from physics_attacks import compared
from tape import Tape

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    DirectionalLight,
    HarmonicLight,
    InputError,
    Material,
    PointLight,
    Surface,
    Texture,
)
from diffloom.plugins import get_renderer

D = torch.float64


def soup(tape: Tape, dtype: torch.dtype = D, degenerate: bool = True) -> Surface:
    """Triangles here and there before the camera; degenerate: some of them thin, some in one place."""
    random = torch.Generator().manual_seed(tape.seed())
    count = tape.whole(1, 12)
    middle = torch.rand((count, 1, 3), generator=random, dtype=D) - 0.5
    corners = middle + tape.real(0.05, 1.0) * (torch.rand((count, 3, 3), generator=random, dtype=D) - 0.5)
    if degenerate and tape.choice([False, True]):
        corners[:, 2] = corners[:, 1] + tape.choice([1e-3, 1e-9, 0.0]) * corners[:, 2]
    if degenerate and tape.choice([False, True]) and count > 1:
        corners[1] = corners[0]
    vertices = corners.reshape(1, -1, 3).to(dtype)
    faces = torch.arange(3 * count).reshape(-1, 3)
    material = Material(tape.choice(["unlit", "lambert", "phong"]))
    return Surface(vertices, faces, torch.rand((3 * count, 3), generator=random, dtype=D).to(dtype), material=material)


def camera(tape: Tape, dtype: torch.dtype = D) -> Camera:
    size = (tape.whole(8, 24), tape.whole(8, 24))
    return Camera.orbit(tape.real(1.6, 3.0), tape.real(0.0, 60.0), tape.real(0.0, 360.0), size=size, dtype=dtype)


def renderer(tape: Tape):
    name = tape.choice(["softras", "dibr"])
    if name == "dibr":
        return name, get_renderer(name)(knum=tape.choice([30, None, 1]), sigmainv=tape.choice([7000.0, 100.0, 1.0]))
    return name, get_renderer(name)(
        sigma=tape.choice([1e-4, 1e-2, 1e-6]), gamma=tape.choice([1e-4, 1e-1]),
        faces_per_pixel=tape.choice([None, 3, 1]), cull_backfaces=tape.choice([False, True]),
    )  # fmt: skip


def invariances(tape: Tape) -> str:
    """Images are finite, in range, the same twice and in any order of faces; gradients are finite."""
    name, draw = renderer(tape)
    surface, seen = soup(tape), camera(tape)
    leaf = surface.vertices.clone().requires_grad_(True)
    image = draw.render(dataclasses.replace(surface, vertices=leaf), seen, outputs=("rgba", "depth", "silhouette"))
    again = draw.render(surface, seen, outputs=("rgba", "depth", "silhouette"))
    assert torch.equal(image.rgba.detach(), again.rgba), f"{name}: two images differ"
    assert bool(torch.isfinite(image.rgba).all() & torch.isfinite(image.depth).all()), f"{name}: not finite"
    assert bool(((image.silhouette >= 0.0) & (image.silhouette <= 1.0)).all()), f"{name}: the mask leaves 0..1"
    order = torch.randperm(len(surface.faces), generator=torch.Generator().manual_seed(tape.seed()))
    other = draw.render(dataclasses.replace(surface, faces=surface.faces[order]), seen, outputs=("silhouette",))
    apart = float((other.silhouette - again.silhouette).abs().max())
    assert apart < 1e-6, f"{name}: the order of faces changes the mask by {apart:.1e}"
    (image.rgba.square().sum() + image.depth.sum() + image.silhouette.sum()).backward()
    assert bool(torch.isfinite(leaf.grad).all()), f"{name}: the gradient is not finite"
    return "whole"


def gradient(tape: Tape) -> str:
    """The gradient of a soft image agrees with differences; faces without area, which are not drawn, have none."""
    surface, seen = soup(tape, degenerate=False), camera(tape)
    draw = get_renderer("softras")(sigma=tape.choice([1e-2, 1e-3]), gamma=tape.choice([1e-1, 1e-2]))
    lights = [AmbientLight(0.4), PointLight((0.5, 2.0, 2.0), 0.6, 0.3)]
    output = tape.choice(["silhouette", "rgba"])

    def picture(vertices: torch.Tensor, colours: torch.Tensor) -> torch.Tensor:
        made = dataclasses.replace(surface, vertices=vertices, colours=colours)
        return getattr(draw.render(made, seen, lights, outputs=(output,)), output)

    return compared(picture, {"vertices": surface.vertices, "colours": surface.colours}, f"softras {output}")


EXTREMES = (0.5, 0.0, -1.0, 1e-30, 1e6, 1e8, 1e12, 1e20, 1e37, 1e300, float("inf"), float("nan"))


def extremes(tape: Tape) -> str:
    """An absurd scene: a finite image, or a refusal by name."""
    dtype = tape.choice([D, torch.float32])
    name, draw = renderer(tape)
    surface, seen = soup(tape, dtype), camera(tape, dtype)
    value = float(torch.tensor(tape.choice(EXTREMES), dtype=D).to(dtype))
    lights: list = []
    where = tape.choice(["vertex", "vertices", "colours", "focal", "eye", "light", "material", "texture", "uv", "near"])
    try:
        if where == "vertex":
            vertices = surface.vertices.clone()
            vertices[0, 0, tape.whole(0, 2)] = value
            surface = dataclasses.replace(surface, vertices=vertices)
        elif where == "vertices":
            surface = dataclasses.replace(surface, vertices=surface.vertices * value)
        elif where == "colours":
            surface = dataclasses.replace(surface, colours=torch.full_like(surface.colours, value))
        elif where in ("focal", "eye"):
            seen = dataclasses.replace(seen, **{where: torch.full_like(getattr(seen, where), value)})
        elif where == "near":
            seen = dataclasses.replace(seen, near=abs(value))
        elif where == "light":
            sky = HarmonicLight(torch.full((9,), value, dtype=dtype))
            lamps = [AmbientLight(value), PointLight((value, 0.0, 1.0)), PointLight(specular=value), sky]
            lights = [tape.choice([*lamps, DirectionalLight((value, 1.0, 0.0))])]
        elif where == "material":
            field = tape.choice(["ambient", "diffuse", "specular", "shininess"])
            surface = dataclasses.replace(surface, material=Material("phong", **{field: value}))
        else:
            shape = tape.choice([(2, 2, 3), (0, 2, 3), (2, 0, 3), (1, 1, 3), (1, 2, 2, 3)])
            uv = torch.full((surface.vertices.shape[1], 2), value if where == "uv" else 0.5, dtype=dtype)
            image = torch.full(shape, value if where == "texture" else 0.5, dtype=dtype)
            surface = dataclasses.replace(surface, colours=None, texture=Texture(image, uv))
        leaf = surface.vertices.clone().requires_grad_(True)
        image = draw.render(dataclasses.replace(surface, vertices=leaf), seen, lights, outputs=("rgba", "depth"))
    except InputError as error:
        return f"refused: {str(error)[:80]}"
    assert bool(torch.isfinite(image.rgba).all() & torch.isfinite(image.depth).all()), f"{name}, {where} {value}: NaN"
    (image.rgba.sum() + image.depth.sum()).backward()
    assert bool(torch.isfinite(leaf.grad).all()), f"{name}, {where} {value}: the gradient is not finite"
    return "finite"
