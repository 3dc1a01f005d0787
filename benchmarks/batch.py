"""Many scenes at once against a Python loop over the same scenes: `python benchmarks/batch.py [--peers PYTHON]`.

Every scene has parameters of its own. Times are of the processor (wall clocks say little on a shared machine), the best
of several runs, batch and loop by turns; the loop is timed on 64 scenes and scaled. Bits are compared in every run.
PYTHON has MJX and Newton: as many worlds of theirs follow.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from diffloom import Trajectory, get_model, simulate
from diffloom.interfaces import Model

LOOPED = 64
Values = dict[str, torch.Tensor]


def scenes(count: int) -> dict[str, tuple[Model, Values, float]]:
    """Model, values of each scene and step [s], by name."""
    pendulum = get_model("articulated")([{"builder": "pendulum", "length": 1.0}])
    cube = get_model("rigid")([{"shape": "box", "position": [0, 0.55, 0], "velocity": [1, 0, 0]}])
    solid = get_model("fem")("box", size=(0.4, 0.2, 0.2), cells=(5, 2, 2), split=5)
    ball = {"shape": "sphere", "radius": 0.1, "mass": 0.2, "position": [0.0, 0.1, 0.0]}
    cue = {**ball, "position": [-0.25, 0.1, 0.02], "velocity": [2.0, 0.0, 0.0], "angular_velocity": [0.0, 12.0, -20.0]}
    world = get_model("world")({"cue": get_model("rigid")([cue]), "rack": get_model("rigid")([ball])})
    return {
        "pendulum": (pendulum, {"length": torch.linspace(0.8, 1.2, count).reshape(-1, 1)}, 5e-3),
        "rigid cube": (cube, {"mass": torch.linspace(0.5, 2.0, count).reshape(-1, 1)}, 1 / 960),
        "world of two balls": (world, {"cue.mass": torch.linspace(0.1, 0.4, count).reshape(-1, 1)}, 1 / 2000),
        "fem, 100 tets": (solid, {"shear_modulus": torch.linspace(3e3, 6e3, count).reshape(-1, 1)}, 1e-3),
    }


def best(run: Callable[[], Any], times: int) -> float:
    """The least processor time of ``times`` runs [s]."""
    found = []
    for _ in range(times):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return min(found)


def race(name: str, count: int, steps: int, backward: bool, times: int) -> str:
    """One row of the table."""
    model, values, dt = scenes(count)[name]

    def run(**own: torch.Tensor) -> tuple[Trajectory, Values]:
        leaves = {key: value.clone().requires_grad_(backward) for key, value in own.items()}
        batch = None if next(iter(leaves.values())).dim() == 1 else count
        path = simulate(model, model.params(batch=batch, **leaves), dt=dt, steps=steps, save=(steps,))
        if backward:
            torch.cat([q.flatten() for q, _ in path.sets.values()]).sum().backward()
        return path, leaves

    def loop() -> None:
        for b in range(min(count, LOOPED)):
            run(**{key: value[b] for key, value in values.items()})

    path, leaves = run(**values)
    for b in (0, count // 2, count - 1):
        alone, own = run(**{key: value[b] for key, value in values.items()})
        assert all(torch.equal(alone[name].q, path[name].q[b]) for name in path.names)
        assert all(not backward or torch.equal(own[key].grad, leaves[key].grad[b]) for key in own)  # type: ignore[arg-type,index]
    together = best(lambda: run(**values), times)
    single = best(loop, times) * count / min(count, LOOPED)
    what = "forward and backward" if backward else "forward"
    return (
        f"| {name} | {what} | {1e3 * together:.0f} ms | {1e3 * single:.0f} ms | {single / together:.1f} | "
        f"{count / together:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--peers", metavar="PYTHON", help="one that has mujoco-mjx and newton")
    parser.add_argument("--scene", choices=list(scenes(1)), action="append", help="only these")
    given = parser.parse_args()
    print(f"{given.count} scenes, {given.steps} steps, float32, threads as set")
    print("| scene | pass | at once | loop | ratio | rollouts / s |\n| --- | --- | --- | --- | --- | --- |")
    for name in given.scene or scenes(1):
        for backward in (False, True):
            print(race(name, given.count, given.steps, backward, given.times), flush=True)
    for peer in ("newton_batch", "mjx_batch") if given.peers else ():
        print(f"\n{peer}:", flush=True)
        file = Path(__file__).parent / "peers" / f"{peer}.py"
        subprocess.run([given.peers, file, f"--count={given.count}", f"--steps={given.steps}"], check=False)


if __name__ == "__main__":
    main()
