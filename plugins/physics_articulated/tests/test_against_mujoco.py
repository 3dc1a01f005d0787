"""Comparison of trees with MuJoCo: mass matrices and accelerations at random states, and motions as steps are refined.

Uses mujoco of this Python, or of the one that the variable DIFFLOOM_MUJOCO_PYTHON names; skipped without either. Run
with -s to see the tables of docs/models/articulated.md.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, State
from diffloom_physics_articulated.builders import arm, cartpole, chain
from diffloom_physics_articulated.link import BALL, FIXED, Tree
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_physics_articulated.tree_tables import read_link, sort_links

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from mjcf import mjcf  # noqa: E402
from random_trees import random_tree  # noqa: E402


def other(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    python = sys.executable
    if importlib.util.find_spec("mujoco") is None:
        python = os.environ.get("DIFFLOOM_MUJOCO_PYTHON", "")
        if not python:
            pytest.skip("mujoco is not installed; pip install mujoco, or name a Python that has it with "
                        "DIFFLOOM_MUJOCO_PYTHON")  # fmt: skip
    script = HERE / "mujoco_trees.py"
    done = subprocess.run([python, str(script)], input=json.dumps(jobs), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def places(model: ArticulatedModel, number: int) -> tuple[list[int], list[int]]:
    """Columns of our q and u in MuJoCo's order, that of the joints, for one tree; its bodies come depth first."""
    table = model.layout.table[number, 1:].reshape(-1, 7)
    rows = {}
    row = 0
    for link in model.trees[number].links:
        rows[link.name] = list(range(row, row + len(link.simple_joints)))
        row = rows[link.name][-1] + 1
    q, u = [], []

    def walk(parent: str | None) -> None:
        for link in model.trees[number].links:
            if link.parent == parent:
                for r in rows[link.name]:
                    kind, a, b = (int(x) for x in table[r, 1:4])
                    if kind != FIXED:
                        q.extend(range(a, a + (4 if kind == BALL else 1)))
                        u.extend(range(b, b + (3 if kind == BALL else 1)))
                walk(link.name)

    walk(None)
    return q, u


def accelerations(model: ArticulatedModel, state: State, force: torch.Tensor) -> torch.Tensor:
    system = model.dynamics(model.params(torch.float64), Control())
    evaluation = system.evaluation(system.tensors, 1.0)
    own = evaluation.force(0, (state.q,), (state.u,))[0]
    return evaluation.rates((state.q,), (state.u,), (own + force,))[1][0]


def test_accelerations_and_mass_matrices_of_random_trees() -> None:
    random = np.random.default_rng(3)
    trees = [random_tree(random, int(random.integers(1, 9)), floating=bool(k % 2)) for k in range(40)]
    model = ArticulatedModel(trees)
    start = model.initial_state(model.params(torch.float64))
    force = torch.from_numpy(random.normal(size=tuple(start.u.shape)))
    jobs, order = [], [places(model, k) for k in range(len(trees))]
    for k, tree in enumerate(trees):
        q, u = order[k]
        jobs.append(
            {"xml": mjcf(tree), "states": [[start.q[k, q].tolist(), start.u[k, u].tolist(), force[k, u].tolist()]]}
        )
    found = other(jobs)
    ours = accelerations(model, start, force)
    still = State(start.q, torch.zeros_like(start.u))
    zero = accelerations(model, still, torch.zeros_like(force))
    width = model.layout.du
    inverse = torch.stack(
        [
            accelerations(model, still, torch.eye(width, dtype=torch.float64)[c].expand_as(force)) - zero
            for c in range(width)
        ],
        2,
    )
    for k, answer in enumerate(found):
        u = order[k][1]
        expected = np.array(answer["acceleration"][0])
        assert np.abs(ours[k, u].numpy() - expected).max() <= 1e-10 * np.abs(expected).max()
        M = np.array(answer["mass"][0])
        product = inverse[k][np.ix_(u, u)].numpy() @ M
        assert np.abs(product - np.eye(len(u))).max() <= 1e-10


