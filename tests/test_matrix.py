"""Every installed model with every integrator and every renderer: the gradient is right, and a parameter is found.

Everything registered is tested, so a new plugin gets these tests for free. A model takes part by offering
``example() -> Model`` and ``example_settings = ExampleSettings(dt=..., steps=..., fit=parameter)``.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, NoGradient
from diffloom.plugins import get_integrator, get_model, get_renderer, integrators, models, renderers
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import run_fit
from diffloom_fitting.gradient_check import check_gradient
from diffloom_fitting.losses import PixelError, SilhouetteError
from diffloom_fitting.optimisers import GaussNewton
from diffloom_fitting.scene import Orbit, Scene
from diffloom_fitting.stages import Stage, Stop
from diffloom_fitting.targets import synthesise
from diffloom_fitting.unknowns import Unknown

SIZE = (32, 32)


@functools.cache
def example(name):
    return get_model(name).example()


def settings(name):
    found = get_model(name).example_settings
    return found.dt, found.steps, found.fit


#: Each pair of model and integrator compiles programs of its own: these run with every renderer, the rest when asked.
ALWAYS = ("semi_implicit", "backward_euler", "custom_step")


#: Differences need double precision; what draws in single precision has tests of its own.
EXACT = [name for name in renderers() if torch.float64 in get_renderer(name)().capabilities.dtypes]


def triples():
    """(model, integrator, renderer) for every pair of model and integrator that is possible."""
    found = []
    for model in models():
        if get_model(model).example_settings is None:
            continue
        dynamics = example(model).dynamics(example(model).params(torch.float64), Control())
        for integrator in integrators():
            if get_integrator(integrator)().refuses(dynamics) is None:
                found += [(model, integrator, renderer) for renderer in EXACT]
    return found


TRIPLES = triples()
MARKED = [
    pytest.param(t, id="-".join(t), marks=() if t[1] in ALWAYS or t[0] == "springs" else pytest.mark.slow)
    for t in TRIPLES
]


def scene_of(model_name, integrator, renderer):
    """The model's example, recorded so that it fills the image."""
    model = example(model_name)
    dt, steps, _ = settings(model_name)
    params = model.params(torch.float64, **get_model(model_name).example_settings.values)
    ends = {"dt": dt, "steps": steps, "save": (0, steps)}
    trajectory = simulate(model, params, **ends, integrator=integrator, gradient=NoGradient())
    points = model.surface(trajectory, params).vertices.reshape(-1, 3)
    middle = 0.5 * (points.min(dim=0).values + points.max(dim=0).values)
    reach = float((points - middle).norm(dim=1).max())
    view = Orbit(2.2 * reach, 15.0, 25.0, tuple(middle.tolist()), size=SIZE, near=0.05 * reach, far=20.0 * reach)
    return Scene(model, get_renderer(renderer)(), view, params, dt, steps, integrator)


def experiment_of(triple):
    """The first parameter the example names, off by a tenth (or by a tenth of a metre a second where it is 0)."""
    scene = scene_of(*triple)
    _, steps, name = settings(triple[0])
    known = scene.params[name]
    truth = known * 1.1 + 0.1 * (known == 0.0)
    times = torch.tensor([steps // 2, steps], dtype=torch.float64) * scene.dt
    target = synthesise(scene, {name: truth}, times)
    unknown = Unknown(name, known)
    # Smoke shows by its texture alone, and its outline stands still.
    loss = PixelError() if triple[0] == "smoke" else SilhouetteError()
    return Experiment(scene, target, [unknown], loss)


def test_the_matrix_covers_what_is_installed():
    assert {t[0] for t in TRIPLES} == set(models())
    assert {t[2] for t in TRIPLES} == set(EXACT) >= {"softras", "dibr", "coverage"}
    assert len(TRIPLES) >= len(models()) * len(EXACT)


@pytest.mark.parametrize("triple", MARKED)
def test_the_gradient_of_pixels_agrees_with_differences(triple):
    experiment = experiment_of(triple)
    found = check_gradient(experiment.objective(), experiment.start(), entries=4, step=1e-5)
    assert any(abs(row.adjoint) > 0.0 for row in found.rows)
    assert found.worst < 1e-5, [str(row) for row in found.rows]


#: Share of the loss at the start: Gauss-Newton steps beyond only polish rounding, and implicit steps are slow.
FOUND = 1e-9


@pytest.mark.parametrize("triple", MARKED)
def test_a_parameter_is_found_from_pixels(triple):
    experiment = experiment_of(triple)
    start = experiment.objective().value(experiment.start()).value
    result = run_fit(replace(experiment, stages=(Stage(GaussNewton(), 12, stop=Stop(loss=FOUND * start)),)), sure=False)
    assert result.loss <= FOUND * result.start_loss
    error = result.estimates[0]
    assert error.error < 1e-3 * error.start_error
