"""Surfaces with materials of their own, drawn together: each as if it were alone, with exact gradients of all."""

import pytest
import torch

from diffloom.interfaces import (
    AmbientLight,
    DirectionalLight,
    FaceMaterials,
    HarmonicLight,
    InputError,
    Material,
    PointLight,
    Surface,
    Texture,
    join_surfaces,
)
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Orbit
from diffloom_fitting.scene import Appearance
from diffloom_physics_world.model import World
from diffloom_testing.gradients import check_gradient

DOUBLE = torch.float64
FACES = torch.tensor([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])
RENDERERS = [("softras", {"sigma": 1e-6, "gamma": 1e-6}), ("dibr", {})]
SKY = HarmonicLight(0.1 * torch.arange(1.0, 10.0, dtype=DOUBLE))
LIGHTS = (AmbientLight(0.3), PointLight((0.5, 2.0, 3.0), 0.6, 0.9), DirectionalLight((-0.4, 0.5, 1.0), 0.3, 0.5), SKY)
MATERIALS = (
    Material("unlit"),
    Material("lambert", ambient=0.5, diffuse=(0.9, 0.2, 0.4), specular=5.0),
    Material("phong", ambient=0.2, diffuse=0.7, specular=0.8, shininess=6.0),
    Material("phong", specular=(0.1, 0.5, 0.9), shininess=40.0),
)


def pyramid(across, material, **look):
    """A flat pyramid that looks at the camera."""
    base = [[0.0, 0.0, 0.25], [-0.4, -0.4, 0.0], [0.4, -0.4, 0.0], [0.4, 0.4, 0.0], [-0.4, 0.4, 0.0]]
    vertices = torch.tensor(base, dtype=DOUBLE) + torch.tensor([across, 0.0, 0.0], dtype=DOUBLE)
    return Surface(vertices[None], FACES, material=material, **look)


def row(materials=MATERIALS, textured=False):
    """One of each material, side by side; the second with a texture."""
    random = torch.Generator().manual_seed(0)
    looks = [{"colours": 0.2 + 0.8 * torch.rand((5, 3), generator=random, dtype=DOUBLE)} for _ in materials]
    if textured:
        looks[1] = {"texture": Texture(torch.rand((4, 5, 3), generator=random, dtype=DOUBLE), UV)}
    return [pyramid(k - 1.5, m, **look) for k, (m, look) in enumerate(zip(materials, looks, strict=True))]


