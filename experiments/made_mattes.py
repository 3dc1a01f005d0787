"""Area and centroid of segmented mattes beside the exact ones, on the clips of made_clips.py.

    python experiments/made_mattes.py --folder clips     # writes experiments/results/made-mattes.md

The clips, of 640 pixels, have blur, a soft shadow, texture behind the object and on it, grain and H.264; they are
shrunk to 240 pixels, or to --sizes. The radius is that of a disc of the matte's area. A centroid is compared after the
median difference of its clip is taken out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from diffloom.interfaces import InputError
from diffloom_experiments.origin import write_origin
from diffloom_fitting import Target
from diffloom_video import read_video
from diffloom_video.segmentation import BackgroundPlate, ColourKey, Motion, Segmenter, segment

ROOT = Path(__file__).resolve().parents[1]
CLEAN = {"convex": True, "thin": 0.2}
LIGHT = {**CLEAN, "gamma": 2.2}
WIDTH, LIGHT_POWER = 640, 2.2
#: Segmenters by name, and the power in which frames shrink.
PLATES: dict[str, tuple[Segmenter, float]] = {
    "plate": (BackgroundPlate(cleaning=CLEAN), 1.0),  # type: ignore[arg-type]
    "plate, `gamma = 2.2`": (BackgroundPlate(cleaning=LIGHT), LIGHT_POWER),  # type: ignore[arg-type]
    "plate, `gamma = 2.2`, `shade`": (
        BackgroundPlate(cleaning={**LIGHT, "edge": 0.4, "soft": 0.12, "exposure": 0.5, "shade": True}),  # type: ignore[arg-type]
        LIGHT_POWER,
    ),
    "motion, `gamma = 2.2`": (Motion(gap=12, cleaning=LIGHT), LIGHT_POWER),  # type: ignore[arg-type]
}


def colour_key(video: Target) -> Segmenter:
    """A key of the object's mean colour, as a person would pick it."""
    found = segment(video, BackgroundPlate(cleaning=LIGHT))  # type: ignore[arg-type]
    assert found.masks is not None
    assert found.frames is not None
    colour = found.frames[..., :3][found.masks > 0.99].mean(dim=0).tolist()
    return ColourKey(tuple(colour), 0.15, cleaning=LIGHT)  # type: ignore[arg-type]


def measure(video: Target, truth: np.ndarray, segmenter: Segmenter) -> tuple[float, float, float]:
    """(median error of the radius, its spread, rms error of the centroid), each in pixels."""
    assert video.size is not None
    scale = video.size[1] / WIDTH
    found = segment(video, segmenter)
    assert found.tracks is not None
    tracks = found.tracks.double().numpy()
    used = [k for k in range(len(tracks)) if tracks[k, 3] > 0.5 and truth[k, 2] > 0.0]
    if len(used) < 5:
        raise InputError("hardly seen")
    off = tracks[used, 2] - np.sqrt(truth[used, 2] / np.pi) * scale
    apart = tracks[used, :2] - truth[used, :2] * scale
    apart -= np.median(apart, axis=0)
    return float(np.median(off)), float(off.std()), float(np.sqrt((apart**2).sum(1).mean()))


def main() -> None:
    """Write a row for each segmenter and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="of made_clips.py")
    parser.add_argument("--sizes", type=int, nargs="+", default=[240], help="pixels on the longer side")
    given = parser.parse_args()
    names = list(json.loads((given.folder / "truth.json").read_text(encoding="utf-8")))
    lines = [
        "| read at | segmenter | radius off by, mean of the clips [px] | worst clip | spread in a clip "
        "| centroid, rms [px] | clips |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in given.sizes:
        rows: dict[str, list[tuple[float, float, float]]] = {}
        for name in names:
            with np.load(given.folder / f"{name}.npz") as held:
                truth = held["tracks"]
            for power in (1.0, LIGHT_POWER):
                video = read_video(given.folder / f"{name}.mp4", size=size, gamma=power, dtype=torch.float32)
                chosen = {label: each for label, (each, own) in PLATES.items() if own == power}
                if power == LIGHT_POWER:
                    chosen["colour, `gamma = 2.2`"] = colour_key(video)
                for label, segmenter in chosen.items():
                    try:
                        rows.setdefault(label, []).append(measure(video, truth, segmenter))
                    except InputError:
                        continue
            print(size, name, flush=True)
        for label, found in rows.items():
            off, spread, apart = np.array(found).T
            worst = off[np.abs(off).argmax()]
            numbers = f"{off.mean():+.3f} | {worst:+.3f} | {np.median(spread):.3f} | {np.median(apart):.3f}"
            lines.append(f"| {size} px | {label} | {numbers} | {len(found)} of {len(names)} |")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    head = ["# Mattes of clips drawn by a ray caster, beside the truth", ""]
    head += [f"`python experiments/made_mattes.py --folder FOLDER`, commit {commit}, {datetime.now(UTC):%Y-%m-%d}.", ""]
    place = ROOT / "experiments" / "results" / "made-mattes.md"
    place.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    write_origin(place)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
