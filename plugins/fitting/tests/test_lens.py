"""The lens: a spot keeps light and has the radius it is given, and its gradients are exact."""

import dataclasses
import math

import fitting_toys
import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import InputError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.scene.lens import blur, spot_weights
from diffloom_fitting.scene.response import add_background, lay_over, respond_to_light, weigh_by_coverage
from diffloom_fitting.scene.sensor import LENS_BLUR
from diffloom_fitting.stages import Schedule, Stage

D = torch.float64


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.5, 1.3, 6.0])
def test_a_spot_keeps_light_and_has_its_radius(radius):
    weights = spot_weights(torch.tensor(radius, dtype=D))
    k = torch.arange(len(weights), dtype=D) - len(weights) // 2
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-14)
    assert float((weights * k**2).sum()) == pytest.approx(radius**2, abs=1e-9)
    assert float(weights.min()) > -1e-15


def test_a_large_spot_is_a_gaussian():
    weights = spot_weights(torch.tensor(5.0, dtype=D))
    k = torch.arange(len(weights), dtype=D) - len(weights) // 2
    gauss = torch.exp(-0.5 * (k / 5.0) ** 2) / math.sqrt(2.0 * math.pi) / 5.0
    assert float((weights - gauss).abs().max() / gauss.max()) < 0.006  # 1 / (8 r^2), and a little


def test_two_spots_are_one():
    image = torch.rand((2, 9, 41, 3), dtype=D, generator=torch.Generator().manual_seed(0))
    image[:, :, :16] = image[:, :, -16:] = 0.3
    twice = blur(blur(image, torch.tensor(0.9, dtype=D)), torch.tensor(1.2, dtype=D))
    once = blur(image, torch.tensor(1.5, dtype=D))
    assert float((twice - once)[:, 4, 18:23].abs().max()) < 2e-3  # borders come in from above and below
    flat = torch.full((1, 5, 7), 0.7, dtype=D)
    assert float((blur(flat, torch.tensor(2.0, dtype=D)) - flat).abs().max()) < 1e-14


def test_gradients_are_exact():
    image = torch.rand((2, 6, 5, 2), dtype=D, requires_grad=True, generator=torch.Generator().manual_seed(1))
    radius = torch.tensor(0.8, dtype=D, requires_grad=True)
    assert torch.autograd.gradcheck(blur, (image, radius), eps=1e-6, atol=1e-8)
    planes = image.detach()[..., 0].clone().requires_grad_()
    assert torch.autograd.gradcheck(blur, (planes, torch.tensor(3.0, dtype=D, requires_grad=True)), atol=1e-8)


def test_light_of_an_unbiased_renderer_counts_once():
    """Colours of a soft rasteriser are weighted by coverage; light that is weighted already stays unchanged."""
    painted = torch.rand((1, 3, 4, 4), dtype=D, generator=torch.Generator().manual_seed(2))
    behind = torch.tensor([0.2, 0.5, 0.9], dtype=D)
    weighed = weigh_by_coverage(painted)
    assert torch.allclose(add_background(weighed, behind), lay_over(painted, behind), atol=1e-15)
    sensor = fitting.Sensor(gain=0.7, gamma=1.4)
    alone = respond_to_light(weighed, sensor, {})
    assert torch.allclose(alone[..., :3], painted[..., 3:] * 0.7 * painted[..., :3] ** 1.4, atol=1e-12)
    assert torch.equal(respond_to_light(weighed, fitting.Sensor(), {}), weighed)


def scene_of(radius=0.0):
    view = fitting.Viewpoint(
        fitting.Orbit(distance=4.0, elevation=12.0, size=(20, 28)), sensor=fitting.Sensor(lens_blur=radius)
    )
    model = fitting_toys.ToyModel()
    params = model.params(D, velocity=[1.1, 1.7, 0.4])
    return fitting.Scene(model, fitting_toys.ToyRenderer(), view, params, dt=0.01, steps=60, integrator="toy_steps")


class Grounded(fitting_toys.ToyRenderer):
    """Draws red ground around its spots."""

    owns_background = True
    background = (0.1, 0.2, 0.3)

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        image = super().render(surface, camera, lights, ("rgba", "silhouette"))
        red = torch.tensor([1.0, 0.0, 0.0], dtype=image.rgba.dtype)
        rgb = image.rgba[..., :3] + (1.0 - image.silhouette[..., None]) * red
        return dataclasses.replace(image, rgba=torch.cat([rgb, image.rgba[..., 3:]], dim=-1))


@pytest.mark.usefixtures("toy_registry")
@pytest.mark.parametrize("radius", [0.0, 1.0])
def test_the_background_of_a_renderer_that_owns_one_stays(radius):
    scene = dataclasses.replace(scene_of(radius), renderer=Grounded())
    image = scene.render({}, torch.tensor([0.1], dtype=D)).image.rgba
    far = image[..., 3] < 1e-9
    assert bool(far.any())
    assert torch.allclose(image[far][:, :3], torch.tensor([1.0, 0.0, 0.0], dtype=D), atol=1e-6)
    with pytest.raises(InputError, match="ground of its own"):
        dataclasses.replace(scene, background=torch.zeros(20, 28, 3))


@pytest.mark.usefixtures("toy_registry")
def test_a_stage_may_change_the_lens():
    changed = scene_of().with_params({LENS_BLUR: 2.0})
    assert changed.viewpoint.sensor.lens_blur == 2.0
    assert scene_of(2.0).viewpoint.sensor == changed.viewpoint.sensor
    target = fitting.synthesise(scene_of(), {}, torch.linspace(0.05, 0.5, 3, dtype=D))
    stage = Stage("gauss_newton", 3, params={LENS_BLUR: Schedule(4.0, 0.5, "exponential")})
    experiment = Experiment(scene_of(), target, [fitting.Unknown("velocity", [1.0, 1.8, 0.3])], stages=(stage,))
    blurred, sharp = experiment.stage_objective(stage, None, 0), experiment.stage_objective(stage, None, 2)
    assert blurred.scene.viewpoint.sensor.lens_blur == pytest.approx(4.0)
    assert sharp.scene.viewpoint.sensor.lens_blur == pytest.approx(0.5)


def test_a_negative_radius_is_refused():
    with pytest.raises(InputError, match="lens_blur"):
        fitting.Sensor(lens_blur=-0.1)
    assert "lens_blur" in {field.name for field in dataclasses.fields(fitting.Sensor)}
