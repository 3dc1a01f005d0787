"""The conformance suite, one test for each check; the physics; and pixels."""

import math

import pytest
import torch
from loom_diffusion.model import DiffusionModel

import diffloom_fitting as fitting
from diffloom import get_renderer, simulate
from diffloom.interfaces import InputError, SimulationError
from diffloom_testing import check_gradient, parametrize_with_checks

D = torch.float64


@parametrize_with_checks([DiffusionModel])
def test_conformance(subject, check):
    check()


def run(model, steps, dt=0.1, **values):
    return simulate(model, model.params(D, **values), dt=dt, steps=steps, save=(0, steps), integrator="custom_step")


def test_heat_is_neither_made_nor_lost():
    path = run(
        DiffusionModel(7, 9), 200, temperature=torch.rand(63, generator=torch.Generator().manual_seed(0)).double()
    )
    assert torch.allclose(path.q[1].sum(), path.q[0].sum(), rtol=1e-13)
    assert float(path.q[1].std()) < 0.9 * float(path.q[0].std())


def test_a_wave_decays_at_the_rate_of_the_grid():
    """cos(pi (j + 1/2) / columns) is a mode of the insulated grid."""
    columns, spacing, dt, diffusivity = 12, 0.08, 0.1, 0.003
    wave = torch.cos(math.pi * (torch.arange(columns, dtype=D) + 0.5) / columns)
    path = run(
        DiffusionModel(4, columns, spacing), 50, dt, diffusivity=diffusivity,
        temperature=(0.5 + 0.4 * wave).repeat(4),
    )  # fmt: skip
    rate = diffusivity * (2.0 - 2.0 * math.cos(math.pi / columns)) / spacing**2
    wanted = 0.5 + 0.4 * (1.0 - dt * rate) ** 50 * wave
    assert torch.allclose(path.q[1, :, 0].reshape(4, columns), wanted.expand(4, -1), atol=1e-13)


def test_steps_that_would_blow_up_are_refused():
    with pytest.raises(SimulationError, match="diffusion number .* is 0.3"):
        run(DiffusionModel(), 2, dt=1.0)
    with pytest.raises(InputError, match="expected at least 2 x 2"):
        DiffusionModel(rows=1)


def scene_of(renderer, **settings):
    plate = DiffusionModel(rows=9, columns=9, spacing=0.1)
    view = fitting.Orbit(distance=1.5, elevation=20.0, azimuth=25.0, fov=45.0, size=(32, 32))
    return fitting.Scene(
        plate, get_renderer(renderer)(**settings), view, plate.params(D), dt=0.1, steps=40, integrator="custom_step"
    )


@pytest.mark.parametrize("renderer", ["softras", "dibr"])
def test_the_plate_stands_still_and_its_colours_change(renderer):
    video = fitting.synthesise(scene_of(renderer), {"diffusivity": 0.004}, rate=2)
    assert torch.equal(video.masks, video.masks[:1].expand_as(video.masks))
    assert float((video.frames[-1] - video.frames[0]).abs().max()) > 0.1


@pytest.mark.parametrize("renderer", ["softras", "dibr"])
def test_the_gradient_of_pixels_is_exact(renderer):
    scene, times = scene_of(renderer), torch.tensor([0.5, 2.0, 3.95], dtype=D)

    def images(diffusivity, temperature):
        return scene.render({"diffusivity": diffusivity, "temperature": temperature}, times).image.rgba

    start = scene.params["temperature"].detach()
    found = check_gradient(images, {"diffusivity": torch.tensor(0.003, dtype=D), "temperature": start}, tolerance=1e-6)
    assert all(abs(each.autograd) > 1e-3 for each in found)


@pytest.mark.parametrize("renderer", ["softras", "dibr"])
def test_the_diffusivity_is_found_from_pixels(renderer):
    scene = scene_of(renderer)
    video = fitting.synthesise(scene, {"diffusivity": 0.004}, rate=2, levels=255)
    found = fitting.fit(scene, video, {"diffusivity": 0.0013})
    assert float(found["diffusivity"]) == pytest.approx(0.004, rel=1e-3)


@pytest.mark.parametrize("renderer, drawn", [("softras", "dibr"), ("dibr", "softras")])
def test_videos_of_the_other_renderer_show_the_same(renderer, drawn):
    """Compared inside the outline with a robust loss: at outlines and at seams between triangles the two differ."""
    sharp = {"softras": {"sigma": 1e-7, "gamma": 1e-5}, "dibr": {}}
    scene, other = (scene_of(name, **sharp[name]) for name in (renderer, drawn))
    video = fitting.synthesise(other, {"diffusivity": 0.004}, rate=2, levels=255)
    found = fitting.fit(scene, video, {"diffusivity": 0.0013}, loss=fitting.InteriorError(scale=3e-3))
    assert float(found["diffusivity"]) == pytest.approx(0.004, rel=1e-3)
