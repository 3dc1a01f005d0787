"""Values that are assumed to be known, with an error: ± includes it."""

from dataclasses import replace

import fitting_toys as toys
import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_fitting import Experiment
from diffloom_fitting.fits import fit, run_fit
from diffloom_fitting.scene import Appearance, Orbit, Scene
from diffloom_fitting.targets import synthesise

TRUTH = {"gravity": 6.0, "drag": 0.8}


def scene_of(distance=5.0):
    model = toys.ToyModel()
    return Scene(
        model, toys.ToyRenderer(sigma=2.0), Orbit(distance, 10.0, size=(16, 16)), model.params(torch.float64), 0.02, 20,
        toys.ToySteps(), appearance=Appearance((0.9, 0.6, 0.3)),
    )  # fmt: skip


def noisy(scene):
    clean = synthesise(scene, TRUTH)
    noise = torch.randn(clean.frames.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return replace(clean, frames=clean.frames + 1e-3 * noise)


def deviation(result, name):
    return float(next(e.deviation for e in result.estimates if e.name == name))


def test_an_error_of_the_camera_is_as_large_as_the_shift_it_causes():
    scene = scene_of()
    target = noisy(scene)
    plain = run_fit(Experiment(scene, target, TRUTH))
    wide = run_fit(Experiment(scene, target, TRUTH, assumed={"camera.distance": 0.05}))
    nearer, farther = (fit(scene_of(distance), target, TRUTH) for distance in (4.95, 5.05))
    for name in TRUTH:
        ends = [float(next(e.found for e in each.estimates if e.name == name)) for each in (nearer, farther)]
        caused = 0.5 * abs(ends[1] - ends[0])
        assert caused > 3.0 * deviation(plain, name)  # noise alone does not say it
        wanted = (deviation(plain, name) ** 2 + caused**2) ** 0.5
        assert deviation(wide, name) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize(
    ("assumed", "words"),
    [
        ({"camera.distence": 1.0}, "nothing called 'camera.distence'"),
        ({"gravity": 1.0}, "this is an unknown"),
        ({"camera.distance": -1.0}, "above 0"),
        ({"camera.target": 0.1}, "got 3 numbers; expected one"),
    ],
)
def test_what_cannot_be_assumed_is_told(assumed, words):
    scene = scene_of()
    with pytest.raises(InputError, match=words):
        Experiment(scene, synthesise(scene, TRUTH), {"gravity": 6.0}, assumed=assumed)
