"""Steps a second of articulated bodies, ours and MuJoCo's: python benchmarks/articulated.py

Ours in float64, forward and forward with gradient, on one thread; MuJoCo's C library by its own rollouts on one thread,
with the Python that DIFFLOOM_MUJOCO_PYTHON names. Both take semi-implicit Euler steps of the same trees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

from diffloom.kernels import set_num_threads
from diffloom.simulation import simulate
from diffloom_physics_articulated.model import ArticulatedModel

TESTS = Path(__file__).resolve().parents[1] / "plugins" / "physics_articulated" / "tests"
sys.path.insert(0, str(TESTS))
from mjcf import mjcf  # noqa: E402
from test_against_mujoco import SCENES  # noqa: E402

STEPS = 200
OTHER = """
import json, sys, time
import mujoco, numpy as np
from mujoco import rollout
for xml, count, steps in json.load(sys.stdin):
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 1e-3
    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((count, size))
    mujoco.mj_getState(model, data, start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start[:] = start[0]
    rollout.rollout(model, data, start[:1], nstep=2)
    best = 1e9
    for _ in range(3):
        begin = time.perf_counter()
        rollout.rollout(model, data, start, nstep=steps)
        best = min(best, time.perf_counter() - begin)
    print(best, flush=True)
"""


def timed(model: ArticulatedModel, gradient: bool) -> float:
    """Seconds of the best of three rollouts."""
    best = float("inf")
    for _ in range(4):  # the first compiles
        begin = time.perf_counter()
        mass = model.params(torch.float64)["mass"].clone().requires_grad_(gradient)
        path = simulate(model, model.params(torch.float64, mass=mass), dt=1e-3, steps=STEPS, save_every=STEPS)
        if gradient:
            path.q[-1].sum().backward()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    set_num_threads(1)
    jobs, ours = [], []
    for name in ("double pendulum", "chain of 8"):
        for count in (1, 1000):
            tree = SCENES[name]()
            model = ArticulatedModel([tree] * count)
            ours.append((name, count, timed(model, False), timed(model, True)))
            jobs.append((mjcf(tree), count, STEPS))
    python = os.environ.get("DIFFLOOM_MUJOCO_PYTHON")
    found = ["0"] * len(jobs)
    if python:
        done = subprocess.run([python, "-c", OTHER], input=json.dumps(jobs), capture_output=True, text=True, check=True)
        found = done.stdout.split()
    print("| tree | copies | ours, forward [us] | with gradient [us] | MuJoCo, forward [us] |\n|---|---|---|---|---|")
    for (name, count, forward, both), other in zip(ours, found, strict=True):
        each = 1e6 / (count * STEPS)
        print(f"| {name} | {count} | {forward * each:.2f} | {both * each:.2f} | {float(other) * each:.2f} |")


if __name__ == "__main__":
    main()
