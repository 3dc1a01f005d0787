"""The control experiments over seeds, beside a random policy, state supervision and CMA-ES.

python experiments/control_study.py run control-fem --seeds 0:6    # keeps finished seeds in runs/control
python experiments/control_study.py sizes                          # control-cloth from 128 to 2048 triangles
python experiments/control_study.py write                          # results/control.md, .json and the plots
"""

import argparse
import json
import math
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting.fits import peak_memory
from diffloom_fitting.goal_outcome import measure_goal
from diffloom_fitting.loop import advance, begin
from diffloom_fitting.losses import CentreError
from diffloom_fitting.optimisers import CmaEs
from diffloom_fitting.stages import Stage

FOLDER = Path(__file__).parent
NAMES = ("control-walker", "control-fem", "control-cloth")
# Results of the paper from an image, and our aims: squared distance of the centre [m^2].
PAPER = {"control-walker": "solved in 3", "control-fem": ".107 after 40", "control-cloth": ".199 after 50"}
GOALS = {"control-walker": 0.09, "control-fem": 0.08, "control-cloth": 0.1}
WAYS = {"pixels": "ours, from one image", "state": "3D states", "cma": "CMA-ES", "random": "random"}
MOST = 200  # unknowns that CMA-ES searches all of
SIZES = {20: 8, 21: 12, 22: 16, 23: 24, 24: 32}  # cells of a cloth's side, by seed
FLOOR = 1e-8  # [m^2]: a tenth of a millimetre, below which plots do not go


def error(experiment, z):
    """Squared distance of the centre from the goal's at the end [m^2]."""
    target = experiment.target
    with torch.no_grad():
        view = experiment.scene.render(experiment.layout.decode(z), target.times[-1:], (), NoGradient())
    return float((view.q[-1, :, :3].mean(dim=0) - target.q[-1, :, :3].mean(dim=0)).square().sum())


