"""``make gpu-acceptance``: the same experiments on the CPU and on a GPU.

For the demo and every file of experiments/, in both precisions: loss, gradient and images of the GPU against those of
the CPU, the same bits in every run on the GPU, and how long each takes. Without a GPU it says so and ends.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_experiments import build_experiment, load_file
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene.device import check_device

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "plugins/studio/src/diffloom_studio/demo/demo.toml"
#: Largest difference that is accepted, relative to the largest entry: sums are taken in another order on a GPU, and a
#: rollout makes the last bit grow.
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
RENDERERS = ("softras", "dibr", "coverage")
RUNS = 3


@dataclass(frozen=True)
class Seen:
    """Results of one device on an experiment: loss, gradient, images, and the seconds of the fastest run."""

    loss: float
    gradient: Tensor
    images: Tensor
    seconds: float
    repeats: bool


def main(arguments: list[str] | None = None) -> int:
    """Compare all cases; 1 if any differs or fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="experiment files (default: the demo and experiments/)")
    parser.add_argument("--device", default="cuda", help="what to compare with the CPU; cpu, to try this tool itself")
    options = parser.parse_args(arguments)
    try:
        check_device(options.device)
    except InputError as error:
        print(f"skipped: {error}")
        return 0
    name = "CPU" if options.device == "cpu" else torch.cuda.get_device_name(options.device)
    print(f"{name}, PyTorch {torch.__version__}")
    print(
        f"{'experiment':32} {'precision':9} {'loss':>9} {'gradient':>9} {'images':>9} {'bits':>8} {'CPU':>9} {'GPU':>9}"
    )
    faults = 0
    for file in options.files or [DEMO, *sorted((ROOT / "experiments").glob("*.toml"))]:
        for renderer in RENDERERS:
            for precision in TOLERANCE:
                faults += _case(file, renderer, precision, options.device)
    print("all agree" if faults == 0 else f"{faults} cases differ")
    return int(faults > 0)


def _case(file: Path, renderer: str, precision: str, device: str) -> int:
    name = f"{file.stem} {renderer}"
    try:
        here, there = (_seen(file, renderer, precision, each) for each in ("cpu", device))
    except Exception as error:  # one case that fails must not end the table
        print(f"{name:32} {precision:9} FAILS: {type(error).__name__}: {error}", flush=True)
        return 1
    errors = (
        abs(there.loss - here.loss) / max(abs(here.loss), 1e-300),
        _apart(there.gradient, here.gradient),
        _apart(there.images, here.images),
    )
    good = max(errors) <= TOLERANCE[precision] and there.repeats
    shown = " ".join(f"{error:9.1e}" for error in errors)
    bits = "repeat" if there.repeats else "VARY"
    times = f"{1e3 * here.seconds:7.1f}ms {1e3 * there.seconds:7.1f}ms"
    print(f"{name:32} {precision:9} {shown} {bits:>8} {times}  {'ok' if good else 'DIFFERS'}", flush=True)
    return int(not good)


def _seen(file: Path, renderer: str, precision: str, device: str) -> Seen:
    changes = {"renderer.name": renderer, "precision": precision, "device": device}
    experiment = build_experiment(load_file(file, changes=changes, quick=True))
    objective, z = experiment.objective(), experiment.start()
    runs = [_run(objective, z) for _ in range(RUNS)]
    loss, gradient, images, _ = runs[0]
    same = all(torch.equal(g, gradient) and torch.equal(i, images) and v == loss for v, g, i, _ in runs[1:])
    return Seen(loss, gradient, images, min(seconds for *_, seconds in runs[1:]), same)


def _run(objective: Objective, z: Tensor) -> tuple[float, Tensor, Tensor, float]:
    """Loss, gradient and images, and the seconds that loss and gradient took."""
    began = time.perf_counter()
    found = objective.evaluate(z)
    seconds = time.perf_counter() - began  # images have come back to the CPU, so the GPU has finished
    if found.gradient is None:
        raise ValueError(f"no gradient: {found.trouble}")
    with torch.no_grad():
        view = objective.view(z, gradient=False)
    seen = view.q if view.image is None else view.image.rgba if view.image.rgba is not None else view.image.alpha
    return found.value, found.gradient, seen, seconds


def _apart(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-300))


if __name__ == "__main__":
    sys.exit(main())
