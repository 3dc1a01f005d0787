"""The springs model: every parameter's gradient, drawing, bad input."""

from __future__ import annotations

import pickle

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, InputError
from diffloom_physics_springs.model import SpringsModel
from diffloom_testing import check_gradient

DT, STEPS = SpringsModel.example_settings.dt, SpringsModel.example_settings.steps


def run(model, control=None, **values):
    params = model.params(dtype=torch.float64, **values)
    return simulate(model, params, dt=DT, steps=STEPS, save=[STEPS // 2, STEPS], control=control)


def test_gradient_of_every_parameter():
    model = SpringsModel.example()
    given = dict(
        model.params(dtype=torch.float64, velocity=(0.5, -2.0, 0.3), force=(0.3, -0.2, 0.1), ground_height=0.01)
    )
    given["rest_length"] = given["rest_length"] * 0.9
    assert bool((run(model, **given).q[..., 1] < 0.01).any()), "nothing touches the ground"

    def motion(**values):
        path = run(model, **values)
        return torch.cat([path.q.reshape(-1), path.u.reshape(-1)])

    check_gradient(motion, given, tolerance=1e-5, step=1e-7, directions=1)


def test_gradient_of_a_control():
    model = SpringsModel.example()
    random = torch.Generator().manual_seed(0)
    force = torch.randn(STEPS, 9, 3, generator=random, dtype=torch.float64)
    check_gradient(lambda force: run(model, Control({"force": force})).q, {"force": force}, tolerance=1e-6)


def test_particles_are_drawn_as_balls():
    model = SpringsModel.chain(3, radius=0.1)
    path = simulate(model, dt=1e-3, steps=2)
    surface = model.surface(path, model.params())
    assert surface.vertices.shape == (3, 3 * 42, 3)
    reach = (surface.vertices[0, :42] - path.q[0, 0]).norm(dim=-1)
    assert torch.allclose(reach, torch.full_like(reach, 0.1))
    a, b, c = surface.vertices[0][surface.faces].unbind(dim=1)
    outward = (torch.linalg.cross(b - a, c - a) * (a - path.q[0, torch.arange(240) // 80])).sum(dim=-1)
    assert bool((outward > 0).all())


def test_a_model_can_be_pickled():
    model = pickle.loads(pickle.dumps(SpringsModel.example()))
    assert torch.equal(run(model).q, run(SpringsModel.example()).q)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: SpringsModel([[0, 0]], []), r"expected \(particles, 3\)"),
        (lambda: SpringsModel([[0, 0, 0], [1, 0, 0]], [(0, 2)]), "number 0 joins particles 0 and 2"),
        (lambda: SpringsModel([[0, 0, 0], [1, 0, 0]], [(1, 1)]), "two different ones"),
        (lambda: SpringsModel([[0, 0, 0]], [], fixed=[3]), "expected 0 to 0"),
        (lambda: simulate(SpringsModel.example(), dt=0.1, steps=1, control=Control({"x": torch.zeros(1)})), "force"),
        (lambda: simulate(SpringsModel.example(), dt=0.1, steps=1, save=[0], save_every=1), "one of them"),
    ],
)
def test_bad_input(make, said):
    with pytest.raises(InputError, match=said):
        make()
