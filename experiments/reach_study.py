"""Reach over seeds: how near the arm's tip comes to the one in the image, by environment steps.

python experiments/reach_study.py --seeds 0:5 --out runs/reach.json
"""

import argparse
import json
import time
from pathlib import Path

import torch

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting.fits import peak_memory
from diffloom_fitting.loop import advance, begin

FOLDER = Path(__file__).parent
LENGTH, EVERY = 0.4, 16  # length of a link [m]; steps of a decision, 40 ms
ENOUGH = -4e-4  # the return that counts as reached [m^2]: the tip is within 2 cm of the goal, root mean square


def tip(q):
    """(n, 2) [m]: where the tip is, of angles (n, 2)."""
    first, both = q[:, 0], q[:, 0] + q[:, 1]
    return LENGTH * torch.stack([first.sin() + both.sin(), -first.cos() - both.cos()], dim=1)


def reward(experiment, z):
    """Minus the mean squared distance of the tip from the goal's at the goal's times [m^2]."""
    target = experiment.target
    with torch.no_grad():
        view = experiment.scene.render(experiment.layout.decode(z), target.times, (), NoGradient())
    return -float((tip(view.q[:, 0]) - tip(target.q[:, 0])).square().sum(dim=1).mean())


def run(seed, quick=False):
    """One fit from pixels: the return after each iteration, and the environment steps until then."""
    experiment = build_experiment(load_file(FOLDER / "reach.toml", changes={"seed": seed}, quick=quick))
    _, found = followed(experiment, reward, EVERY, ENOUGH)
    return {"seed": seed, "goal": experiment.target.q[-1, 0].tolist(), **found}


def followed(experiment, reward, every, enough):
    """(the vector found, figures) of a fit: what ``reward(experiment, z)`` says after each iteration, and after how
    many environment steps, each of ``every`` steps of physics, it was ``enough``."""
    state, clock, curve, spent = begin(experiment), time.process_time(), [], 0
    decisions = -(-experiment.scene.steps // every)
    while not state.finished:
        state, record = advance(experiment, state)
        spent += record.evaluations * decisions
        z = state.progress.z if state.progress is not None else state.z
        curve.append([spent, reward(experiment, z)])
    first = next((steps for steps, value in curve if value >= enough), None)
    return state.z, {"curve": curve, "reached_after": first, "return": curve[-1][1],
                     "processor_seconds": time.process_time() - clock, "peak_memory_bytes": peak_memory()}  # fmt: skip


def main():
    """Run the seeds, and keep them in one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:5")
    parser.add_argument("--out", type=Path, default=Path("runs/reach.json"))
    given = parser.parse_args()
    first, end = map(int, given.seeds.split(":"))
    found = []
    for seed in range(first, end):
        found.append(run(seed))
        print(f"seed {seed}: return {found[-1]['return']:.2e}, reached after {found[-1]['reached_after']}", flush=True)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")
        write_origin(given.out)


if __name__ == "__main__":
    main()
