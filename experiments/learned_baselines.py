"""Learning from videos and searching without gradients, on the experiments with rigid bodies.

    python experiments/learned_baselines.py                # both experiments: an hour on one core
    python experiments/learned_baselines.py --quick        # the reduced version that a test runs
    python experiments/learned_baselines.py --experiment rigid-mass --only learning --sizes 3200   # one row of it

- A **learned regressor** in the spirit of the paper's ConvLSTM: convolutions on every frame, a recurrent net over
  frames, the logarithms of the unknowns at its end. Trained on videos that `diffloom dataset` draws (seeds from 0 on),
  in sets of growing size; when training was at its best is decided on other videos (seeds from 50,000 on), and tested
  on a third set (from 100,000 on). Where errors fall as a power of the number of videos, the number at which they would
  come within ten times ours is extrapolated: far beyond the numbers that were tried.
- **REINFORCE** on the same simulator, treated as a black box: a Gaussian over the unknowns, moved by the losses of its
  samples.
- **Ours**: the fit of the experiment file, on the videos that REINFORCE sees; and on what the regressor sees, the first
  of its test videos, at their small size and rounded to 8 bits.

Errors are relative, medians over test videos and unknowns. Seconds are of the processor. `--data DIR` keeps the videos:
a run that was stopped draws none twice. Results are written row by row, over rows of the same name alone.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting import Experiment, Target
from diffloom_fitting.loop import advance, begin
from diffloom_scale import VideoDataset
from diffloom_scale.datasets import Recipe, make_dataset
from diffloom_scale.engines import LocalPool

FOLDER = Path(__file__).resolve().parent
EXPERIMENTS = ("rigid-mass", "rigid-contact")
VALIDATION, UNSEEN = 50_000, 100_000
#: Seed of the first fit; nothing was chosen by these.
FIRST = 700
#: Frames a second that are enough for about ten images of each video.
RATE = {"rigid-mass": 8, "rigid-contact": 5}
#: The file beside a dataset with the seconds that a video took to draw.
CLOCK = "seconds.txt"
Videos = tuple[Tensor, Tensor]
"""Frames (videos, frames, 3, pixels, pixels) in bytes, and the true values (videos, unknowns)."""


class Effort(NamedTuple):
    """drawn: videos to learn from. sizes: training sets, the first of these. tests: videos kept apart, twice. batches:
    of 32 videos in training, more where that is less than ``epochs`` times all. rounds: of REINFORCE, 16 places each.
    seeds: fits."""

    pixels: int
    drawn: int
    sizes: tuple[int, ...]
    tests: int
    batches: int
    epochs: int
    rounds: int
    seeds: int


WHOLE = Effort(32, 10_000, (800, 3200, 10_000), 256, 5000, 30, 30, 5)
QUICK = Effort(16, 16, (8, 16), 8, 3, 1, 2, 1)


class Regressor(nn.Module):
    """(videos, frames, 3, pixels, pixels) in bytes -> (videos, unknowns)."""

    def __init__(self, unknowns: int, pixels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in ((3, 8), (8, 16), (16, 32)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
        self.seen = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * (pixels // 8) ** 2, 128), nn.ReLU())
        self.seen.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.over_time = nn.GRU(128, 128, batch_first=True)
        self.told = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, unknowns))

    def forward(self, videos: Tensor) -> Tensor:
        frames = self.seen(videos.flatten(0, 1).float() / 255.0).unflatten(0, videos.shape[:2])
        told: Tensor = self.told(self.over_time(frames)[0][:, -1])
        return told


def settings(name: str, effort: Effort) -> tuple[str, ...]:
    """Return the changes that make an experiment's videos small."""
    size = effort.pixels
    return (f"camera.size=[{size},{size}]", 'precision="float32"', f"target.rate={RATE[name]}")


