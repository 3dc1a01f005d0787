"""Links of one tree that touch each other: forces inside the tree alone, and exact gradients."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import InputError
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_testing import check_gradient

LAW = {"contact_stiffness": 400.0, "contact_dissipation": 0.7, "friction": 0.4, "friction_stiffness": 9.0}
PLACES = (
    "mass", "length", "frame_position", "frame_orientation", "joint_position", "joint_orientation", "joint_velocity",
)  # fmt: skip


def folded(self_contact: object = True) -> ArticulatedModel:
    """A body in free flight whose arm is folded, so that the hand presses on the body."""
    body = {
        "name": "body", "joint": "free", "contact": LAW, "start_orientation": [0.95, 0.1, 0.05, 0.1],
        "velocity": [0.1, 0.2, -0.1, 0.5, -0.3, 0.4], "shapes": [{"shape": "box", "size": [0.2, 0.1, 0.15]}],
    }  # fmt: skip
    upper = {
        "name": "upper", "parent": "body", "position": [0.1, 0.05, 0.0], "start": 2.9, "velocity": 0.4, "length": 0.2,
        "contact": LAW, "shapes": [{"shape": "capsule", "radius": 0.02, "length": 0.1, "position": [0.0, -0.1, 0.0],
                                    "rides": True}],
    }  # fmt: skip
    hand = {
        "name": "hand", "parent": "upper", "joint": "ball", "position": [0.0, -0.2, 0.0], "contact": LAW,
        "start_orientation": [0.113, 0.02, 0.03, 0.99], "velocity": [0.3, -0.4, 1.0],
        "shapes": [{"shape": "sphere", "radius": 0.05, "position": [0.0, -0.17, 0.01], "subdivisions": 1}],
    }  # fmt: skip
    return ArticulatedModel([{"links": [body, upper, hand]}], self_contact=self_contact)  # type: ignore[arg-type]


def ended(model: ArticulatedModel, **values: torch.Tensor) -> torch.Tensor:
    path = simulate(model, model.params(torch.float64, **values), dt=5e-4, steps=10, save=(10,))
    return torch.cat([path.q[-1], path.u[-1]], dim=1)


@pytest.mark.slow
def test_gradients_while_links_press_on_each_other() -> None:
    model, free = folded(), folded(False)
    assert float((ended(model) - ended(free)).abs().max()) > 1e-3
    for names, step in ((PLACES, 1e-6), (LAW, 1e-4)):  # short, so that no point begins to touch within it
        values = {
            name: model.params(torch.float64)[name].expand(model.spec(name).full_shape(model.axes)).clone()
            for name in names
        }
        check_gradient(lambda **x: ended(model, **x), values, step=step)


@pytest.mark.slow
def test_scenes_of_a_batch_are_those_run_alone() -> None:
    model = folded()
    masses = torch.stack([factor * model.params(torch.float64)["mass"] for factor in (1.0, 1.1)]).requires_grad_()

    def run(mass: torch.Tensor, batch: int | None) -> tuple[torch.Tensor, torch.Tensor]:
        path = simulate(model, model.params(torch.float64, batch=batch, mass=mass), dt=5e-4, steps=10, save=(10,))
        return path.q.detach(), torch.autograd.grad(path.q.square().sum(), mass)[0]

    many, slopes = run(masses, 2)
    for scene in range(2):
        alone, slope = run(masses[scene].detach().clone().requires_grad_(), None)
        assert torch.equal(alone, many[scene]) and torch.equal(slope, slopes[scene])


def test_contact_tests_pass_in_the_interpreter() -> None:
    """Run these tests in the interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "slow", __file__],
        env={**os.environ, "DIFFLOOM_INTERPRET": "1"}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout[-3000:]


def test_neighbours_touch_only_where_they_are_named() -> None:
    assert folded()._pairs == {(0, 2)}
    assert folded([["body", "upper"]])._pairs == {(0, 1)}
    with pytest.raises(InputError, match="no link is called 'hnd'.*'hand'"):
        folded([["body", "hnd"]])
    with pytest.raises(InputError, match="expected the names of two links"):
        folded([["body", "body"]])
