"""What must not change: energy and momentum of free trees, to the order of the scheme."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom.interfaces import State
from diffloom.simulation import simulate
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_physics_articulated.rotations import symmetric

sys.path.insert(0, str(Path(__file__).parent))
from random_trees import random_tree


def floating_trees() -> ArticulatedModel:
    random = np.random.default_rng(8)
    trees = []
    for count in (2, 4, 6):
        tree = random_tree(random, count, floating=True)
        links = [replace(link, values={"velocity": link.values["velocity"]}) for link in tree.links]
        trees.append(replace(tree, links=tuple(links)))
    return ArticulatedModel(trees)


def link_motions(model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Axes, origins, velocities of origins and angular velocities of all links at one state, by differentiating poses
    along the velocity: independent of the kernels."""
    params = model.params(torch.float64)
    balls = model.layout.balls

    def poses(h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        parts = []
        for b in range(balls):
            r, w = q[:, 4 * b : 4 * b + 4], u[:, 3 * b : 3 * b + 3]
            s, v = r[:, :1], r[:, 1:]
            rate = torch.cat([-(v * w).sum(1, keepdim=True), s * w + torch.linalg.cross(v, w)], 1)
            parts.append(r + 0.5 * h * rate)
        moved = torch.cat([*parts, q[:, 4 * balls :] + h * u[:, 3 * balls :]], 1)
        return model.poses(State(moved[None], u[None]), params)  # type: ignore[arg-type]

    zero = torch.zeros((), dtype=torch.float64)
    (R, p), (dR, dp) = torch.autograd.functional.jvp(poses, zero, torch.ones_like(zero))
    turn = dR[0] @ R[0].transpose(1, 2)
    return R[0], p[0], dp[0], torch.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], 1)


def totals(
    model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor, gravity: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Energy, momentum and angular momentum about the origin of each tree."""
    params = model.params(torch.float64)
    R, p, v, w = link_motions(model, q, u)
    m, c = params["mass"], params["centre_of_mass"]
    arm = (R @ c[..., None])[..., 0]
    x, vc = p + arm, v + torch.linalg.cross(w, arm)
    L = (R @ symmetric(params["inertia"]) @ R.transpose(1, 2) @ w[..., None])[..., 0]
    energy = 0.5 * m * (vc * vc).sum(1) + 0.5 * (w * L).sum(1) - m * (x @ gravity)
    momentum = m[:, None] * vc
    angular = torch.linalg.cross(x, momentum) + L
    tree = torch.repeat_interleave(torch.arange(len(model.trees)), torch.tensor([len(t.links) for t in model.trees]))

    def each(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros((len(model.trees), *values.shape[1:]), dtype=values.dtype).index_add(0, tree, values)

    return each(energy), each(momentum), each(angular)


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
