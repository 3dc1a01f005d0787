"""Gradients and fits through real impacts: tosses of an acrylic cube onto wood.

    python benchmarks/real_tosses.py --data FOLDER                gradient against differences of +-2 %, 12 tosses
    python benchmarks/real_tosses.py --data FOLDER --fit          friction, stiffness, damping of 20 tosses, 12 starts

FOLDER holds cube_tosses.npz (rows (n, 13): position and velocity in half widths, quaternion w x y z, angular velocity
in body axes, z up, 148 frames/s; lengths of each toss), as made from the ContactNets recordings; DIFFLOOM_REAL_DATA
names it too. A start is a ballistic fit of the flight before the first contact. Fits know the cube's inertia and centre
of mass, as experiments/real/real-cube.toml finds them, and the recording's scale.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from diffloom_fitting import Stop, Unknown
from diffloom_motion import Clip, MotionScene, MotionStage, Recording, StartRules, fit_motion
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import compare_wide

WIDTH, MASS = 0.1048, 0.37
COLUMNS = {"position": (0, 1, 2), "orientation": (3, 4, 5, 6), "velocity": (7, 8, 9), "angular_velocity": (10, 11, 12)}
#: The recorded cubes rest 0.978 half widths high, and fall at 9.61 m/s^2.
SCALE = 0.978
#: A hollow cube, heavier on one side.
BODY = {"inertia": [1.25e-3] * 3 + [0.0] * 3, "centre_of_mass": [0.0, 0.0, 0.0069]}
NOMINAL = {"friction": 0.18, "contact_stiffness": 6e3}
HORIZONS = (25, 60, None)
LAWS = {"hunt_crossley": {"law": "hunt_crossley", "toe": 2e-3}, "linear": "linear"}


def read(folder: Path, first: int, count: int) -> list[Clip]:
    """Tosses ``first`` to ``first + count - 1``."""
    recording = Recording("cube_tosses.npz", 148.0, COLUMNS, unit=0.5 * WIDTH / SCALE, axes="body")
    return recording.read(folder)[first : first + count]


def problem_of(clips: list[Clip], law: str) -> MotionScene:
    """The cube under a contact law."""
    cube = {"shape": "box", "size": [WIDTH] * 3, "mass": MASS, "restitution": 0.125, **NOMINAL, **BODY}
    if law != "linear":
        cube["reference_speed"] = 1.5
    known = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0], "friction_stiffness": 30.0}
    rules = StartRules({**known, "centre_of_mass": BODY["centre_of_mass"]}, substeps=16, rotation_length=0.5 * WIDTH)
    return MotionScene(RigidModel([cube], contact=LAWS[law]), clips, rules)


def unknowns(problem: MotionScene) -> dict[str, float]:
    """Return the start values of friction, stiffness and damping."""
    model = problem.model
    names = ("friction", "contact_stiffness", model.contact.damping_name)
    return {name: float(model.spec(name).default[0]) for name in names}


def wide(folder: Path, law: str) -> dict[str, tuple[float, float]]:
    """Cosine and length ratio by horizon, over the loss of all 12 tosses."""
    found = {}
    problem = problem_of(read(folder, 0, 12), law)
    start = {name: torch.tensor([value], dtype=torch.float64) for name, value in unknowns(problem).items()}
    for frames in HORIZONS:

        def loss(frames: int | None = frames, **values: Tensor) -> Tensor:
            return sum(problem.residuals(g, values, frames).square().sum() for g in problem.groups)

        seen = compare_wide(loss, start)
        found["all" if frames is None else str(frames)] = (seen.cosine, seen.ratio)
    return found


def fit(folder: Path, law: str, starts: int, seed: int = 0) -> list[float]:
    """Loss at the end, from random starts a factor of up to 3 away, by Gauss-Newton with a growing horizon."""
    random = np.random.default_rng(seed)
    problem = problem_of(read(folder, 20, 20), law)
    middle = unknowns(problem)
    losses = []
    for _ in range(starts):
        starts_at = {name: value * 3.0 ** random.uniform(-1.0, 1.0) for name, value in middle.items()}
        shared = [Unknown(name, value, space="log", bounds=(0.0, None)) for name, value in starts_at.items()]
        stages = [MotionStage(iterations=40, stop=Stop(change=1e-4), frames=frames) for frames in HORIZONS]
        result = fit_motion(problem, shared, stages)
        losses.append(result.loss)
        ends = "  ".join(f"{each.name} {float(each.start):.4g} -> {float(each.found):.4g}" for each in result.estimates)
        print(f"loss {result.loss:.4e} m^2  {ends}", flush=True)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("DIFFLOOM_REAL_DATA"), help="the folder of cube_tosses.npz")
    parser.add_argument("--laws", nargs="+", default=["hunt_crossley", "linear"])
    parser.add_argument("--fit", action="store_true", help="fit friction, stiffness and damping of 20 tosses")
    parser.add_argument("--starts", type=int, default=12)
    given = parser.parse_args()
    if not given.data or not (Path(given.data) / "cube_tosses.npz").is_file():
        sys.exit("there is no cube_tosses.npz: name its folder with --data or DIFFLOOM_REAL_DATA")
    for law in given.laws:
        begin = time.perf_counter()
        if given.fit:
            losses = np.array(fit(Path(given.data), law, given.starts))
            near = int((losses <= 1.02 * losses.min()).sum())
            print(f"{law}: {near} of {len(losses)} starts end within 2 % of {losses.min():.4e}")
        else:
            for frames, (cosine, ratio) in wide(Path(given.data), law).items():
                print(f"{law}, {frames} frames: cosine {cosine:.3f}, length ratio {ratio:.2f}")
        print(f"{time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
