"""Smoke: a gradient of the paper's demonstration (110 x 110 cells, 99 steps), ours beside plain PyTorch's autograd.

python benchmarks/smoke.py [--cells 110] [--steps 99] [--repeats 3]

Seconds are processor time, best of the repeats, with one thread each; both run in turn, in one process, on the same
numbers, and their gradients are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from smoke_torch import rollout
from torch import Tensor

from diffloom import get_model, simulate
from diffloom_kernels import set_num_threads


def ours(start: Tensor, wind: Tensor, cells: int, steps: int) -> Tensor:
    model = get_model("smoke")(cells, cells, 1.0, boundary="periodic", smoke="none")
    path = simulate(model, model.params(wind.dtype, density=start, velocity=wind), dt=1.0, steps=steps, save=(steps,))
    return path.q[0, :, 0]


def plain(start: Tensor, wind: Tensor, cells: int, steps: int) -> Tensor:
    return rollout(start.reshape(cells, cells), wind.reshape(cells, cells, 2), 1.0, steps)[0].reshape(-1)


def timed(
    run: Callable[..., Tensor], start: Tensor, wind: Tensor, cells: int, steps: int
) -> tuple[float, float, Tensor]:
    """Seconds forward and backward, and the gradient of the mean squared density."""
    traced = wind.clone().requires_grad_()
    begin = time.process_time()
    loss = run(start, traced, cells, steps).square().mean()
    middle = time.process_time()
    loss.backward()
    assert traced.grad is not None
    return middle - begin, time.process_time() - middle, traced.grad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--cells", 110), ("--steps", 99), ("--repeats", 3)):
        parser.add_argument(name, type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    set_num_threads(1)
    for kind in (torch.float32, torch.float64):
        random = torch.Generator().manual_seed(0)
        start = torch.rand(given.cells**2, generator=random, dtype=kind)
        wind = 0.5 * torch.randn(given.cells**2, 2, generator=random, dtype=kind)
        best = {"ours": [9e9, 9e9], "plain PyTorch": [9e9, 9e9]}
        found = {}
        for _ in range(given.repeats):
            for name, run in (("ours", ours), ("plain PyTorch", plain)):
                forward, backward, found[name] = timed(run, start, wind, given.cells, given.steps)
                best[name] = [min(best[name][0], forward), min(best[name][1], backward)]
        off = float((found["ours"] - found["plain PyTorch"]).norm() / found["plain PyTorch"].norm())
        for name, (forward, backward) in best.items():
            print(f"{kind}: {name}: {forward:.3f} s forward, {backward:.3f} s backward")
        ratio = sum(best["plain PyTorch"]) / sum(best["ours"])
        print(f"{kind}: ours is {ratio:.1f} times as fast; gradients differ by {off:.1e}, relative")


if __name__ == "__main__":
    main()