def humanoid() -> Tree:
    """A floating trunk with a head on a ball joint and four limbs of two links each."""
    size = {"hip": 0.4, "knee": 0.4, "shoulder": 0.3, "elbow": 0.3}
    links: list[dict[str, Any]] = [
        {"name": "trunk", "joint": "free", "mass": 30.0, "shapes": [{"shape": "box", "size": [0.3, 0.6, 0.2]}],
         "velocity": [0.1, 1.0, 0.2, 0.5, 1.0, -0.4]},
        {"name": "head", "joint": "ball", "parent": "trunk", "mass": 4.0, "position": [0.0, 0.35, 0.0],
         "velocity": [0.3, -0.2, 0.5],
         "shapes": [{"shape": "sphere", "radius": 0.12, "position": [0.0, 0.15, 0.0]}]},
    ]  # fmt: skip
    for side in (-1.0, 1.0):
        for upper, lower, at in (("hip", "knee", -0.3), ("shoulder", "elbow", 0.25)):
            for name, parent, place in (
                (upper, "trunk", [0.15 * side, at, 0.0]),
                (lower, f"{upper} {side}", [0.0, -size[upper], 0.0]),
            ):
                double = name == upper
                links.append({
                    "name": f"{name} {side}", "parent": parent, "joint": "universal" if double else "revolute",
                    "position": place, "mass": 4.0, "start": [0.3, 0.2] if double else 0.4, "velocity": 0.5 * side,
                    "shapes": [{"shape": "capsule", "radius": 0.05, "length": size[name],
                                "position": [0.0, -0.5 * size[name], 0.0]}],
                })  # fmt: skip
    return sort_links("humanoid", [read_link(k, link) for k, link in enumerate(links)])


def hung(lengths: list[float]) -> Tree:
    """A pendulum of balls with inertia, which MuJoCo asks for."""
    links = [
        {"name": f"{k}", "parent": f"{k - 1}" if k else None,
         "position": [0.0, -lengths[k - 1], 0.0] if k else [0, 0, 0],
         "mass": 1.0, "start": 0.9 - 0.5 * k,
         "shapes": [{"shape": "sphere", "radius": 0.1, "position": [0.0, -lengths[k], 0.0]}]}
        for k in range(len(lengths))
    ]  # fmt: skip
    return sort_links("hung", [read_link(k, link) for k, link in enumerate(links)])


SCENES = {
    "pendulum": lambda: hung([1.0]),
    "double pendulum": lambda: hung([1.0, 0.7]),
    "chain of 8": lambda: chain(8),
    "cartpole": cartpole,
    "6-joint arm": lambda: arm(6, planar=False),
    "humanoid": humanoid,
}


def apart(model: ArticulatedModel, integrator: str, others: str, dt: float, fine: float) -> list[float]:
    """Largest difference of a coordinate after 1 s, ours with steps dt and MuJoCo's with ``fine``, for each tree."""
    params = model.params(torch.float64)
    start = model.initial_state(params)
    end = simulate(model, params, dt=dt, steps=round(1.0 / dt), integrator=integrator, save_every=round(1.0 / dt)).q[-1]
    jobs, order = [], [places(model, k) for k in range(len(model.trees))]
    for k, tree in enumerate(model.trees):
        q, u = order[k]
        jobs.append({"xml": mjcf(tree), "dt": fine, "steps": round(1.0 / fine), "integrator": others,
                     "qpos": start.q[k, q].tolist(), "qvel": start.u[k, u].tolist()})  # fmt: skip
    answers = other(jobs)
    return [float(np.abs(end[k, order[k][0]].numpy() - answers[k]["qpos"]).max()) for k in range(len(answers))]


@pytest.mark.slow
def test_motions_agree_as_steps_are_refined() -> None:
    model = ArticulatedModel([make() for make in SCENES.values()])
    same_euler = apart(model, "semi_implicit", "Euler", 1e-3, 1e-3)
    orders = [apart(model, "rk4", "RK4", dt, 2.5e-4) for dt in (4e-3, 2e-3, 1e-3)]
    first = [apart(model, "semi_implicit", "RK4", dt, 2.5e-4) for dt in (2e-3, 1e-3, 5e-4)]
    fine = apart(model, "rk4", "RK4", 2.5e-4, 2.5e-4)
    for k, name in enumerate(SCENES):
        found = np.log2(orders[1][k] / orders[2][k]), np.log2(first[1][k] / first[2][k])
        print(f"{name:16} Euler, same steps {same_euler[k]:.1e}; rk4 at 0.25 ms {fine[k]:.1e}, at 1 ms "
              f"{orders[2][k]:.1e}, order {found[0]:.2f}; semi_implicit at 0.5 ms {first[2][k]:.1e}, "
              f"order {found[1]:.2f}")  # fmt: skip
        assert same_euler[k] < 1e-8
        assert fine[k] < 1e-9
        assert orders[2][k] < 1e-6
        assert found[0] > 3.7 and 0.9 < found[1] < 1.1