def videos(
    name: str, count: int, seed: int, effort: Effort, folder: Path, quick: bool, most: int | None = None
) -> Videos:
    """Return the videos of seeds from ``seed`` on; of ``count`` that are drawn, the first ``most``."""
    changed = settings(name, effort)
    recipe = Recipe(str(FOLDER / f"{name}.toml"), count, seed=seed, format="npz", settings=changed, quick=quick)
    place, made, began = folder / f"{name}-{seed}", [0], time.process_time()
    make_dataset(recipe, place, LocalPool(1), lambda there, new: made.append(new))
    if sum(made):
        (place / CLOCK).write_text(f"{(time.process_time() - began) / sum(made)}\n")
    data = VideoDataset(place)
    items = [data[k] for k in range(most or len(data))]
    frames = torch.stack([item["video"] for item in items]).permute(0, 1, 4, 2, 3)  # in memory colours come last
    values = torch.stack([torch.cat([v.reshape(-1) for v in item["values"].values()]) for item in items])
    return frames, values.float()


class Learnt(NamedTuple):
    """A regressor of standardised logarithms."""

    net: Regressor
    mean: Tensor
    deviation: Tensor

    def error(self, seen: Videos) -> Tensor:
        """(videos, unknowns), relative."""
        with torch.no_grad():
            told = torch.cat([self.net(part) for part in seen[0].split(256)])
        return (((told * self.deviation + self.mean).exp() - seen[1]) / seen[1]).abs()


