"""Area and centroid of segmented mattes beside the exact ones, on the clips of made_clips.py.

python experiments/made_mattes.py --folder clips             # prints a table
python experiments/made_mattes.py --folder clips --size 480  # read at 480 pixels on the longer side
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from diffloom.interfaces import InputError
from diffloom_video import read_video
from diffloom_video.segmentation import BackgroundPlate, Motion, Segmenter, segment

SOFT = {"convex": True, "thin": 0.2, "edge": 0.4, "soft": 0.12, "exposure": 0.5, "gamma": 2.2, "shade": True}
SEGMENTERS: dict[str, Segmenter] = {
    "plate": BackgroundPlate(cleaning={"convex": True, "thin": 0.2}),  # type: ignore[arg-type]
    "plate, in light": BackgroundPlate(cleaning=SOFT),  # type: ignore[arg-type]
    "motion": Motion(gap=12, cleaning={"convex": True, "thin": 0.2}),  # type: ignore[arg-type]
}


def measure(folder: Path, name: str, segmenter: Segmenter, size: int, gamma: float) -> tuple[float, float, float, int]:
    """(mean error of the radius [px], its standard deviation, rms error of the centroid [px], frames)."""
    video = read_video(folder / f"{name}.mp4", size=size, gamma=gamma, dtype=torch.float32)
    with np.load(folder / f"{name}.npz") as held:
        truth = held["tracks"]
    assert video.size is not None
    scale = video.size[1] / 640.0
    found = segment(video, segmenter)
    assert found.tracks is not None
    tracks = found.tracks.double().numpy()
    used = [k for k in range(len(tracks)) if tracks[k, 3] > 0.5 and truth[k, 2] > 0.0]
    radius = np.sqrt(truth[used, 2] / np.pi) * scale
    off = tracks[used, 2] - radius
    apart = tracks[used, :2] - truth[used, :2] * scale
    return float(off.mean()), float(off.std()), float(np.sqrt((apart**2).sum(1).mean())), len(used)


def main() -> None:
    """Print a row for each clip and segmenter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="of made_clips.py")
    parser.add_argument("--size", type=int, default=240, help="pixels on the longer side")
    given = parser.parse_args()
    told = json.loads((given.folder / "truth.json").read_text(encoding="utf-8"))
    print("| clip | radius [px] | segmenter | radius off by [px] | spread | centroid off by, rms [px] | frames |")
    print("|---|---|---|---|---|---|---|")
    for name in told:
        if not (given.folder / f"{name}.npz").exists():
            continue
        with np.load(given.folder / f"{name}.npz") as held:
            area = held["tracks"][:, 2]
        radius = np.sqrt(np.median(area[area > 0.0]) / np.pi) * given.size / 640.0
        for label, segmenter in SEGMENTERS.items():
            try:
                off, spread, apart, count = measure(
                    given.folder, name, segmenter, given.size, 2.2 if "light" in label else 1.0
                )
            except InputError as error:
                print(f"| {name} | {radius:.1f} | {label} | {error} | | | |")
                continue
            print(
                f"| {name} | {radius:.1f} | {label} | {off:+.3f} | {spread:.3f} | {apart:.3f} | {count} |", flush=True
            )


if __name__ == "__main__":
    main()
