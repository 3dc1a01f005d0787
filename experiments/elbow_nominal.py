"""Predictions by the elbow's unchanged description and by fitted values: errors from the first contact on.

Where experiments/real/real-elbow.toml starts, it already knows what the recording taught: inertias of solid boxes, a z
axis that leans, and the ground of each toss. Here the description is taken by its word as well: its own inertias, the
ground at z = 0, gravity along the recorded z; from the first sample's measured state, or from what the flight tells.

    DIFFLOOM_REAL_DATA=FOLDER diffloom run experiments/real/real-elbow.toml --out runs/elbow
    DIFFLOOM_REAL_DATA=FOLDER python experiments/elbow_nominal.py runs/elbow/result.json --tosses 200:260
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from diffloom_motion import load_motion, settle_starts

FILE = Path(__file__).parent / "real" / "real-elbow.toml"
#: Settings as described: no damping of the hinge, no correction of the recording.
PLAIN = (
    "recording.level=[0.0, 0.0, 1.0]",
    "clips.grounded=false",
    "unknowns.damping[6].start=1e-9",
    *(f"unknowns.inertia[{link}].start=[6.167e-4, 6.167e-4, 6.167e-4]" for link in ("upper", "fore")),
)
#: Velocities that were recorded, which the file does not use.
MEASURED = (
    'start.rule="sample"',
    'recording.axes="body"',
    "recording.columns.angular_velocity=[8, 9, 10]",
    "recording.columns.velocity=[11, 12, 13]",
)
#: The description knows no restitution; at 1 m/s these are about 0.6 and 0.12.
DEAD = "unknowns.contact_dissipation.start=8.0"
WITHIN = (15, 30, 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path, help="result.json of a run of real-elbow.toml")
    parser.add_argument("--tosses", default="200:260")
    given = parser.parse_args()
    rows: dict[str, tuple[tuple[str, ...], bool]] = {
        "described, first sample": ((*PLAIN, *MEASURED), False),
        "described, first sample, dead": ((*PLAIN, *MEASURED, DEAD), False),
        "described, flight": (PLAIN, False),
        "solid boxes, levelled, on the ground": ((), False),
        "fitted": ((), True),
    }
    found = {
        name: errors(changes, given.tosses, given.result if fit else None) for name, (changes, fit) in rows.items()
    }
    contact = found["fitted"][1]
    said = "  ".join(f"first {n:3d}" for n in WITHIN)
    print(f"{'mean over tosses [mm]':38s} whole  {said}  | rotation, hinge [degrees]")
    base = found["described, first sample"][0][0]
    for name, (parts, _) in found.items():
        place, turn, hinge = parts
        after = [float(np.mean([p[k : k + n].mean() for p, k in zip(place, contact, strict=True)])) for n in WITHIN]
        shown = "  ".join(f"{1e3 * a:9.1f}" for a in after)
        turns = f"{np.degrees(turn.mean()):5.1f} {np.degrees(hinge.mean()):5.1f}"
        ratio = place.mean() / base.mean()
        print(f"{name:38s} {1e3 * place.mean():5.1f}  {shown}  | {turns}  {ratio:.2f} of the first row")
    print("median [mm] by frames since the first contact")
    for name, (parts, _) in found.items():
        curve = [
            np.median([p[min(k + n, len(p) - 1)] for p, k in zip(parts[0], contact, strict=True)])
            for n in range(0, 61, 5)
        ]
        print(f"{name:38s}", " ".join(f"{1e3 * c:5.1f}" for c in curve))


def errors(changes: tuple[str, ...], tosses: str, result: Path | None) -> tuple[list[np.ndarray], np.ndarray]:
    """Position error [m], rotation and hinge error [rad], each (tosses, frames), and the frame of the first contact."""
    whole = (f'clips.fit="{tosses}"', "clips.share=1.0", "clips.windows=[121, 121]", "substeps=24")
    experiment = load_motion(str(FILE), (*whole, 'clips.holdout="0:1"', *changes))
    scene, names = experiment.scene, [slot.name for slot in experiment.shared]
    found = [] if result is None else json.loads(result.read_text())["estimates"]
    values = experiment.shared_values({e["name"]: e["found"] for e in found if e["name"] in names})
    values |= settle_starts(scene, values)
    parts = [np.zeros((len(scene.clips), 121)) for _ in range(3)]
    contact = np.zeros(len(scene.clips), dtype=int)
    for group in scene.groups:
        with torch.no_grad():
            place, turn, hinge = scene.errors(group, values)
        for part, error in zip(parts, (place, turn, hinge), strict=True):
            part[group.rows] = error.norm(dim=2).T.numpy()
        contact[group.rows] = group.flight.sum(dim=0).long().numpy()
    return parts, contact


if __name__ == "__main__":
    main()