def trained(given: Videos, aside: Videos, effort: Effort) -> tuple[Learnt, int]:
    """The best on the videos ``aside`` of what training passes through, and how many batches there were."""
    torch.manual_seed(0)
    frames, wanted = given[0], given[1].log()
    mean, deviation = wanted.mean(0), wanted.std(0)
    learnt = Learnt(Regressor(wanted.shape[1], effort.pixels), mean, deviation)
    batches = max(effort.batches, effort.epochs * len(frames) // 32)
    optimiser = torch.optim.AdamW(learnt.net.parameters(), lr=2e-3, weight_decay=1e-3)
    falling = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, batches, pct_start=0.1)
    order: list[int] = []
    best, kept = math.inf, learnt.net.state_dict()
    for number in range(batches):
        if len(order) < 32:
            order += torch.randperm(len(frames)).tolist()
        chosen, order = order[:32], order[32:]
        wrong = learnt.net(frames[chosen]) - (wanted[chosen] - mean) / deviation
        loss = nn.functional.smooth_l1_loss(wrong, torch.zeros_like(wrong), beta=0.1)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learnt.net.parameters(), 1.0)
        optimiser.step()
        falling.step()
        if number == batches - 1 or (number + 1) % max(1, batches // 20) == 0:
            error = float(learnt.error(aside).median())
            if error < best:
                best, kept = error, {key: value.clone() for key, value in learnt.net.state_dict().items()}
    learnt.net.load_state_dict(kept)
    return learnt, batches


def learned(name: str, effort: Effort, folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """Errors on unseen videos for each size of training set."""
    frames, values = videos(name, effort.drawn, 0, effort, folder, quick, max(effort.sizes))
    each = float((folder / f"{name}-0" / CLOCK).read_text())
    aside, unseen = (videos(name, effort.tests, seed, effort, folder, quick) for seed in (VALIDATION, UNSEEN))
    for size in effort.sizes:
        began = time.process_time()
        learnt, batches = trained((frames[:size], values[:size]), aside, effort)
        spent = time.process_time() - began
        error, known = learnt.error(unseen), learnt.error((frames[: min(size, 512)], values[: min(size, 512)]))
        blind = ((learnt.mean.exp() - unseen[1]) / unseen[1]).abs()
        found = {
            "experiment": name, "videos": size, "error": float(error.median()), "blind": float(blind.median()),
            "each": error.median(0).values.tolist(), "on_training": float(known.median()), "drawing": each * size,
            "training": spent, "batches": batches,
        }  # fmt: skip
        print(name, size, f"{found['error']:.3g} ({found['on_training']:.3g})", f"{spent:.0f} s", flush=True)
        yield found


def needed(records: list[dict[str, Any]], goal: float) -> tuple[float, float]:
    """The power by which errors fall with the number of videos, and the number at which they would reach ``goal``."""
    x = [math.log(r["videos"]) for r in records]
    y = [math.log(r["error"]) for r in records]
    middle = statistics.mean(x)
    slope = sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
    if slope >= 0.0:
        return slope, math.inf
    return slope, math.exp(min(700.0, middle + (math.log(goal) - statistics.mean(y)) / slope))


def distance(experiment: Experiment, z: Tensor) -> float:
    """The median over unknowns of the relative error."""
    values, truth = experiment.layout.sought(z), experiment.target.truth
    return statistics.median(float(((values[k] - truth[k]) / truth[k]).abs().mean()) for k in values)


def fitted(experiment: Experiment) -> dict[str, float]:
    """Ours."""
    began, state = time.process_time(), begin(experiment)
    while not state.finished:
        state, _ = advance(experiment, state)
    return {"error": distance(experiment, state.z), "seconds": time.process_time() - began}


def rounded(name: str, seed: int, effort: Effort, quick: bool) -> dict[str, float]:
    """Ours on a video of the size and with the grey levels that the regressor sees; frames as the file chooses them."""
    size = settings(name, effort)[:1]
    loaded = load_file(FOLDER / f"{name}.toml", settings=size, changes={"seed": seed}, quick=quick)
    experiment = build_experiment(loaded)
    target = experiment.target
    assert isinstance(target, Target)
    assert target.frames is not None
    frames, masks = ((x * 255.0).round() / 255.0 for x in (target.frames, target.coverage()))
    return fitted(replace(experiment, target=replace(target, frames=frames, masks=masks, step=1.0 / 255.0)))


def searched(name: str, seed: int, effort: Effort, quick: bool) -> dict[str, Any]:
    """REINFORCE and ours on one video."""
    experiment = build_experiment(load_file(FOLDER / f"{name}.toml", changes={"seed": seed}, quick=quick))
    began = time.process_time()
    objective, draw = experiment.objective(), torch.Generator().manual_seed(seed)
    mean = experiment.start(0).clone()
    first, spread = distance(experiment, mean), torch.full_like(mean, math.log(0.3))
    for _ in range(effort.rounds):
        noise = torch.randn((16, len(mean)), generator=draw, dtype=mean.dtype)
        seen = objective.values_at(list(mean + spread.exp() * noise))
        reward = torch.tensor([-math.log(max(s.value, 1e-30)) if s.finite else -10.0 for s in seen], dtype=mean.dtype)
        advantage = ((reward - reward.mean()) / (reward.std() + 1e-12))[:, None]
        mean = mean + spread.exp() * (advantage * noise).mean(0)
        spread = (spread + 0.3 * (advantage * (noise.square() - 1.0)).mean(0)).clamp(-9.0, 0.0)
    found: dict[str, Any] = {"experiment": name, "seed": seed, "start": first}
    spent = time.process_time() - began
    found["reinforce"] = {"error": distance(experiment, mean), "seconds": spent, "simulations": 16 * effort.rounds}
    found["ours"], found["coarse"] = fitted(experiment), rounded(name, UNSEEN + seed - FIRST, effort, quick)
    print(name, seed, *(f"{key} {found[key]['error']:.3g}" for key in ("reinforce", "ours", "coarse")), flush=True)
    return found


def table(learnt: list[dict[str, Any]], fits: list[dict[str, Any]]) -> str:
    """Return the results as text."""
    lines = ["| experiment | method | median relative error | cost |", "|---|---|---|---|"]
    for name in dict.fromkeys(r["experiment"] for r in learnt):
        own, tried = [r for r in learnt if r["experiment"] == name], [f for f in fits if f["experiment"] == name]
        lines.append(f"| {name} | always the middle of the training set | {own[-1]['blind']:.2g} | |")
        for r in own:
            known = f" ({r['on_training']:.2g} on its own)" if "on_training" in r else ""
            cost = [f"{what} {r[what]:.0f} s" for what in ("drawing", "training") if what in r]
            cost += [f"{r['batches']} batches"] if "batches" in r else []
            lines.append(f"| | regressor, {r['videos']} videos | {r['error']:.2g}{known} | {', '.join(cost)} |")
        rows = (("REINFORCE", "reinforce"), ("ours, on the regressor's images", "coarse"), ("ours", "ours"))
        for label, key in rows:
            there = [f[key] for f in tried if key in f]
            if not there:
                continue
            errors = statistics.median(f["error"] for f in there)
            spent = [f["seconds"] for f in there if "seconds" in f]
            cost = [f"{statistics.mean(spent):.1f} s a video"] if spent else []
            lines.append(f"| | {label}, {len(there)} videos | {errors:.2g} | {''.join(cost)} |")
        lines += [f"| | *extrapolated*: {told} | | |" for told in extrapolated(own, tried)]
    return "\n".join(lines) + "\n"


def extrapolated(own: list[dict[str, Any]], tried: list[dict[str, Any]]) -> list[str]:
    """Extrapolate the number of videos with which the regressor would come within ten times our error."""
    found = []
    for label, key in (("ours on its images", "coarse"), ("ours", "ours")):
        there = [f[key]["error"] for f in tried if key in f]
        if not there or len(own) < 2:
            continue
        goal = 10 * max(1e-16, statistics.median(there))
        slope, count = needed(own, goal)
        within = f"within ten times {label} ({goal:.1g})"
        met = [r["videos"] for r in own if r["error"] <= goal]
        if met:
            found.append(f"{within} from {met[0]} videos on")
        elif slope > -0.05:
            found.append(f"errors hardly fall with more videos (videos^{slope:.2f}); nothing is said of {within}")
        else:
            found.append(f"errors fall as videos^{slope:.2f}: {within} at about 1e{math.log10(count):.0f} videos")
    if own[-1].get("on_training", 0.0) > 0.8 * own[-1]["error"]:
        found.append("with the most videos it errs as much on its own: more training would tell more than more videos")
    return found


class Found:
    """Results so far, in a file: rows of the regressor by experiment and videos, fits by experiment and seed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows: dict[str, list[dict[str, Any]]] = {"learned": [], "fits": []}
        if file.exists():
            self.rows = json.loads(file.read_text())

    def put(self, kind: str, row: dict[str, Any]) -> None:
        """Replace the row of this name."""

        def name(row: dict[str, Any]) -> tuple[int, int]:
            return EXPERIMENTS.index(row["experiment"]), row["videos" if kind == "learned" else "seed"]

        rows = [each for each in self.rows[kind] if name(each) != name(row)] + [row]
        self.rows[kind] = sorted(rows, key=name)
        self.file.write_text(json.dumps(self.rows, indent=1) + "\n")
        text = table(self.rows["learned"], self.rows["fits"])
        self.file.with_suffix(".md").write_text("# Learned baselines\n\n" + text)
        write_origin(self.file, self.file.with_suffix(".md"))


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", choices=EXPERIMENTS, action="append", help="only these")
    parser.add_argument("--quick", action="store_true", help="the reduced version that a test runs")
    parser.add_argument("--data", type=Path, help="keep the videos here")
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of videos to learn from, instead of the usual")
    parser.add_argument("--batches", type=int, help="at least so many for each, instead of the usual")
    parser.add_argument("--only", choices=("fits", "learning"), help="leave the other out")
    chosen = parser.parse_args(given)
    effort = QUICK if chosen.quick else WHOLE
    sizes = tuple(chosen.sizes or effort.sizes)
    batches = chosen.batches or effort.batches
    effort = effort._replace(sizes=sizes, drawn=max(effort.drawn, *sizes), batches=batches)
    chosen.out.mkdir(parents=True, exist_ok=True)
    found = Found(chosen.out / "learned-baselines.json")
    for name in chosen.experiment or EXPERIMENTS:
        for k in range(effort.seeds if chosen.only != "learning" else 0):
            found.put("fits", searched(name, FIRST + k, effort, chosen.quick))
        if chosen.only == "fits":
            continue
        with tempfile.TemporaryDirectory() as place:
            for row in learned(name, effort, chosen.data or Path(place), chosen.quick):
                found.put("learned", row)
    print(found.file.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
