"""The soft crawler over seeds: how near the beam's middle comes to the one in the image, by environment steps.

python experiments/crawler_study.py --seeds 0:6 --out runs/crawler.json --picture crawler.png
"""

import argparse
import json
from pathlib import Path

import torch
from reach_study import FOLDER, followed

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting.losses.centre import centres
from diffloom_studio.report import write_frames

EVERY = 40  # steps of a decision, 42 ms
ENOUGH = -2.5e-3  # the return that counts as reached [m^2]: within 5 cm


def reward(experiment, z):
    """Minus the squared distance of the middle from the goal's at the end [m^2]."""
    target = experiment.target
    with torch.no_grad():
        view = experiment.scene.render(experiment.layout.decode(z), target.times, (), NoGradient())
    return -float((centres(view.q) - centres(target.q)).square().sum())


def run(seed, quick=False, picture=None):
    """One fit from pixels: the return after each iteration, and the environment steps until then."""
    experiment = build_experiment(load_file(FOLDER / "soft-crawler.toml", changes={"seed": seed}, quick=quick))
    z, found = followed(experiment, reward, EVERY, ENOUGH)
    if picture is not None:
        large = build_experiment(
            load_file(FOLDER / "soft-crawler.toml", changes={"seed": seed, "camera.size": [128, 256]}, quick=quick)
        )
        times = torch.linspace(0.0, large.scene.steps * large.scene.dt, 5, dtype=torch.float64)
        with torch.no_grad():
            view = large.scene.render(large.layout.decode(z), times, ("rgba",), NoGradient())
        goal = large.target.frames[-1:, ..., :3]
        write_frames(picture, torch.cat([view.image.rgb, goal]).float())
    return {"seed": seed, "goal": float(centres(experiment.target.q)[-1, 0]), **found}


def main():
    """Run the seeds, and keep them in one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:6")
    parser.add_argument("--out", type=Path, default=Path("runs/crawler.json"))
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    first, end = map(int, given.seeds.split(":"))
    found = []
    for seed in range(first, end):
        found.append(run(seed, picture=given.picture if seed == first else None))
        print(f"seed {seed}: return {found[-1]['return']:.2e}, reached after {found[-1]['reached_after']}", flush=True)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")
        write_origin(given.out)


if __name__ == "__main__":
    main()