def changed(experiment, way, budget):
    """The experiment as one of the ways."""
    if way == "state":
        return replace(experiment, stages=tuple(replace(s, loss=CentreError()) for s in experiment.stages))
    if way == "cma":
        size = experiment.layout.size
        search = CmaEs(sigma=0.3 if size > MOST else 1.0, separable=size > MOST)
        population = 4 + int(3.0 * math.log(size))
        loss = experiment.stages[0].loss
        return replace(experiment, stages=(Stage(search, max(1, budget // population), loss=loss),), starts=())
    return experiment


def run(name, seed, way, renderer, budget=0, quick=False, more=None):
    """One fit: the error by iteration of what it would hand over, and what it took. more: further changes."""
    changes = {"seed": seed, "renderer.name": renderer, **(more or {})}
    experiment = changed(
        build_experiment(load_file(FOLDER / f"{name}.toml", changes=changes, quick=quick)), way, budget
    )
    state, errors, evaluations, busy = begin(experiment), [], [], 0.0
    best = (math.inf, None, -1)
    while not state.finished:
        clock = time.process_time()
        state, record = advance(experiment, state)
        busy += time.process_time() - clock
        # Each stage has a loss of its own, and begins where the last one's best ended.
        if record.stage != best[2]:
            best = (math.inf, None, record.stage)
        z = state.progress.z if state.progress is not None else state.z
        if record.loss <= best[0] or state.progress is None:
            best = (min(record.loss, best[0]), error(experiment, z), record.stage)
        if record.iteration > 0 or not errors:
            errors.append(best[1])
        evaluations.append(record.evaluations)
    met = measure_goal(experiment, state.z)
    return {
        "experiment": name, "seed": seed, "way": way, "renderer": renderer, "errors": errors, "iou": met.iou,
        "effort": met.effort, "unknowns": experiment.layout.size, "simulations": sum(evaluations),
        "processor_seconds": busy, "peak_memory_bytes": peak_memory(),
    }  # fmt: skip


def keep(work, name, seed, way, renderer):
    """Run one fit unless it is finished."""
    place = work / f"{name}-{seed}-{way}-{renderer}.json"
    if place.exists():
        return
    ours = work / f"{name}-{seed}-pixels-{renderer}.json"
    budget = json.loads(ours.read_text())["simulations"] if way == "cma" else 0
    found = run(name, seed, way, renderer, budget)
    work.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found) + "\n")
    told = f"{found['errors'][0]:.3g} -> {found['errors'][-1]:.3g} m^2"
    print(f"{name} seed {seed} {way} {renderer}: {told}, {found['processor_seconds']:.0f} s", flush=True)


def sizes(out, chosen):
    """control-cloth, each seed with a cloth of its own size: one row each."""
    place = out / "control-cloth-sizes.json"
    found = json.loads(place.read_text()) if place.exists() else []
    for seed in chosen:
        cells = [SIZES[seed]] * 2
        record = run("control-cloth", seed, "pixels", "softras", more={"model.mesh.cells": cells})
        found = [*(r for r in found if r["seed"] != seed), {"triangles": 2 * cells[0] * cells[1], **record}]
        place.write_text("[\n" + ",\n".join(map(json.dumps, sorted(found, key=lambda r: r["seed"]))) + "\n]\n")
        ends = f"{record['errors'][0]:.3g} -> {record['errors'][-1]:.2g} m^2"
        spent = f"{record['processor_seconds']:.1f} s, {record['peak_memory_bytes'] / 2**20:.0f} MB"
        print(f"{found[-1]['triangles']} triangles: {ends}, {spent}", flush=True)


def at(record, iteration):
    """The error after so many iterations, or at the end of a run that stopped before."""
    return record["errors"][min(iteration, len(record["errors"]) - 1)]


def table(records):
    """Markdown rows: each experiment and way over its seeds."""
    head = ["experiment", "way", "seeds", "start", "mean", "deviation", "worst", "within the goal", "IoU", "iterations",
            "simulations", "s / fit", "peak memory", "paper"]  # fmt: skip
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in NAMES:
        groups = {}
        for record in records:
            if record["experiment"] == name:
                groups.setdefault((record["way"], record["renderer"]), []).append(record)
        for (way, renderer), found in sorted(groups.items(), key=lambda item: (list(WAYS).index(item[0][0]), item[0])):
            ends = [record["errors"][-1] for record in found]
            ious = [record["iou"] for record in found if record["iou"] is not None]
            cells = [
                name, f"{WAYS[way]} ({renderer})", str(len(found)), f"{statistics.mean(at(r, 0) for r in found):.3g}",
                f"{statistics.mean(ends):.2g}", f"{statistics.pstdev(ends):.2g}", f"{max(ends):.2g}",
                f"{sum(e <= GOALS[name] for e in ends)}/{len(ends)}", f"{statistics.mean(ious):.2f}" if ious else "",
                str(max(len(r["errors"]) - 1 for r in found)),
                f"{statistics.mean(r['simulations'] for r in found):.0f}",
                f"{statistics.mean(r['processor_seconds'] for r in found):.1f}",
                f"{max(r['peak_memory_bytes'] for r in found) / 2**20:.0f} MB",
                PAPER[name] if way == "pixels" else "",
            ]  # fmt: skip
            rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def plot(name, records, place):
    """Mean and range of the error over the seeds by iteration, for each way."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "diffloom"
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    for way, colour in (("pixels", "#1f5fa8"), ("state", "#2c8a57"), ("cma", "#d9632b")):
        found = [r for r in records if r["experiment"] == name and r["way"] == way and r["renderer"] == "softras"]
        if not found:
            continue
        length = max(len(r["errors"]) for r in found)
        rows = torch.tensor([[at(r, k) for k in range(length)] for r in found], dtype=torch.float64)
        rows = rows.clamp(min=FLOOR)
        axes.plot(range(length), rows.mean(dim=0), color=colour, label=WAYS[way])
        axes.fill_between(range(length), rows.amin(dim=0), rows.amax(dim=0), color=colour, alpha=0.15)
    starts = [r["errors"][0] for r in records if r["experiment"] == name and r["way"] == "pixels"]
    axes.axhline(statistics.mean(starts), color="#777777", linestyle=":", label="random")
    axes.axhline(GOALS[name], color="#777777", linestyle="--", label="goal")
    axes.set(xlabel="iteration (CMA-ES: generation)", ylabel="squared distance of the centre [m$^2$]")
    axes.set_title(f"{name}: mean and range")
    axes.set_yscale("log")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(place, metadata={"Date": None})
    plt.close(figure)


def write(work, out):
    """The table, the figures and the plots of all that is finished."""
    records = [json.loads(place.read_text()) for place in sorted(work.glob("control-*.json"))]
    out.mkdir(parents=True, exist_ok=True)
    (out / "control.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in records) + "\n]\n")
    (out / "control.md").write_text(f"# Control\n\n{table(records)}\n")
    write_origin(out / "control.json", out / "control.md")
    for name in {record["experiment"] for record in records}:
        plot(name, records, out / f"{name}.svg")
        write_origin(out / f"{name}.svg")


def main():
    """Run or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "sizes", "write"])
    parser.add_argument("name", nargs="?", choices=NAMES)
    parser.add_argument("--seeds", help="first:end; absent: 0:6, and 20:25 for sizes")
    parser.add_argument("--ways", default="pixels,state,cma")
    parser.add_argument("--renderer", default="softras")
    parser.add_argument("--work", type=Path, default=Path("runs/control"))
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    given = parser.parse_args()
    if given.what == "write":
        write(given.work, given.out)
        return
    first, end = map(int, (given.seeds or ("20:25" if given.what == "sizes" else "0:6")).split(":"))
    if given.what == "sizes":
        sizes(given.out, [seed for seed in SIZES if first <= seed < end])
        return
    for way in given.ways.split(","):
        for seed in range(first, end):
            keep(given.work, given.name, seed, way, given.renderer)


if __name__ == "__main__":
    main()
