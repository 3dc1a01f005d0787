"""Hostile and degenerate scenes: no renderer reads foreign memory, draws NaN, or lets rounding decide."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch.utils.checkpoint import checkpoint

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
from diffloom.plugins import get_renderer, renderers

RENDERERS = ("softras", "dibr")
NAN = float("nan")


def sheet(dtype: torch.dtype = torch.float32, **given: object) -> Surface:
    vertices = torch.tensor([[[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]]], dtype=dtype)
    colours = None if "texture" in given else torch.full((3, 3), 0.7, dtype=dtype)
    made = Surface(vertices, torch.tensor([[0, 1, 2]]), colours=colours, material=Material("phong"))
    return dataclasses.replace(made, **given)


def seen(dtype: torch.dtype = torch.float32, **given: object) -> Camera:
    return dataclasses.replace(Camera.look_at((0.0, 0.0, 3.0), size=(24, 24), dtype=dtype), **given)


def outputs(renderer) -> tuple[str, ...]:
    return tuple(sorted(renderer.capabilities.outputs & {"rgba", "silhouette", "depth"}))


LIGHTS = {
    "ambient": AmbientLight(NAN),
    "position": PointLight((NAN, 0.0, 0.0)),
    "diffuse": PointLight(diffuse=NAN),
    "specular": DirectionalLight(specular=float("inf")),
    "harmonics": HarmonicLight(torch.full((9,), NAN)),
    "far away": PointLight((1e300, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("light", list(LIGHTS))
def test_lights_are_finite(name, light):
    with pytest.raises(InputError, match="expected"):
        get_renderer(name)().render(sheet(), seen(), [LIGHTS[light]])


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("field", ["ambient", "diffuse", "specular", "shininess"])
def test_materials_are_finite(name, field):
    with pytest.raises(InputError, match=f"Material.{field}"):
        get_renderer(name)().render(sheet(material=Material("phong", **{field: NAN})), seen())


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("size", [1e18, 1e37])
def test_numbers_that_overflow_on_the_way_are_refused(name, size):
    renderer, plain = get_renderer(name)(), sheet()
    for surface, camera in (
        (dataclasses.replace(plain, vertices=plain.vertices * size), seen()),
        (dataclasses.replace(plain, colours=torch.full((3, 3), size)), seen()),
        (plain, seen(focal=torch.full((2,), size))),
        (plain, seen(rotation=seen().rotation * size)),
    ):
        with pytest.raises(InputError, match="expected none beyond"):
            renderer.render(surface, camera)


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (0, 4, 4, 3)])
def test_empty_textures_are_refused(name, shape):
    texture = Texture(torch.zeros(shape), torch.rand(3, 2))
    with pytest.raises(InputError, match=r"Texture\.image|frames"):
        get_renderer(name)().render(sheet(texture=texture, colours=None), seen())


@pytest.mark.parametrize("name", RENDERERS)
def test_faces_changed_in_place_are_looked_at_again(name):
    renderer, surface = get_renderer(name)(), sheet()
    renderer.render(surface, seen())
    surface.faces[0, 0] = 2**31
    with pytest.raises(InputError, match="changed in place"):
        renderer.render(surface, seen())


@pytest.mark.parametrize("name", RENDERERS)
def test_rendering_works_in_inference_mode(name):
    renderer, surface, camera = get_renderer(name)(), sheet(), seen()
    wanted = renderer.render(surface, camera, outputs=outputs(renderer))
    with torch.inference_mode():
        for made in (surface, sheet()):
            found = renderer.render(made, camera, outputs=outputs(renderer))
            assert torch.equal(found.rgba, wanted.rgba)


def test_rounding_does_not_decide_between_faces_that_lie_on_each_other():
    """Two sheets in one place, of which one counts: an offset that only rounding sees moves no pixel."""
    flat = sheet(torch.float64)
    vertices = torch.cat([flat.vertices, flat.vertices], dim=1)
    colours = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    both = Surface(vertices, torch.tensor([[0, 1, 2], [3, 4, 5]]), colours=colours, colour_per="face")
    renderer, camera = get_renderer("softras")(faces_per_pixel=1), seen(torch.float64)
    here = renderer.render(both, camera).rgba
    for sign in (1e-12, -1e-12):
        moved = vertices.clone()
        moved[0, 3:, 2] += sign
        there = renderer.render(dataclasses.replace(both, vertices=moved), camera).rgba
        assert float((here - there).abs().max()) < 1e-8


@pytest.mark.parametrize("sharpness", [1e-2, 1e-4, 1e-6])
def test_the_gradient_of_the_mask_is_exact_at_any_sharpness(sharpness):
    """Clamp 1 - p at its least: the mask no longer changes, so its gradient is 0 there."""
    from diffloom_raster import draw_soft_mask

    generator = torch.Generator().manual_seed(5)
    points = torch.tensor([[[4.2, 3.1, 2.0], [9.7, 4.4, 2.0], [6.3, 10.8, 2.0]]], dtype=torch.float64)
    weights = torch.rand((1, 16, 16), generator=generator, dtype=torch.float64)
    covered = torch.full((1, 16, 16), -1)

    def total(screen: torch.Tensor) -> torch.Tensor:
        mask = draw_soft_mask(screen, torch.tensor([[0, 1, 2]]), covered, sharpness=sharpness, reach=30.0)
        return (weights * mask).sum()

    screen = points.clone().requires_grad_(True)
    total(screen).backward()
    for number in range(3):
        way = torch.zeros_like(points)
        way[0, :, :2] = torch.rand((3, 2), generator=generator, dtype=torch.float64) - 0.5
        step = 1e-5
        slope = float(total(points + step * way) - total(points - step * way)) / (2.0 * step)
        found = float((screen.grad * way).sum())
        assert abs(found - slope) <= 1e-5 * max(abs(slope), 1e-4 * sharpness), number


#: Renderers that run everywhere and draw in double precision.
NATIVE = [name for name in renderers() if torch.float64 in get_renderer(name)().capabilities.dtypes]


def _dual(draw):
    def run(vertices):
        with torch.autograd.forward_ad.dual_level():
            return draw(torch.autograd.forward_ad.make_dual(vertices, vertices))

    return run


TRANSFORMS = {
    "vmap": lambda draw: lambda v: torch.func.vmap(draw)(v.expand(2, *v.shape)),
    "grad": torch.func.grad,
    "jvp": lambda draw: lambda v: torch.func.jvp(draw, (v,), (v,)),
    "jacrev": torch.func.jacrev,
    "dual": _dual,
}


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("transform", list(TRANSFORMS))
def test_transforms_are_refused_in_words(name, transform):
    def draw(vertices):
        return get_renderer(name)().render(sheet(torch.float64, vertices=vertices), seen(torch.float64)).rgba.sum()

    with pytest.raises(InputError, match="under no transform of torch.func.*use backward"):
        TRANSFORMS[transform](draw)(sheet(torch.float64).vertices)


@pytest.mark.parametrize("name", NATIVE)
def test_second_derivatives_are_refused_and_never_zero(name):
    """PyTorch's own decorator takes the Hessian of a sum, whose cotangents are constant, for zero."""

    def draw(vertices):
        return get_renderer(name)().render(sheet(torch.float64, vertices=vertices), seen(torch.float64)).rgba.sum()

    with pytest.raises(InputError, match="gradient of a gradient"):
        torch.autograd.functional.hessian(draw, sheet(torch.float64).vertices)
    with pytest.raises(InputError, match="several outputs"):
        torch.autograd.functional.jacobian(lambda v: torch.stack([draw(v), 2.0 * draw(v)]),
                                           sheet(torch.float64).vertices, vectorize=True)  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_both_kinds_of_checkpoint(name):
    def draw(vertices):
        return get_renderer(name)().render(sheet(torch.float64, vertices=vertices), seen(torch.float64)).rgba.sum()

    found = []
    for how in (lambda v: draw(v), *(lambda v, r=r: checkpoint(draw, v, use_reentrant=r) for r in (True, False))):
        vertices = sheet(torch.float64).vertices.requires_grad_()
        how(vertices).backward()
        found.append(vertices.grad)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@pytest.mark.parametrize("name", NATIVE)
def test_a_tensor_without_values_is_refused(name):
    with pytest.raises(InputError, match="'meta', which has no values"):
        get_renderer(name)().render(sheet(vertices=sheet().vertices.to("meta")), seen())
