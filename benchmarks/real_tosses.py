"""Gradients and fits through real impacts: tosses of an acrylic cube onto wood.

    python benchmarks/real_tosses.py --data FOLDER                gradient against differences of +-2 %, 12 tosses
    python benchmarks/real_tosses.py --data FOLDER --fit          friction, stiffness, damping of 20 tosses, 12 starts

FOLDER holds cube_tosses.npz (rows (n, 13): position and velocity in half widths, quaternion w x y z, angular velocity
in body axes, z up, 148 frames/s; lengths of each toss), as made from the ContactNets recordings; DIFFLOOM_REAL_DATA
names it too. A start is a ballistic fit of the first frames.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from diffloom.simulation import simulate
from diffloom.testing import compare_wide
from diffloom_physics_rigid.model import RigidModel
from diffloom_physics_rigid.poses import rotation_matrices

RATE, WIDTH, MASS = 148.0, 0.1048, 0.37
#: The recorded cubes rest 0.978 half widths high, and fall at 9.61 m/s^2: lengths are recorded too small by this.
SCALE = 1.0 / 0.978
SUBSTEPS = 16
NOMINAL = {"friction": 0.18, "contact_stiffness": 2.5e3}
HORIZONS = (25, 60, None)


@dataclass(frozen=True)
class Tosses:
    """Poses (frames, tosses, 7) [m] with a weight (frames, tosses) of 0 where a toss has ended, and the start."""

    poses: Tensor
    weight: Tensor
    velocity: Tensor
    angular_velocity: Tensor

    def until(self, frames: int | None) -> Tosses:
        """The first frames."""
        return self if frames is None else Tosses(
            self.poses[:frames], self.weight[:frames], self.velocity, self.angular_velocity
        )  # fmt: skip


def read(folder: Path, first: int, count: int, fitted: int = 8) -> Tosses:
    """Tosses ``first`` to ``first + count - 1``."""
    data = np.load(folder / "cube_tosses.npz")
    ends = np.cumsum(data["lengths"])
    each = [data["rows"][end - n : end].astype(np.float64) for end, n in zip(ends, data["lengths"], strict=True)]
    each = each[first : first + count]
    longest = max(len(rows) for rows in each)
    poses, weight = np.zeros((longest, count, 7)), np.zeros((longest, count))
    velocity, turning = np.zeros((count, 3)), np.zeros((count, 3))
    for i, rows in enumerate(each):
        place = 0.5 * WIDTH * SCALE * rows[:, :3]
        t = np.arange(fitted) / RATE
        fall = place[:fitted] + 0.5 * 9.81 * t[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
        line = np.linalg.lstsq(np.stack([np.ones(fitted), t], axis=1), fall, rcond=None)[0]
        poses[:, i] = np.concatenate([place, rows[:, 3:7]], axis=1)[np.minimum(np.arange(longest), len(rows) - 1)]
        poses[0, i, :3], velocity[i] = line
        weight[: len(rows), i] = 1.0
        turn = rotation_matrices(torch.tensor(rows[:1, 3:7]))[0].numpy()
        turning[i] = turn @ rows[:fitted, 10:13].mean(axis=0)
    return Tosses(*(torch.tensor(a) for a in (poses, weight, velocity, turning)))


def model_of(tosses: Tosses, law: str) -> RigidModel:
    """A cube for each toss; they do not touch each other."""
    cube = {"shape": "box", "size": [WIDTH] * 3, "mass": MASS, "restitution": 0.125, **NOMINAL}
    if law != "linear":
        cube["reference_speed"] = 1.5
    return RigidModel([cube] * tosses.poses.shape[1], collisions=False, contact=law)


def rollout(model: RigidModel, tosses: Tosses, **values: Tensor) -> Tensor:
    """Poses (frames, tosses, 7) from the start of each toss."""
    start = tosses.poses[0]
    params = model.params(
        torch.float64, position=start[:, :3], orientation=start[:, 3:], velocity=tosses.velocity,
        angular_velocity=tosses.angular_velocity, gravity=[0.0, 0.0, -9.81], ground_normal=[0.0, 0.0, 1.0], **values,
    )  # fmt: skip
    steps = SUBSTEPS * (len(tosses.poses) - 1)
    return simulate(model, params, dt=1.0 / (RATE * SUBSTEPS), steps=steps, save_every=SUBSTEPS).q


def residuals(model: RigidModel, tosses: Tosses, **values: Tensor) -> Tensor:
    """(frames, tosses, 6): errors in widths and in vector parts of quaternions; their squares of a toss add up to its
    mean squared error."""
    q = rollout(model, tosses, **values)
    seen = torch.nn.functional.normalize(tosses.poses[..., 3:], dim=-1)
    (w, x, y, z), (a, b, c, d) = q[..., 3:].unbind(-1), seen.unbind(-1)
    turn = torch.stack(
        [a * x - w * b - c * z + d * y, a * y - w * c - d * x + b * z, a * z - w * d - b * y + c * x], -1
    )
    # Either sign of a quaternion is the same turn.
    turn = turn * torch.where(a * w + b * x + c * y + d * z < 0.0, -1.0, 1.0)[..., None]
    error = torch.cat([(q - tosses.poses)[..., :3] / WIDTH, turn], dim=-1)
    return error * (tosses.weight / tosses.weight.sum(dim=0)).sqrt()[..., None]


def loss_of(model: RigidModel, tosses: Tosses, **values: Tensor) -> Tensor:
    """(tosses,): mean squared error of each."""
    return residuals(model, tosses, **values).square().sum(dim=(0, 2))


def unknowns(model: RigidModel) -> dict[str, Tensor]:
    """Where friction, stiffness and damping start, one number for all cubes each."""
    names = ("friction", "contact_stiffness", model.contact.damping_name)
    return {name: model.spec(name).default[:1].clone() for name in names}


def wide(folder: Path, law: str) -> dict[str, tuple[float, float]]:
    """Cosine and length ratio by horizon, over the loss of all 12 tosses."""
    found = {}
    for frames in HORIZONS:
        tosses = read(folder, 0, 12).until(frames)
        model = model_of(tosses, law)
        seen = compare_wide(lambda **given: loss_of(model, tosses, **given).mean(), unknowns(model))  # noqa: B023
        found["all" if frames is None else str(frames)] = (seen.cosine, seen.ratio)
    return found


def fit(folder: Path, law: str, starts: int, seed: int = 0) -> list[tuple[float, list[float]]]:
    """Loss and unknowns at the end, from random starts a factor of up to 3 away, by Gauss-Newton (Levenberg-Marquardt)
    with a growing horizon. The Jacobian is exact: differences so narrow that they stay within a smooth piece."""
    from scipy.optimize import least_squares

    random = np.random.default_rng(seed)
    tosses = read(folder, 20, 20)
    model = model_of(tosses, law)
    base = unknowns(model)
    names, middle = list(base), np.array([np.log(float(v)) for v in base.values()])

    def errors(z: np.ndarray, part: Tosses) -> np.ndarray:
        given = {name: torch.tensor([np.exp(x)]) for name, x in zip(names, z, strict=True)}
        with torch.no_grad():
            found: np.ndarray = residuals(model, part, **given).numpy().reshape(-1) / np.sqrt(part.poses.shape[1])
        return found

    def jacobian(z: np.ndarray, part: Tosses, h: float = 1e-7) -> np.ndarray:
        steps = h * np.eye(len(z))
        return np.stack([(errors(z + s, part) - errors(z - s, part)) / (2.0 * h) for s in steps], axis=1)

    found = []
    for _ in range(starts):
        z = middle + random.uniform(-np.log(3.0), np.log(3.0), len(names))
        for frames in HORIZONS:
            z = least_squares(errors, z, jac=jacobian, args=(tosses.until(frames),), max_nfev=60).x
        found.append((float(np.square(errors(z, tosses)).sum()), np.exp(z).tolist()))
        ends = "  ".join(f"{name} {x:.4g}" for name, x in zip(names, found[-1][1], strict=True))
        print(f"loss {found[-1][0]:.6f}  {ends}", flush=True)
    return found


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
            losses = np.array([loss for loss, _ in fit(Path(given.data), law, given.starts)])
            near = int((losses <= 1.02 * losses.min()).sum())
            print(f"{law}: {near} of {len(losses)} starts end within 2 % of {losses.min():.6f}")
        else:
            for frames, (cosine, ratio) in wide(Path(given.data), law).items():
                print(f"{law}, {frames} frames: cosine {cosine:.3f}, length ratio {ratio:.2f}")
        print(f"{time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