UV = torch.tensor([[0.5, 0.5], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=DOUBLE)


def view(size=(24, 80)):
    return Orbit(distance=3.0, elevation=10.0, azimuth=5.0, size=size).camera(DOUBLE)


@pytest.mark.parametrize("textured", [False, True])
@pytest.mark.parametrize("name, settings", RENDERERS)
def test_each_material_is_drawn_as_alone(name, settings, textured):
    renderer = get_renderer(name)(background=(0.0, 0.0, 0.0), **settings)

    def drawn(surface):
        return renderer.render(surface, view(), LIGHTS).rgba

    parts = row(textured=textured)
    whole = join_surfaces(parts)
    assert isinstance(whole.material, FaceMaterials) and len(whole.materials) == 4
    image = drawn(whole)
    for part in parts:
        alone = drawn(part)
        mask = alone[..., 3] > 0.999
        assert int(mask.sum()) > 20
        assert float((image[mask] - alone[mask]).abs().max()) < 1e-9
        for other in MATERIALS:
            if other is not part.material:
                assert (
                    float(
                        (
                            drawn(part.replace_appearance(colours=part.colours, texture=part.texture, material=other))
                            - alone
                        )
                        .abs()
                        .max()
                    )
                    > 0.01
                )


@pytest.mark.parametrize("name, settings", [("softras", {"sigma": 1e-4, "gamma": 1e-3}), ("dibr", {})])
def test_gradients_of_every_material_are_exact(name, settings):
    """Check gradients by the factors of each, of the lights, and of places and colours; faces overlap."""
    renderer = get_renderer(name)(**settings)
    weights = torch.randn((1, 20, 40, 4), generator=torch.Generator().manual_seed(4), dtype=DOUBLE)

    def loss(ambient, diffuse, specular, shininess, lamp, places, colours):
        made = (
            Material("lambert", ambient[0], diffuse[0]),
            Material("unlit"),
            Material("phong", ambient[1], diffuse[1], specular[0], shininess[0]),
            Material("phong", ambient[2], diffuse[2], specular[1], shininess[1]),
        )
        parts = [pyramid(0.5 * (k - 1.5), m) for k, m in enumerate(made)]
        parts = [Surface(places[k][None], FACES, colours=colours[k], material=m) for k, m in enumerate(made)]
        lights = (AmbientLight(0.3), PointLight(lamp, 0.6, 0.9), SKY)
        return (renderer.render(join_surfaces(parts), view((20, 40)), lights).rgba * weights).sum()

    random = torch.Generator().manual_seed(1)

    def some(*shape):
        return 0.2 + torch.rand(shape, generator=random, dtype=DOUBLE)

    tilt = 0.05 * some(4, 5, 3)
    places = torch.stack([pyramid(0.9 * (k - 1.5), Material()).vertices[0] for k in range(4)]) + tilt
    inputs = {
        "ambient": some(3, 3), "diffuse": some(3, 3), "specular": some(2, 3), "shininess": 5.0 * some(2),
        "lamp": torch.tensor([0.5, 1.0, 3.0], dtype=DOUBLE), "places": places, "colours": some(4, 5, 3),
    }  # fmt: skip
    found = check_gradient(loss, inputs, tolerance=1e-6, step=1e-6)
    assert all(abs(one.autograd) > 1e-4 for one in found), "each of them shows"


@pytest.mark.parametrize("name, settings", RENDERERS)
def test_faces_that_reach_behind_the_camera_keep_their_material(name, settings):
    renderer, camera = get_renderer(name)(**settings), view()
    floor = torch.tensor([[-9.0, -1.0, -5.0], [9.0, -1.0, -5.0], [9.0, -1.0, 9.0], [-9.0, -1.0, 9.0]], dtype=DOUBLE)
    grey, quad = torch.full((3,), 0.6, dtype=DOUBLE), torch.tensor([[0, 2, 1], [0, 3, 2]])
    ground = Surface(floor[None], quad, colours=grey, material=MATERIALS[1])
    image = renderer.render(join_surfaces([*row()[:1], ground, *row()[2:]]), camera, LIGHTS).rgba
    alone = renderer.render(ground, camera, LIGHTS).rgba
    free = renderer.render(join_surfaces(row()), camera, LIGHTS).rgba[..., 3] < 1e-9
    shown = free & (alone[..., 3] > 0.999)
    assert int(shown.sum()) > 50
    assert float((image[shown] - alone[shown]).abs().max()) < 1e-9


def test_equal_materials_are_one():
    twice = (Material("phong", diffuse=(0.1, 0.2, 0.3)), Material("phong", diffuse=(0.1, 0.2, 0.3)))
    assert join_surfaces(row(twice)).material == twice[0]
    shared = torch.tensor([0.1, 0.2, 0.3], dtype=DOUBLE)
    assert (
        join_surfaces(row((Material("phong", diffuse=shared), Material("phong", diffuse=shared)))).materials[0].diffuse
        is shared
    )
    nested = join_surfaces([join_surfaces(row()), *row()[2:]])
    assert len(nested.materials) == 4
    assert nested.material.index.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [2] * 4 + [3] * 4


def test_bodies_of_a_world_have_materials():
    def ball(across):
        return {"name": "rigid", "bodies": [{"shape": "sphere", "radius": 0.1, "position": [across, 0, 0]}]}

    bodies = [
        {"name": "shiny", "model": ball(-0.2), "material": {"specular": 0.8, "shininess": 9}},
        {"name": "matt", "model": ball(0.2), "colour": [1, 0, 0], "material": {"diffuse": [0.5, 0.6, 0.7]}},
        {"name": "plain", "model": ball(0.0)},
    ]
    world = get_model("world")(bodies)
    params = world.params()
    start = world.initial_state(params)
    from diffloom.interfaces import Trajectory

    path = Trajectory(*({name: pair[k][None] for name, pair in start.sets.items()} for k in (0, 1)), torch.zeros(1))
    surface = world.surface(path, params)
    assert surface.materials == (
        Material("phong", specular=0.8, shininess=9.0), Material("lambert", diffuse=(0.5, 0.6, 0.7)), Material(),
    )  # fmt: skip
    with pytest.raises(InputError, match=r"appearance.shading: got 'phong' for bodies with 3 materials"):
        Appearance(shading="phong").apply(surface, surface.vertices[0])
    assert len(Appearance(pattern="position").apply(surface, surface.vertices[0]).materials) == 3
    for wrong, words in (
        ({"gloss": 1}, "shininess"),
        ({"ambient": -1.0}, "0 or more"),
        ({"shading": "flat"}, "lambert"),
    ):
        with pytest.raises(InputError, match=words):
            World([{"name": "a", "model": ball(0.0), "material": wrong}])


def test_scenes_with_unsupported_materials_are_refused():
    with pytest.raises(InputError, match=r"4 materials, and this renderer draws one for all faces"):
        get_renderer("dibr")(backend="kaolin").render(join_surfaces(row()), view())
    with pytest.raises(InputError, match="numbers run from 0 to 4; expected 0 to 3"):
        FaceMaterials(MATERIALS, torch.tensor([0, 4]))
    with pytest.raises(InputError, match="got 2 numbers for 4 faces"):
        pyramid(0.0, FaceMaterials(MATERIALS, torch.tensor([0, 1])))
    with pytest.raises(InputError, match="4 materials on different faces"):
        print(join_surfaces(row()).material.shading)
