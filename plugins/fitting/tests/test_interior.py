"""The loss for videos whose outlines another renderer drew."""

from dataclasses import replace

import fitting_toys as toys
import pytest
import torch

from diffloom.interfaces import Image, InputError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import run_fit
from diffloom_fitting.losses import InteriorError, PixelError
from diffloom_fitting.losses.robust import compress_residuals
from diffloom_fitting.optimisers import GaussNewton
from diffloom_fitting.scene import Appearance, Orbit, Scene, View
from diffloom_fitting.stages import Schedule, Stage
from diffloom_fitting.targets import Target, synthesise
from diffloom_fitting.unknowns import Unknown


def disc(radius, colour=0.5, edge=0.0, size=16):
    """(1, size, size, 4): a grey disc whose coverage falls to ``edge`` in its last pixel."""
    y, x = torch.meshgrid(torch.arange(size) - 7.5, torch.arange(size) - 7.5, indexing="ij")
    away = (x.square() + y.square()).sqrt().double()
    alpha = ((away < radius).double() + edge * ((away >= radius) & (away < radius + 1.0)).double()).clamp(max=1.0)
    return torch.cat([colour * alpha[..., None].expand(-1, -1, 3), alpha[..., None]], dim=-1)[None]


def loss_of(loss, seen, wanted):
    view = View(Image(rgba=seen), torch.zeros(1, 1, 3), None, torch.zeros(1))
    return float(loss.value(view, Target(torch.zeros(1), wanted)))


def test_outlines_do_not_count_and_colours_inside_do():
    soft, hard = disc(5.0, edge=0.6), disc(5.0)
    assert loss_of(PixelError(), hard, soft) > 1e-3
    assert loss_of(InteriorError(), hard, soft) == 0.0
    assert loss_of(InteriorError(), disc(5.0, 0.6), soft) == pytest.approx(0.01)


def test_leaving_the_inside_uncovered_costs():
    """The pixels are the target's: an object that has left does not match by showing nothing."""
    assert loss_of(InteriorError(), torch.zeros_like(disc(5.0)), disc(5.0)) == pytest.approx(0.25)


def test_seams_do_not_count():
    seamed = disc(5.0)
    seamed[0, 7] *= 0.75
    assert loss_of(InteriorError(), disc(5.0), seamed) == 0.0
    assert loss_of(InteriorError(level=0.7), disc(5.0), seamed) > 0.0


def test_differences_are_tamed_beyond_the_scale():
    d = torch.tensor([0.0, 1e-9, 1e-3, -0.1, 10.0], dtype=torch.float64, requires_grad=True)
    found = compress_residuals(d, 0.1)
    wanted = 0.01 * torch.log1p((d.detach() / 0.1).square())
    assert found.square().tolist() == pytest.approx(wanted.tolist(), rel=1e-12)
    assert found.sign().tolist() == d.sign().tolist()
    assert torch.autograd.gradcheck(
        lambda x: compress_residuals(x, 0.1), (d.detach()[1:].requires_grad_(),), eps=1e-9, atol=1e-6
    )
    found.sum().backward()
    assert d.grad[0] == 1.0


@pytest.mark.parametrize("wrong", [{"margin": -1}, {"level": 0.0}, {"level": 2.0}, {"scale": 0.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match="loss 'interior': got"):
        InteriorError(**wrong)


def test_a_target_without_an_inside_is_refused():
    with pytest.raises(InputError, match="no pixel lies 1 px inside"):
        loss_of(InteriorError(), disc(5.0), disc(1.0))
    with pytest.raises(InputError, match="got no masks"):
        loss_of(InteriorError(), disc(5.0), disc(5.0)[..., :3])


def test_a_scale_that_falls_lets_the_pixels_that_agree_decide():
    """A fifth of the video's colours are wrong: least squares is led astray, a falling scale is not."""
    model = toys.ToyModel()
    scene = Scene(
        model, toys.ToyRenderer(sigma=6.0, gain=1.0), Orbit(4.0, 10.0, size=(24, 24)), model.params(torch.float64),
        0.04, 8, toys.ToySteps(), appearance=Appearance((0.9, 0.6, 0.3), "position"),
    )  # fmt: skip
    video = synthesise(scene, {"gravity": 6.0})
    spoilt = video.frames.clone()
    spoilt[:, :, :8, :3] += 0.2
    target = replace(video, frames=spoilt)
    loss = InteriorError(level=0.6)

    def error(**settings):
        stage = Stage(GaussNewton(), 20, loss=loss, **settings)
        unknowns = [Unknown("gravity", 6.5)]
        return run_fit(Experiment(scene, target, unknowns, loss, (stage,)), sure=False).estimates[0].error

    assert error() > 1e-2
    assert error(loss_settings={"scale": Schedule(0.3, 1e-6, "exponential")}) < 1e-9
