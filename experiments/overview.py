"""One image of all experiments: video, guess and fit at the end of each (as the paper's first figure).

python experiments/overview.py [--out docs/images/overview.png]

Every experiment is fitted in its reduced version and drawn larger.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch import Tensor

from diffloom_experiments import build_experiment, load_file
from diffloom_fitting.fits import run_fit

FOLDER = Path(__file__).resolve().parent
NAMES = (
    "rigid-mass", "rigid-contact", "fem-mass", "fem-material", "cloth-velocity", "pendulum", "double-pendulum",
    "bounce", "smoke2d",
)  # fmt: skip
SIZE, BAND = 112, 16


def panels(name: str, seed: int) -> list[Tensor]:
    """The last frame of the video, of the guess and of the fit, each (SIZE, SIZE, 3)."""
    changes = {"seed": seed}
    if name == "smoke2d":
        changes |= {"camera.size": [SIZE, SIZE]}
    found = run_fit(build_experiment(load_file(FOLDER / f"{name}.toml", quick=True, changes=changes)), sure=False)
    large = build_experiment(
        load_file(FOLDER / f"{name}.toml", quick=True, changes={**changes, "camera.size": [SIZE, SIZE]})
    )
    time = large.target.times[-1:]
    drawn = [large.target.frames[-1, ..., :3]]
    with torch.no_grad():
        for values in ({e.name: e.start for e in found.estimates}, {e.name: e.found for e in found.estimates}):
            drawn.append(large.scene.render(values, time).image.rgb[0])
    return drawn


def sheet(columns: dict[str, list[Tensor]]) -> Image.Image:
    """Experiments side by side, with their names above and labels at the left."""
    left = 40
    made = Image.new("RGB", (left + len(columns) * (SIZE + 4), BAND + 3 * (SIZE + 4)), "white")
    pen = ImageDraw.Draw(made)
    for row, text in enumerate(("video", "guess", "fit")):
        pen.text((4, BAND + row * (SIZE + 4) + SIZE // 2 - 6), text, fill="black")
    for column, (name, images) in enumerate(columns.items()):
        x = left + column * (SIZE + 4)
        pen.text((x, 2), name, fill="black")
        for row, image in enumerate(images):
            part = Image.fromarray((image.clamp(0.0, 1.0) * 255.0).byte().numpy())
            made.paste(part, (x, BAND + row * (SIZE + 4)))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", action="append", choices=NAMES, help="only these")
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "docs" / "images" / "overview.png")
    given = parser.parse_args()
    columns = {}
    for name in given.name or NAMES:
        columns[name] = panels(name, given.seed)
        print(name, flush=True)
    sheet(columns).save(given.out)


if __name__ == "__main__":
    main()
