"""Torques that a real double pendulum needs for its recorded motion, by our fit and by its authors' parameter files.

Angles are smoothed by polynomials over a short window, and the equations of motion give the torque of each joint. The
root mean square difference from the measured torques is a torque residual. Offsets of the motors, a number for each
joint and run, are taken out of every model alike.

    diffloom run experiments/real/real-double-pendulum.toml --out FOLDER
    DIFFLOOM_REAL_DATA=DATA python experiments/double_pendulum_torques.py FOLDER
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.signal import savgol_filter

Array = NDArray[np.float64]
RATE, LENGTH, GEAR, GRAVITY = 250.0, 0.2, 6.0, 9.81
#: Distances of the fit's centres of mass from their joints [m], and rate at which its dry friction sets in [rad/s].
CENTRES, ONSET = (0.19, 0.25), 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path, help="folder of the fit")
    parser.add_argument("--windows", type=int, nargs="+", default=[31, 41, 61], help="frames of the smoothing windows")
    given = parser.parse_args()
    data = Path(os.environ["DIFFLOOM_REAL_DATA"]) / "dfki"
    models = {place.stem: by_authors(yaml.safe_load(place.read_text())) for place in sorted(data.glob("*.yml"))}
    models["fitted"] = by_fit(json.loads((given.result / "result.json").read_text()))
    for window in given.windows:
        for place in sorted(data.glob("*trajectory*.csv.gz")):
            angles, rates, accelerations, torques = read_run(place, window)
            for name, model in models.items():
                left = needed_torques(model, angles, rates, accelerations) - torques
                left -= left.mean(axis=0)
                rms = np.sqrt((left**2).mean(axis=0))
                print(f"window {window}, {place.name}, {name}: {rms[0]:.3f} and {rms[1]:.3f} N m")


def read_run(place: Path, window: int) -> tuple[Array, Array, Array, Array]:
    """Return smoothed angles, rates and accelerations, and the measured torques (frames, 2) at an even rate."""
    with gzip.open(place) as packed:
        table = np.genfromtxt(packed, delimiter=",", names=True)
    times = np.arange(0.0, table["time"][-1], 1.0 / RATE)
    angles, torques = (
        np.stack([np.interp(times, table["time"], table[f"{name}{joint}"]) for joint in (1, 2)], axis=1)
        for name in ("pos_meas", "tau_meas")
    )
    smooth = [savgol_filter(angles, window, 4, deriv=order, delta=1.0 / RATE, axis=0) for order in range(3)]
    return smooth[0], smooth[1], smooth[2], torques


def by_authors(table: Mapping[str, float]) -> dict[str, Array]:
    """Return the moments and frictions of an authors' file, whose dry friction follows an arctangent."""
    m1, m2 = table["m1"], table["m2"]
    return {
        "inertia": np.array([table["I1"] + m2 * LENGTH**2, table["I2"]]),
        "moment": np.array([m1 * table["r1"] + m2 * LENGTH, m2 * table["r2"]]),
        "rotor": np.array([table["Ir"]]), "damping": np.array([table["b1"], table["b2"]]),
        "dry": np.array([table["cf1"], table["cf2"]]), "smooth": np.zeros(2), "armature": np.zeros(2),
    }  # fmt: skip


def by_fit(result: Mapping[str, list[dict[str, object]]]) -> dict[str, Array]:
    """Return the same of a fit's result."""
    found = {str(each["name"]): np.atleast_1d(np.asarray(each["found"], np.float64)) for each in result["estimates"]}
    mass, extra = found["mass"], np.array([0.0, float(found["inertia[lower]"].reshape(-1)[0])])
    own = mass * np.array(CENTRES) ** 2 + extra
    return {
        "inertia": own + np.array([mass[1] * LENGTH**2, 0.0]),
        "moment": mass * np.array(CENTRES) + np.array([mass[1] * LENGTH, 0.0]),
        "rotor": np.zeros(1), "damping": np.zeros(2), "dry": np.zeros(2), "smooth": found["dry_friction"],
        "armature": found["armature"],
    }  # fmt: skip


def needed_torques(model: Mapping[str, Array], q: Array, u: Array, a: Array) -> Array:
    """Return the torques (frames, 2) of the equations of motion of two links."""
    (j1, j2), (g1, g2), rotor = model["inertia"], model["moment"], model["rotor"][0]
    couple = g2 * LENGTH
    cosine, sine = np.cos(q[:, 1]), np.sin(q[:, 1])
    weight = GRAVITY * g2 * np.sin(q.sum(axis=1))
    first = (
        j1 * a[:, 0] + j2 * a.sum(axis=1) + couple * (2.0 * cosine * a[:, 0] + cosine * a[:, 1])
        - couple * sine * u[:, 1] * (2.0 * u[:, 0] + u[:, 1]) + GRAVITY * g1 * np.sin(q[:, 0]) + weight
        + rotor * ((1.0 + GEAR**2) * a[:, 0] - GEAR * a[:, 1])
    )  # fmt: skip
    second = (
        j2 * a.sum(axis=1) + couple * (cosine * a[:, 0] + sine * u[:, 0] ** 2) + weight
        + rotor * (GEAR**2 * a[:, 1] - GEAR * a[:, 0])
    )  # fmt: skip
    friction = model["damping"] * u + model["dry"] * np.arctan(100.0 * u)
    friction = friction + model["smooth"] * u / np.sqrt(u**2 + ONSET**2)
    return np.stack([first, second], axis=1) + friction + model["armature"] * a


if __name__ == "__main__":
    main()
