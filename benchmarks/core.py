"""The compute core: fused rollouts against one autograd node per step, memory of checkpointing, start times.

python benchmarks/core.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

from diffloom.interfaces import State, StoreAll
from diffloom_mechanics import Mechanics, SemiImplicitEuler, particles, springs


def net(count: int, requires_grad: bool = True) -> tuple[Mechanics, State]:
    """A chain of ``count`` particles with springs to the next two."""
    place = torch.zeros(count, 3)
    place[:, 0] = 0.1 * torch.arange(count)
    place[:, 1] = 0.01 * torch.sin(torch.arange(count) * 1.0)
    pairs = np.array([(i, i + 1) for i in range(count - 1)] + [(i, i + 2) for i in range(count - 2)], np.int32)
    rest = (place[pairs[:, 1]] - place[pairs[:, 0]]).norm(dim=1)
    stiffness = torch.tensor(100.0, requires_grad=requires_grad)
    term = springs(pairs, stiffness, torch.tensor(0.05), rest)
    system = Mechanics(particles(torch.full((count,), 0.1), torch.tensor([0.0, -9.81, 0.0])), (term,))
    return system, State(place, torch.zeros(count, 3))


def timed(run, repeats: int) -> tuple[float, float]:
    """Best seconds of the forward and of the backward pass."""
    forward = backward = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        loss = run()
        middle = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        forward, backward = min(forward, middle - start), min(backward, end - middle)
    return forward, backward


def fused_against_stepwise(steps: int, repeats: int) -> None:
    """100 springs, float32, one thread."""
    system, state = net(51)
    scheme = SemiImplicitEuler(target="serial")

    def fused() -> torch.Tensor:
        return scheme.rollout(system, state, dt=1e-4, steps=steps, save=(steps,), gradient=StoreAll()).q.sum()

    def stepwise() -> torch.Tensor:
        at = state
        for _ in range(steps):
            at = scheme.rollout(system, at, dt=1e-4, steps=1, save=(1,), gradient=StoreAll()).last
        return at.q.sum()

    print(f"100 springs (99 made), float32, us per step over {steps} steps, forward / backward")
    best = {"fused": timed(fused, repeats), "one node a step": timed(stepwise, max(2, repeats // 4))}
    for name, (forward, backward) in best.items():
        print(f"  {name:16s} {1e6 * forward / steps:8.2f} / {1e6 * backward / steps:8.2f}")
    ratio = [b / a for a, b in zip(best["fused"], best["one node a step"], strict=True)]
    print(f"  fused is {ratio[0]:.1f}x / {ratio[1]:.1f}x faster (goal: 5x)")


MEMORY = """
import sys, time, resource, torch
sys.path.insert(0, sys.argv[1])
from core import net, peak
from diffloom_mechanics import SemiImplicitEuler
from diffloom.interfaces import Checkpointed, StoreAll
policy = StoreAll() if sys.argv[2] == "all" else Checkpointed()
steps = int(sys.argv[3])
system, state = net(3000)
scheme = SemiImplicitEuler(target="serial")
def run(steps, policy):
    path = scheme.rollout(system, state, dt=1e-4, steps=steps, save=(steps,), gradient=policy)
    path.q.sum().backward()
run(4, policy)
base = peak()
start = time.perf_counter()
run(steps, policy)
print(time.perf_counter() - start, (peak() - base) / 1e6)
"""


def peak() -> int:
    """Most memory this process has held [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory(steps: int, repeats: int) -> None:
    """Forward and backward over 3,000 particles, each policy in a process of its own."""
    print(f"3,000 particles, {steps} steps, float32, forward and backward")
    best: dict[str, tuple[float, float]] = {}
    for policy in ("all", "checkpointed") * repeats:
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, os.path.dirname(os.path.abspath(__file__)), policy, str(steps)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        seconds, megabytes = map(float, out.stdout.split())
        best[policy] = min(best.get(policy, (float("inf"), 0.0)), (seconds, megabytes))
    for policy, (seconds, megabytes) in best.items():
        print(f"  {policy:13s} {seconds:7.2f} s   {megabytes:8.1f} MB above the start")
    print(f"  checkpointing costs {best['checkpointed'][0] / best['all'][0]:.2f}x the time (goal: 2x, 300 MB)")


START = """
import time
begin = time.perf_counter()
import torch, numba
libraries = time.perf_counter() - begin
import diffloom
model = diffloom.get_model("springs").example()
stiffness = torch.tensor(100.0, requires_grad=True)
diffloom.simulate(model, model.params(stiffness=stiffness), dt=1e-3, steps=10).q.sum().backward()
print(libraries, time.perf_counter() - begin - libraries)
"""


def start_times() -> None:
    """Measure a new process up to the first gradient of springs, without and with compiled code on disk."""
    print("start of a process to its first gradient, s: torch and numba / all the rest")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DIFFLOOM_CACHE_DIR": folder, "DIFFLOOM_QUIET": "1"}
        for name in ("cold", "warm", "warm again"):
            out = subprocess.run(
                [sys.executable, "-c", START], check=True, capture_output=True, text=True, env=environment
            )
            libraries, rest = map(float, out.stdout.split())
            print(f"  {name:10s} {libraries:6.2f} / {rest:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repeats")
    quick = parser.parse_args().quick
    fused_against_stepwise(100 if quick else 400, 4 if quick else 16)
    memory(1000 if quick else 10_000, 1 if quick else 3)
    start_times()


if __name__ == "__main__":
    main()
