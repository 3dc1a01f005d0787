"""Conserved quantities: energy and momentum of free trees, to the order of the scheme."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom_physics_articulated.model import ArticulatedModel

sys.path.insert(0, str(Path(__file__).parent))
from energies import totals
from random_trees import random_tree


def floating_trees() -> ArticulatedModel:
    random = np.random.default_rng(8)
    trees = []
    for count in (2, 4, 6):
        tree = random_tree(random, count, floating=True)
        links = [replace(link, values={"velocity": link.values["velocity"]}) for link in tree.links]
        trees.append(replace(tree, links=tuple(links)))
    return ArticulatedModel(trees)


@pytest.fixture(scope="module")
def model() -> ArticulatedModel:
    return floating_trees()


@pytest.mark.parametrize("falls", [False, True])
def test_energy_and_momentum_of_floating_trees(model: ArticulatedModel, falls: bool) -> None:
    gravity = torch.tensor([0.0, -9.81 if falls else 0.0, 0.0], dtype=torch.float64)
    drift = []
    for dt in (4e-3, 2e-3):
        path = simulate(model, model.params(torch.float64, gravity=gravity), dt=dt, steps=round(0.4 / dt),
                        integrator="rk4", save_every=round(0.4 / dt))  # fmt: skip
        first, last = (totals(model, path.q[k], path.u[k], gravity) for k in (0, -1))
        size = first[0].abs().max()
        drift.append(float((last[0] - first[0]).abs().max() / size))
        if not falls:
            assert (last[1] - first[1]).abs().max() < 1e-8 * first[1].abs().max()
            assert (last[2] - first[2]).abs().max() < 1e-7 * first[2].abs().max()
    assert drift[1] < 1e-7
    assert drift[0] > 10.0 * drift[1] or drift[0] < 1e-12


def test_momentum_grows_by_gravity_alone(model: ArticulatedModel) -> None:
    gravity = torch.tensor([0.3, -9.81, 0.1], dtype=torch.float64)
    path = simulate(model, model.params(torch.float64, gravity=gravity), dt=2e-3, steps=100, integrator="rk4",
                    save_every=100)  # fmt: skip
    first, last = (totals(model, path.q[k], path.u[k], gravity)[1] for k in (0, -1))
    masses = torch.tensor([[sum(link.mass for link in tree.links)] for tree in model.trees], dtype=torch.float64)
    assert (last - first - 0.2 * masses * gravity).abs().max() < 1e-8 * masses.max()


def test_a_round_pendulum_swings_in_a_circle() -> None:
    """A cone of half angle a is gone round at omega^2 = g / (L cos a), and no height is gained or lost."""
    length, angle = 0.4, 0.3
    model = ArticulatedModel([{"builder": "pendulum", "length": length, "angle": angle, "round": True}])
    omega = (9.81 / (length * np.cos(angle))) ** 0.5
    params = model.params(torch.float64, joint_velocity=[0.0, omega * np.sin(angle)])
    path = simulate(model, params, dt=2e-3, steps=500, integrator="rk4", save_every=50)
    first, second = path.q[:, 0].T
    bob = torch.stack([first.sin() * second.cos(), -first.cos() * second.cos(), -second.sin()], dim=-1)
    assert (bob[:, 1] + np.cos(angle)).abs().max() < 1e-8
    turned = torch.atan2(-bob[:, 2], bob[:, 0])
    wanted = (omega * path.times + np.pi) % (2.0 * np.pi) - np.pi
    assert (turned - wanted).abs().max() < 1e-7
