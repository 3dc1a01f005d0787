"""Processor time of articulated bodies, ours and others': python benchmarks/articulated.py [--steps 200]

Ours in float64 (with --float32 in that too), forward and forward with the gradient by every copy's masses, on one
thread; copies are a batch, whose scenes run one a SIMD lane. Beside it, with the Python that DIFFLOOM_MUJOCO_PYTHON
names: MuJoCo's C library by its own rollouts on one thread (forward: it has no gradient), MJX on the CPU (float32, its
default) and Newton's SolverFeatherstone (float32), both forward and with gradient, MJX by masses and Newton by the
angles at the start, for many copies alone. All take semi-implicit Euler steps of 1 ms of the same trees from the same
start. Processor time counts all threads of a process, so PyTorch too is given one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from diffloom import simulate
from diffloom_kernels import set_num_threads
from diffloom_physics_articulated.link import Tree
from diffloom_physics_articulated.model import ArticulatedModel

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plugins" / "physics_articulated" / "tests"))
from mjcf import mjcf  # noqa: E402
from test_against_mujoco import SCENES  # noqa: E402

DT = 1e-3
TREES = ("pendulum", "double pendulum", "chain of 8", "cartpole")
PEERS = ("MuJoCo", "MJX", "Newton")
PRECISIONS = {"": torch.float64, " float32": torch.float32}
MUJOCO = """
import json, sys, time
import mujoco, numpy as np
from mujoco import rollout
for case in json.load(sys.stdin):
    model = mujoco.MjModel.from_xml_string(case["xml"])
    model.opt.timestep = case["dt"]
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = case["qpos"], case["qvel"]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((case["count"], size))
    mujoco.mj_getState(model, data, start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start[:] = start[0]
    rollout.rollout(model, data, start[:1], nstep=2)
    best = 1e9
    for _ in range(3):
        busy = time.process_time()
        states, _ = rollout.rollout(model, data, start, nstep=case["steps"])
        best = min(best, time.process_time() - busy)
    print(json.dumps({"forward": best, "end": float(states[0, -1, 1 : 1 + model.nq].sum())}), flush=True)
"""


def timed(
    model: ArticulatedModel, count: int, gradient: bool, steps: int = 200, dtype: torch.dtype = torch.float64
) -> tuple[float, float, list[float]]:
    """Processor seconds of the best of three rollouts; the sum of one copy's coordinates, and its slope by masses."""
    best = float("inf")
    batch = None if count == 1 else count
    own = model.params(dtype)["mass"]
    masses = own.clone() if batch is None else own.repeat(count, 1)
    for _ in range(4):  # the first compiles
        begin = time.process_time()
        mass = masses.clone().requires_grad_(gradient)
        path = simulate(model, model.params(dtype, batch=batch, mass=mass), dt=DT, steps=steps, save=(steps,))
        if gradient:
            path.q.sum().backward()
        best = min(best, time.process_time() - begin)
    slope = [] if mass.grad is None else mass.grad.reshape(-1, len(model.links))[0].tolist()
    return best, float(path.q.detach().reshape(count, -1)[0].sum()), slope


def case_of(tree: Tree, count: int, steps: int = 200) -> dict[str, Any]:
    """Return the tree in MuJoCo's format, which the peers read."""
    links = [
        {
            "name": link.name, "parent": link.parent, "mass": link.mass, "centre": link.centre.tolist(),
            "inertia": link.inertia.tolist(), "position": link.position.tolist(), "axis": link.axes[0].tolist(),
            "joint": link.joint,
            "orientation": (link.orientation / np.linalg.norm(link.orientation)).tolist(),
            "angle": float(link.coordinates[0]), "rate": float(link.values.get("velocity", np.zeros(1))[0]),
            "armature": float(link.values.get("armature", np.zeros(1))[0]),
        }
        for link in tree.links
    ]  # fmt: skip
    start = {"qpos": [link["angle"] for link in links], "qvel": [link["rate"] for link in links]}
    return {"xml": mjcf(tree), "links": links, "count": count, "steps": steps, "dt": DT, **start}


def others(cases: list[dict[str, Any]], peers: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the time of each peer, by name; peers that cannot be run are left out."""
    python = os.environ.get("DIFFLOOM_MUJOCO_PYTHON")
    if not python:
        return {}
    runs = {
        "MuJoCo": ["-c", MUJOCO],
        "MJX": [str(HERE / "peers" / "mjx_articulated.py")],
        "Newton": [str(HERE / "peers" / "newton_articulated.py")],
    }
    quiet = {**os.environ, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    found = {}
    for name, words in ((peer, runs[peer]) for peer in peers):
        asked = [k for k, case in enumerate(cases) if name == "MuJoCo" or case["count"] > 1]
        given = json.dumps([cases[k] for k in asked])
        done = subprocess.run([python, *words], input=given, capture_output=True, text=True, env=quiet)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode:
            print(f"{name} ended with: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        answers = dict(zip(asked, map(json.loads, lines), strict=False))
        found[name] = [answers.get(k, {}) for k in range(len(cases))]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="times that all take their turns; the best counts")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--float32", action="store_true", help="ours in float32 too")
    parser.add_argument("--trees", nargs="+", default=TREES, choices=TREES)
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    given = parser.parse_args()
    set_num_threads(1)
    torch.set_num_threads(1)
    precisions = list(PRECISIONS) if given.float32 else [""]
    cells = [(name, count) for name in given.trees for count in (1, 1000)]
    cases = [case_of(SCENES[name](), count, given.steps) for name, count in cells]
    best: dict[tuple[int, str], float] = {}
    ends: dict[tuple[int, str], Any] = {}
    for _ in range(given.rounds):
        for k, (name, count) in enumerate(cells):
            model = ArticulatedModel([SCENES[name]()])
            for precision, gradient in itertools.product(precisions, (False, True)):
                seconds, end, slope = timed(model, count, gradient, given.steps, PRECISIONS[precision])
                column = f"ours{precision} {'both' if gradient else 'forward'}"
                best[k, column] = min(best.get((k, column), np.inf), seconds)
                ends[k, f"ours{precision}"] = (end, slope)
        for name, answers in others(cases, given.peers).items():
            for k, answer in enumerate(answers):
                for way in ("forward", "both"):
                    if way in answer:
                        best[k, f"{name} {way}"] = min(best.get((k, f"{name} {way}"), np.inf), answer[way])
                ends[k, name] = (answer.get("end"), answer.get("slope"), answer.get("refused"))
    columns = (
        "ours forward", "ours float32 forward", "MuJoCo forward", "MJX forward", "Newton forward", "ours both",
        "ours float32 both", "MJX both", "Newton both",
    )  # fmt: skip
    print("microseconds of a step of one copy\n| tree | copies | " + " | ".join(columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    for k, (name, count) in enumerate(cells):
        each = 1e6 / (count * given.steps)
        shown = [f"{best[k, column] * each:.2f}" if (k, column) in best else "-" for column in columns]
        print(f"| {name} | {count} | " + " | ".join(shown) + " |")
    for (k, words), end in sorted(ends.items()):
        print(f"{cells[k]} {words}: end {end[0]}, slope by masses {end[1]} {end[2:] if end[2:] != (None,) else ''}")


if __name__ == "__main__":
    main()
