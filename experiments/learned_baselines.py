"""What learning from videos, and searching without gradients, make of the experiments on rigid bodies.

    python experiments/learned_baselines.py                # both experiments: five minutes on one core
    python experiments/learned_baselines.py --small        # less training: a minute
    python experiments/learned_baselines.py --quick        # the reduced version that a test runs

- A **learned regressor** in the spirit of the paper's ConvLSTM: convolutions on every frame, a recurrent net over
  frames, the unknowns at its end. Trained on videos that `diffloom dataset` draws (seeds from 0 on), tested on others
  (from 100,000 on), with sets of growing size. Where errors fall as a power of the number of videos, the number at
  which they would come within ten times ours is extrapolated: far beyond what was tried, and no more than that.
- **REINFORCE** on the same simulator, treated as a black box: a Gaussian over the unknowns, moved by the losses of what
  is drawn from it.
- **Ours**: the fit of the experiment file, on the videos that REINFORCE sees.

Errors are relative, medians over test videos and unknowns. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from diffloom_fitting import VideoDataset, build_experiment, load_file
from diffloom_fitting.datasets.making import Recipe, make_dataset
from diffloom_fitting.engines.local import LocalPool
from diffloom_fitting.loop import advance, begin

FOLDER = Path(__file__).resolve().parent
EXPERIMENTS = ("rigid-mass", "rigid-contact")
UNSEEN = 100_000
#: Seed of the first fit; nothing was chosen by these.
FIRST = 700
#: Frames a second that are enough for about ten images of each video.
RATE = {"rigid-mass": 8, "rigid-contact": 5}


class Effort(NamedTuple):
    """sizes: training sets. tests: videos kept apart. batches: of 32 videos in training. rounds: of REINFORCE, of 16
    places each. seeds: fits."""

    pixels: int
    sizes: tuple[int, ...]
    tests: int
    batches: int
    rounds: int
    seeds: int


WHOLE = Effort(32, (100, 400, 1600), 128, 1000, 30, 5)
SMALL = Effort(32, (50, 200, 800), 96, 100, 30, 3)
QUICK = Effort(16, (8, 16), 8, 3, 2, 1)


class Regressor(nn.Module):
    """(videos, frames, 3, pixels, pixels) -> (videos, unknowns)."""

    def __init__(self, unknowns: int, pixels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
        self.seen = nn.Sequential(*layers, nn.Flatten())
        self.over_time = nn.GRU(32 * (pixels // 8) ** 2, 64, batch_first=True)
        self.told = nn.Linear(64, unknowns)

    def forward(self, videos: Tensor) -> Tensor:
        frames = self.seen(videos.flatten(0, 1)).unflatten(0, videos.shape[:2])
        told: Tensor = self.told(self.over_time(frames)[0][:, -1])
        return told


def videos(name: str, count: int, seed: int, effort: Effort, folder: Path, quick: bool) -> tuple[Tensor, Tensor]:
    """Frames (videos, frames, 3, pixels, pixels) in 0..1, and the true values (videos, unknowns)."""
    size = effort.pixels
    settings = (f"camera.size=[{size},{size}]", 'precision="float32"', f"target.rate={RATE[name]}")
    recipe = Recipe(str(FOLDER / f"{name}.toml"), count, seed=seed, format="npz", settings=settings, quick=quick)
    make_dataset(recipe, folder, LocalPool(1), lambda there, new: None)
    data = VideoDataset(folder)
    items = [data[k] for k in range(len(data))]
    frames = torch.stack([item["video"] for item in items]).permute(0, 1, 4, 2, 3).float() / 255
    values = torch.stack([torch.cat([v.reshape(-1) for v in item["values"].values()]) for item in items])
    return frames.contiguous(), values.float()


def trained(frames: Tensor, values: Tensor, effort: Effort) -> tuple[Regressor, Tensor, Tensor]:
    """A regressor of standardised values, their means and deviations."""
    torch.manual_seed(0)
    mean, deviation = values.mean(0), values.std(0)
    net = Regressor(values.shape[1], effort.pixels)
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, effort.batches)
    order: list[int] = []
    for _ in range(effort.batches):
        if len(order) < 32:
            order += torch.randperm(len(frames)).tolist()
        chosen, order = order[:32], order[32:]
        loss = (net(frames[chosen]) - (values[chosen] - mean) / deviation).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        falling.step()
    return net, mean, deviation


def learned(name: str, effort: Effort, quick: bool) -> list[dict[str, Any]]:
    """Errors on unseen videos for each size of training set."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        began = time.process_time()
        frames, values = videos(name, max(effort.sizes), 0, effort, Path(place, "train"), quick)
        each = (time.process_time() - began) / len(frames)
        unseen, truth = videos(name, effort.tests, UNSEEN, effort, Path(place, "test"), quick)
    for size in effort.sizes:
        began = time.process_time()
        net, mean, deviation = trained(frames[:size], values[:size], effort)
        spent = time.process_time() - began
        with torch.no_grad():
            error = ((net(unseen) * deviation + mean - truth) / truth).abs()
        blind = ((mean - truth) / truth).abs()
        found.append({
            "experiment": name, "videos": size, "error": float(error.median()), "blind": float(blind.median()),
            "each": error.median(0).values.tolist(), "drawing": each * size, "training": spent,
        })  # fmt: skip
        print(name, size, f"{found[-1]['error']:.3g}", f"{spent:.0f} s", flush=True)
    return found


