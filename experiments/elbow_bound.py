"""Bound on predictions of the elbow's tosses by any single restitution and friction, chosen after the fact.

Each toss of experiments/real/real-elbow.toml is simulated as a whole, from what its flight tells, with every pair of a
grid of dissipations and frictions. The mean over tosses of the best pair is what a fit of both could reach at most on
these tosses; the mean of each toss's own best pair, chosen with its recording in view, what no fit can beat.

    DIFFLOOM_REAL_DATA=FOLDER python experiments/elbow_bound.py --tosses 40:100
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from diffloom_motion import load_motion, score_clips, settle_starts

FILE = Path(__file__).parent / "real" / "real-elbow.toml"
#: Hunt-Crossley: restitutions of 0.71 to 0.12 at 1 m/s.
DISSIPATIONS = (0.6, 1.2, 2.0, 3.2, 5.0, 8.0)
FRICTIONS = (0.08, 0.13, 0.18, 0.24, 0.3, 0.4)
#: [kg m^2] of solid boxes of 0.37 kg, and what the description copies from a cube.
INERTIAS = {"solid": [1.54e-4, 3.85e-4, 3.85e-4], "described": [6.167e-4] * 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tosses", default="40:100")
    parser.add_argument("--inertias", choices=tuple(INERTIAS), default="solid")
    given = parser.parse_args()
    # Whole tosses instead of windows; stiff contact takes short steps.
    changes = [f'clips.fit="{given.tosses}"', 'clips.holdout="0:1"', "clips.windows=[121, 121]", "substeps=24"]
    changes += [f"unknowns.{name}.start={INERTIAS[given.inertias]}" for name in ("inertia[upper]", "inertia[fore]")]
    experiment = load_motion(str(FILE), tuple(changes))
    scene, values = experiment.scene, experiment.shared_values()
    values |= settle_starts(scene, values)
    described = score_clips(scene, values)
    print(f"described: {said(described['position'])} mm, {said(described['rotation'], 180 / np.pi / 1e3)} degrees")
    place, turn = [], []
    for dissipation in DISSIPATIONS:
        for friction in FRICTIONS:
            pair = {"contact_dissipation": dissipation, "friction": friction}
            tensors = {name: torch.full_like(values[name], number) for name, number in pair.items()}
            found = score_clips(scene, {**values, **tensors})
            place.append(found["position"].numpy())
            turn.append(found["rotation"].numpy())
            told = f"{said(found['position'])} mm, {said(found['rotation'], 180 / np.pi / 1e3)} degrees"
            print(pair, told, flush=True)
    table = {"position [mm]": 1e3 * np.array(place), "rotation [degrees]": np.degrees(np.array(turn))}
    for name, errors in table.items():
        half = errors.shape[1] // 2
        chosen = errors[:, :half].mean(axis=1).argmin()
        print(f"{name}: best pair {errors.mean(axis=1).min():.1f}, chosen by one half and judged on the other "
              f"{errors[chosen, half:].mean():.1f}, each toss its own {errors.min(axis=0).mean():.1f}")  # fmt: skip


def said(errors: object, factor: float = 1.0) -> str:
    return f"{1e3 * factor * float(np.mean(np.asarray(errors))):.1f}"


if __name__ == "__main__":
    main()
