"""Comparison of throws and drops with MuJoCo: free flight to 1e-6, and the same outcome after contact.

Uses mujoco of this Python, or of the one that the variable DIFFLOOM_MUJOCO_PYTHON names; skipped without either. Run
with -s to see the table of docs/models/rigid.md.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from diffloom import simulate
from diffloom_physics_rigid.model import RigidModel

SCRIPT = Path(__file__).with_name("mujoco_drop.py")
BOX = {"half": [0.3, 0.2, 0.25], "mass": 5.0, "position": [0.0, 1.0, 0.0], "orientation": [1.0, 0.0, 0.0, 0.0],
       "velocity": [0.0, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5, "dt": 5e-4, "steps": 4000,
       "every": 40, "integrator": "Euler", "ground": True}  # fmt: skip
BALL = {"radius": 0.2, **{k: v for k, v in BOX.items() if k != "half"}}


def other(**scene: Any) -> NDArray[np.float64]:
    """(frames, 13) MuJoCo's states: position, quaternion, velocity, spin in the body's axes."""
    python = sys.executable
    if importlib.util.find_spec("mujoco") is None:
        python = os.environ.get("DIFFLOOM_MUJOCO_PYTHON", "")
        if not python:
            pytest.skip("mujoco is not installed; pip install mujoco, or name a Python that has it with "
                        "DIFFLOOM_MUJOCO_PYTHON")  # fmt: skip
    done = subprocess.run([python, str(SCRIPT)], input=json.dumps(scene), capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout)["frames"])


def ours(**scene: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(frames, 7) poses and (frames, 6) velocities."""
    size = {"shape": "box", "size": [2.0 * h for h in scene["half"]]} if "half" in scene else {
        "shape": "sphere", "radius": scene["radius"]}  # fmt: skip
    keys = ("mass", "position", "orientation", "velocity", "angular_velocity", "friction")
    model = RigidModel([{**size, **{key: scene[key] for key in keys}, "restitution": 0.4}], ground=scene["ground"])
    # Contact may need shorter steps than MuJoCo's; free flight is compared step by step.
    finer = math.ceil(scene["dt"] / model.suggested_dt()) if scene["ground"] else 1
    result = simulate(
        model, model.params(torch.float64), dt=scene["dt"] / finer, steps=scene["steps"] * finer,
        save_every=scene["every"] * finer,
    )  # fmt: skip
    return result.q[:, 0].numpy(), result.u[:, 0].numpy()


def test_free_flight() -> None:
    """MuJoCo's Euler scheme moves the centre equally; its Runge-Kutta scheme gives the rotation to fourth order."""
    thrown = {"velocity": [1.0, 4.0, -2.0], "angular_velocity": [3.0, -5.0, 4.0], "orientation": [0.8, 0.0, 0.6, 0.0]}
    scene = {**BOX, **thrown, "ground": False, "steps": 2000}
    q, _ = ours(**scene)
    euler, exact = other(**scene), other(**{**scene, "integrator": "RK4"})
    places = float(np.abs(q[:, :3] - euler[:, :3]).max())
    turns = float(np.abs(q[:, 3:] * np.sign((q[:, 3:] * exact[:, 3:7]).sum(1))[:, None] - exact[:, 3:7]).max())
    print(f"\nfree flight, 1 s: centre {places:.1e} m, orientation {turns:.1e}")
    assert places < 1e-6
    assert turns < 1e-6


DROPS = {
    "flat box, 1 m": {**BOX},
    "tilted box, thrown": {**BOX, "orientation": [0.92, 0.3, 0.1, 0.23], "velocity": [1.0, 0.0, 0.5]},
    "sliding box, 3 m/s": {**BOX, "position": [0.0, 0.2, 0.0], "velocity": [3.0, 0.0, 0.0]},
    "ball, 1 m": {**BALL},
    "ball thrown along": {**BALL, "position": [0.0, 0.2, 0.0], "velocity": [2.0, 0.0, 0.0]},
}


def normalised(scene: dict[str, Any]) -> dict[str, Any]:
    turn = np.array(scene["orientation"])
    return {**scene, "orientation": (turn / np.linalg.norm(turn)).tolist()}


@pytest.mark.parametrize("name", DROPS)
def test_after_contact(name: str) -> None:
    """Height, distance travelled and speed at the end agree within the differences of the two contact models."""
    scene = normalised(DROPS[name])
    q, u = ours(**scene)
    theirs = other(**scene)
    rows = [(q[-1, 1], np.linalg.norm(q[-1, [0, 2]]), np.linalg.norm(u[-1, :3]))]
    rows.append((theirs[-1, 1], np.linalg.norm(theirs[-1, [0, 2]]), np.linalg.norm(theirs[-1, 7:10])))
    print(f"\n| {name} |" + "|".join(f" {a:.3f} / {b:.3f} " for a, b in zip(*rows, strict=True)) + "|")
    assert rows[0][0] == pytest.approx(rows[1][0], abs=0.01)
    assert rows[0][1] == pytest.approx(rows[1][1], abs=0.25 if "tilted" in name else 0.06)
    assert rows[0][2] == pytest.approx(rows[1][2], abs=0.05)