def needed(records: list[dict[str, Any]], goal: float) -> tuple[float, float]:
    """The power by which errors fall with the number of videos, and the number at which they would reach ``goal``."""
    x = [math.log(r["videos"]) for r in records]
    y = [math.log(r["error"]) for r in records]
    middle = statistics.mean(x)
    slope = sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
    if slope >= 0.0:
        return slope, math.inf
    return slope, math.exp(min(700.0, middle + (math.log(goal) - statistics.mean(y)) / slope))


def searched(name: str, seed: int, effort: Effort, quick: bool) -> dict[str, Any]:
    """REINFORCE and ours on one video."""
    experiment = build_experiment(load_file(FOLDER / f"{name}.toml", changes={"seed": seed}, quick=quick))
    truth = experiment.target.truth

    def error(z: Tensor) -> float:
        values = experiment.layout.sought(z)
        return statistics.median(float(((values[k] - truth[k]) / truth[k]).abs().mean()) for k in values)

    began = time.process_time()
    objective, draw = experiment.objective(), torch.Generator().manual_seed(seed)
    mean = experiment.start(0).clone()
    first, spread = error(mean), torch.full_like(mean, math.log(0.3))
    for _ in range(effort.rounds):
        noise = torch.randn((16, len(mean)), generator=draw, dtype=mean.dtype)
        seen = objective.values_at(list(mean + spread.exp() * noise))
        reward = torch.tensor([-math.log(max(s.value, 1e-30)) if s.finite else -10.0 for s in seen], dtype=mean.dtype)
        advantage = ((reward - reward.mean()) / (reward.std() + 1e-12))[:, None]
        mean = mean + spread.exp() * (advantage * noise).mean(0)
        spread = (spread + 0.3 * (advantage * (noise.square() - 1.0)).mean(0)).clamp(-9.0, 0.0)
    blind = {"error": error(mean), "seconds": time.process_time() - began, "simulations": 16 * effort.rounds}
    began, state = time.process_time(), begin(experiment)
    while not state.finished:
        state, _ = advance(experiment, state)
    ours = {"error": error(state.z), "seconds": time.process_time() - began}
    print(name, seed, f"REINFORCE {blind['error']:.3g}, ours {ours['error']:.3g}", flush=True)
    return {"experiment": name, "seed": seed, "start": first, "reinforce": blind, "ours": ours}


def table(learnt: list[dict[str, Any]], fits: list[dict[str, Any]]) -> str:
    """What was found, as text."""
    lines = [
        "| experiment | method | median relative error | cost |", "|---|---|---|---|",
    ]  # fmt: skip
    for name in dict.fromkeys(r["experiment"] for r in learnt):
        own, tried = [r for r in learnt if r["experiment"] == name], [f for f in fits if f["experiment"] == name]
        lines.append(f"| {name} | always the mean of the training set | {own[-1]['blind']:.2g} | |")
        lines += [
            f"| | regressor, {r['videos']} videos | {r['error']:.2g} | drawing {r['drawing']:.0f} s, training "
            f"{r['training']:.0f} s |"
            for r in own
        ]
        for label, key in (("REINFORCE", "reinforce"), ("ours", "ours")):
            errors = statistics.median(f[key]["error"] for f in tried)
            spent = statistics.mean(f[key]["seconds"] for f in tried)
            lines.append(f"| | {label}, {len(tried)} videos | {errors:.2g} | {spent:.1f} s a video |")
        slope, count = needed(own, 10 * max(1e-16, statistics.median(f["ours"]["error"] for f in tried)))
        told = f"errors fall as videos^{slope:.2f}: within ten times ours at about 1e{math.log10(count):.0f} videos"
        if slope > -0.05:
            told = "errors do not fall with more videos at this much training; nothing is said of within ten times ours"
        lines.append(f"| | *extrapolated*: {told} | | |")
    return "\n".join(lines) + "\n"


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", choices=EXPERIMENTS, action="append", help="only these")
    parser.add_argument("--small", action="store_true", help="less training, fewer fits")
    parser.add_argument("--quick", action="store_true", help="the reduced version that a test runs")
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    chosen = parser.parse_args(given)
    effort = QUICK if chosen.quick else SMALL if chosen.small else WHOLE
    learnt, fits = [], []
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.experiment or EXPERIMENTS:
        fits += [searched(name, FIRST + k, effort, chosen.quick) for k in range(effort.seeds)]
        learnt += learned(name, effort, chosen.quick)
        found = json.dumps({"learned": learnt, "fits": fits}, indent=1)
        (chosen.out / "learned-baselines.json").write_text(found + "\n")
        (chosen.out / "learned-baselines.md").write_text("# Learned baselines\n\n" + table(learnt, fits))
    print(table(learnt, fits))


if __name__ == "__main__":
    main()
