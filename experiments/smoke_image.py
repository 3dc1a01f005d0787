"""The image of smoke2d: what the wind that was found does to the smoke, and the target.

python experiments/smoke_image.py [--seed 1] [--out docs/images/smoke.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from PIL import Image

from diffloom_experiments import build_experiment, load_file
from diffloom_fitting.fits import run_fit

FOLDER = Path(__file__).resolve().parent
FRAMES = (0, 33, 66, 99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "docs" / "images" / "smoke.png")
    given = parser.parse_args()
    experiment = build_experiment(load_file(FOLDER / "smoke2d.toml", changes={"seed": given.seed}))
    found = run_fit(experiment, sure=False)
    with torch.no_grad():
        values = {"velocity": found.estimates[0].found}
        view = experiment.scene.render(values, torch.tensor(FRAMES, dtype=torch.float64))
    gap = torch.ones(110, 4, 3)
    parts = [frame for image in view.image.rgb for frame in (image, gap)] + [experiment.target.frames[-1, ..., :3]]
    Image.fromarray((torch.cat(parts, dim=1).clamp(0.0, 1.0) * 255.0).byte().numpy()).save(given.out)
    print(f"loss {found.start_loss:.4f} -> {found.loss:.4f}; {given.out}")


if __name__ == "__main__":
    main()
