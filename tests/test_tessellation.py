"""The size in which curved bodies are drawn does not depend on how finely they are tessellated."""

import math

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Camera, InputError
from diffloom.plugins import get_model, get_renderer

DISTANCE, FOCAL, SIZE = 400.0, 16000.0, 96
#: Surface [m^2] of each shape, and two tessellations of it.
SHAPES = {
    "sphere": (4.0 * math.pi * 0.5**2, {"radius": 0.5}, [{"subdivisions": 1}, {"subdivisions": 2}]),
    "cylinder": (2.0 * math.pi * 0.4 * 1.2, {"radius": 0.4, "height": 0.8}, [{"segments": 8}, {"segments": 24}]),
    "cone": (
        math.pi * 0.5 * (0.5 + math.hypot(0.5, 1.0)), {"radius": 0.5, "height": 1.0},
        [{"segments": 8}, {"segments": 24}],
    ),
    "capsule": (
        2.0 * math.pi * 0.3 * (0.6 + 0.5), {"radius": 0.3, "length": 0.5},
        [{"segments": 8, "rings": 3}, {"segments": 20, "rings": 6}],
    ),
}  # fmt: skip


def body_surface(table):
    """The surface of a body at rest."""
    model = get_model("rigid")([table], ground=False)
    params = model.params(torch.float64)
    return model.surface(simulate(model, params, dt=1e-3, steps=1, save=(0,)), params)


def mean_area(table, directions=60):
    """Area of the outline [m^2], averaged over directions of view that are spread evenly."""
    surface, areas = body_surface(table), []
    for k in range(directions):
        height, turn = 1.0 - (2 * k + 1) / directions, k * math.pi * (3.0 - math.sqrt(5.0))
        flat = math.sqrt(1.0 - height**2)
        eye = torch.tensor([flat * math.cos(turn), height, flat * math.sin(turn)], dtype=torch.float64)
        view = Camera.look_at(
            DISTANCE * eye, (0.0, 0.0, 0.0), size=(SIZE, SIZE), far=2.0 * DISTANCE, dtype=torch.float64
        )
        view = type(view)(**{**vars(view), "focal": torch.full((2,), FOCAL, dtype=torch.float64)})
        drawn = get_renderer("coverage")().render(surface, view, outputs=("silhouette",)).silhouette
        areas.append(float(drawn.sum()) * (DISTANCE / FOCAL) ** 2)
    return sum(areas) / len(areas)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_outline_is_that_of_the_exact_body(shape):
    surface, sizes, tessellations = SHAPES[shape]
    coarse, fine = ({"shape": shape, **sizes, **cells} for cells in tessellations)
    inscribed = mean_area(coarse)
    found = [mean_area({**table, "tessellation": "area"}) for table in (coarse, fine)]
    assert inscribed < 0.98 * surface / 4.0
    assert found[0] == pytest.approx(found[1], rel=2e-3)
    assert found == pytest.approx([surface / 4.0] * 2, rel=4e-3)


def test_contact_and_mass_do_not_change():
    model = get_model("rigid")
    plain, wide = (model([{"shape": "sphere", "radius": 0.5, "tessellation": t}]) for t in ("vertices", "area"))
    assert plain.bodies[0].volume == wide.bodies[0].volume
    assert (plain.bodies[0].points == wide.bodies[0].points).all()
    assert plain.bodies[0].roundness == wide.bodies[0].roundness == 0.5


def test_shapes_without_an_exact_surface_are_refused():
    with pytest.raises(InputError, match=r"bodies\[0\]: tessellation: .* cylinder or cone"):
        get_model("rigid")([{"shape": "torus", "tessellation": "area"}])
    with pytest.raises(InputError, match="tessellation"):
        get_model("rigid")([{"shape": "sphere", "scale": [1.0, 2.0, 1.0], "tessellation": "area"}])
    with pytest.raises(InputError, match="tessellation"):
        get_model("rigid")([{"shape": "sphere", "tessellation": "inside"}])
