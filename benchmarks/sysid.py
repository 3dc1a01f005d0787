"""Fits of real tosses, ours and MuJoCo's system-identification toolbox: python benchmarks/sysid.py --tosses 20

The cube tosses of experiments/real/real-cube.toml, the same starts (a parabola through each flight), the same residual
(squares of place and rotation errors over the first frames), the recording's scale known, ten unknowns or more on
either side: friction, inertia (3) and centre of mass (3) in both, and each one's own contact parameters.
DIFFLOOM_REAL_DATA names the folder of the recording, DIFFLOOM_MUJOCO_PYTHON a Python with mujoco[sysid]. Processor time
on one thread each, which is wall time where nothing else runs, without what compiles (ours is kept on disk).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffloom_fitting import GaussNewton, Unknown
from diffloom_fitting.loop import FitState, Record
from diffloom_kernels import set_num_threads
from diffloom_motion import MotionExperiment, MotionScene, MotionStage, Recording, StartRules, fit_motion
from diffloom_motion.experiment import mean_loss
from diffloom_physics_rigid.model import RigidModel

HERE = Path(__file__).resolve().parent
WIDTH, MASS, SCALE = 0.1048, 0.37, 0.9816
COLUMNS = {"position": (0, 1, 2), "orientation": (3, 4, 5, 6)}
DIAGONAL = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
UNKNOWNS = (
    Unknown("friction", 0.3),
    Unknown("contact_stiffness", 3e4),
    Unknown("contact_dissipation", 2.0),
    Unknown("friction_stiffness", 40.0),
    Unknown("inertia", [6.8e-4] * 3, space="log", along=DIAGONAL),
    Unknown("centre_of_mass", [0.0, 0.0, 0.0], scale=0.01),
)


def problem_of(first: int, count: int, substeps: int) -> MotionScene:
    """Tosses as ours are fitted; lengths in metres."""
    recording = Recording("cube_tosses.npz", 148.0, COLUMNS, unit=0.5 * WIDTH / SCALE)
    cube = {"shape": "box", "size": [WIDTH] * 3, "mass": MASS, "rounding": 0.002}
    model = RigidModel([cube], contact={"law": "hunt_crossley", "toe": 5e-4})
    known = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0]}
    clips = [clip.part(0, given_frames()) for clip in recording.read()[first : first + count]]
    return MotionScene(model, clips, StartRules(known, substeps, 0.5 * WIDTH))


def given_frames() -> int:
    return int(os.environ.get("DIFFLOOM_SYSID_FRAMES", "60"))


def export(problem: MotionScene, path: str, steps: int) -> None:
    """Return the case that the toolbox reads."""
    assert len(problem.groups) == 1
    group = problem.groups[0]
    starts = group.starts
    np.savez(
        path, place=starts.place, arm=starts.arm, here=starts.here, fall=starts.fall, turn=starts.orientation,
        spin=starts.angular_velocity, position=group.position, orientation=group.orientation,
        weight=group.weight / group.weight.sum(dim=0), scale=1.0, rate=group.rate, steps_a_frame=steps, mass=MASS,
        half=0.5 * WIDTH, length=problem.rules.rotation_length,
    )  # fmt: skip


def other(path: str) -> list[dict[str, Any]]:
    """The toolbox's losses over time, and what it found."""
    python = os.environ.get("DIFFLOOM_MUJOCO_PYTHON")
    if not python:
        sys.exit("set DIFFLOOM_MUJOCO_PYTHON to a Python with mujoco[sysid]")
    words = [python, str(HERE / "peers" / "mujoco_sysid.py"), path]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def reached(losses: list[tuple[float, float]], loss: float) -> float:
    """Seconds until a loss was reached."""
    return min((seconds for seconds, value in losses if value <= loss), default=float("inf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tosses", type=int, default=20)
    parser.add_argument("--substeps", type=int, default=20, help="ours a frame")
    parser.add_argument("--mujoco-steps", type=int, default=4, help="MuJoCo's a frame: 1.7 ms each")
    given = parser.parse_args()
    set_num_threads(1)
    problem = problem_of(given.first, given.tosses, given.substeps)
    stages = (
        MotionStage(GaussNewton(width=1e-3), 8, frames=25, fixed=("contact_stiffness", "friction_stiffness")),
        MotionStage(GaussNewton(width=5e-3), 20),
    )
    fit_motion(problem, UNKNOWNS, [replace(stages[0], iterations=1)])  # compiles, or reads compiled code
    ours: list[tuple[float, float]] = []
    begin = time.process_time()

    experiment = MotionExperiment(problem, UNKNOWNS)

    def observe(state: FitState, record: Record) -> None:
        nonlocal begin
        now = time.process_time()
        # Over all frames, also in stages that compare some of them.
        ours.append((now - begin, mean_loss(problem, experiment.loss, experiment.shared_values(record.values))))
        begin += time.process_time() - now  # the toolbox is not charged for its records either

    result = fit_motion(problem, UNKNOWNS, stages, observer=observe)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "case.npz")
        export(problem, path, given.mujoco_steps)
        answers = other(path)
    theirs = [(answer["seconds"], answer["loss"]) for answer in answers if "loss" in answer]
    best, least = min(loss for _, loss in theirs), min(loss for _, loss in ours)
    print(f"unknowns: ours {experiment.layout.size}, MuJoCo {len(answers[-1]['found'])}")
    print(f"ours: loss {result.start_loss:.4g} -> {least:.4g} m^2 in {ours[-1][0]:.1f} s")
    print(f"MuJoCo {answers[-1]['version']}: {theirs[0][1]:.4g} -> {best:.4g} m^2 in {theirs[-1][0]:.1f} s, "
          f"{len(theirs)} simulations of all tosses")  # fmt: skip
    level = max(best, least) * 1.001
    print(f"to reach {level:.4g} m^2: ours {reached(ours, level):.2f} s, MuJoCo {reached(theirs, level):.1f} s")
    for estimate in result.estimates:
        print(f"  {estimate.name}: {', '.join(f'{x:.4g}' for x in estimate.found.reshape(-1).tolist())}")
    print(f"  MuJoCo: {', '.join(f'{x:.4g}' for x in answers[-1]['found'])}")


if __name__ == "__main__":
    main()
