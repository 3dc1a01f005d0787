"""Speed of rigid bodies: bodies of 8 to 250 vertices are dropped on the ground, forward and with gradients.

    python benchmarks/rigid.py [--newton PYTHON] [--bodies 1 10 100] [--shapes box pear torus]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same drop with the same step in turn with ours. Without it ours is measured alone.
Rates are steps per second of whole calls, set-up included, the best of several; float32. "both" is a rollout and
its gradient with respect to all masses and start velocities. Bodies stand apart; with --collisions both engines also
look for contacts between them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DT = 1.0 / 60 / 32
CONTACT = {"ke": 1e4, "kd": 1e2, "kf": 1e2, "mu": 0.5}
DENSITY = 100.0
GOAL = {"forward": 6.0, "both": 8.0}
PEER = Path(__file__).parent / "peers" / "newton_rigid.py"
DENSE = {"segments": 25, "around": 10}  # a torus of 250 vertices


def case_of(shape: str, bodies: int, collisions: bool) -> dict:
    """Bodies on a grid 1.6 m apart, half a reach above the ground, each turned a little differently."""
    import numpy as np

    from diffloom_physics_rigid.shapes import SHAPES

    made = SHAPES[shape](**DENSE) if shape == "torus" else SHAPES[shape]()
    centred = made.vertices - made.solid.centre
    side = int(np.ceil(np.sqrt(bodies)))
    low = float(-centred[:, 1].min())
    rng = np.random.default_rng(0)
    turns = np.column_stack([np.ones(bodies), rng.normal(scale=0.05, size=(bodies, 3))])
    return {
        "vertices": centred.tolist(), "faces": made.faces.tolist(),
        "half": list(made.dims) if shape == "box" else None,
        "places": [[1.6 * (k % side), low + 0.02, 1.6 * (k // side)] for k in range(bodies)],
        "turns": (turns / np.linalg.norm(turns, axis=1, keepdims=True)).tolist(),
        "density": DENSITY, "dt": DT, "steps": 960 if bodies < 100 else 240, "collisions": collisions,
        "contacts": max(1000, 300 * bodies), **CONTACT,
    }  # fmt: skip


def ours(case: dict, repeats: int) -> dict[str, float]:
    """Rates and the lowest centre at the end, in this process."""
    import torch

    from diffloom import simulate
    from diffloom.interfaces import NoGradient, StoreAll
    from diffloom_physics_rigid.model import RigidModel

    torch.set_num_threads(1)
    solid = {"shape": "box"} if case["half"] else {"vertices": case["vertices"], "faces": case["faces"]}
    model = RigidModel(
        [{**solid, "position": place, "orientation": turn, "density": case["density"]}
         for place, turn in zip(case["places"], case["turns"], strict=True)],
        collisions=case["collisions"],
        contact="linear",
    )  # fmt: skip
    contact = {
        "contact_stiffness": case["ke"], "contact_damping": case["kd"], "friction_stiffness": case["kf"],
        "friction": case["mu"],
    }  # fmt: skip

    def run(grad: bool, count: int) -> tuple[float, float]:
        mass = model.params()["mass"].requires_grad_(grad)
        velocity = torch.zeros(len(model.bodies), 3, requires_grad=grad)
        start = time.perf_counter()
        params = model.params(mass=mass, velocity=velocity, **contact)
        policy = StoreAll() if grad else NoGradient()
        end = simulate(model, params, dt=case["dt"], steps=count, save=[count], gradient=policy).last
        if grad:
            (end.q[:, :3] ** 2).sum().backward()
        return time.perf_counter() - start, float(end.q[:, 1].min())

    found: dict[str, float] = {}
    for name, grad in (("forward", False), ("both", True)):
        run(grad, 2)
        times = [run(grad, case["steps"]) for _ in range(repeats)]
        found |= {name: case["steps"] / min(t for t, _ in times), "lowest": times[-1][1]}
    return found


def newtons(python: str, path: str, mode: str, repeats: int) -> dict[str, float]:
    """The peer's rate, from a process of its own."""
    command = [python, str(PEER), "--case", path, "--mode", mode, "--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} could not run the comparison:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def measure(shape: str, bodies: int, given: argparse.Namespace) -> None:
    """Run both engines in turn, so that both see the machine's fast and slow phases; one row of the table."""
    case = case_of(shape, bodies, given.collisions)
    mine: dict[str, float] = {}
    theirs: dict[str, dict[str, float]] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(case, file)
        file.flush()
        for _ in range(2):
            again = [sys.executable, __file__, "--one", file.name, "--repeats", str(given.repeats)]
            found = json.loads(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
            mine = {k: max(v, mine.get(k, v)) for k, v in found.items()}
            for mode in ("forward", "both") if given.newton else ():
                peer = newtons(given.newton, file.name, mode, given.repeats)
                if peer["rate"] > theirs.get(mode, peer | {"rate": 0.0})["rate"]:
                    theirs[mode] = peer
    row = [f"{shape:>8} {len(case['vertices']):4d} {bodies:5d}"]
    for mode in ("forward", "both"):
        row.append(f"{mine[mode]:9.0f}")
        if theirs:
            ratio = mine[mode] / theirs[mode]["rate"]
            row.append(
                f"{theirs[mode]['rate']:9.0f} {ratio:6.1f}x{' ' if ratio >= GOAL[mode] else '<'}{GOAL[mode]:<3.0f}"
            )
    row.append(f"{mine['lowest']:.4f}" + (f" {theirs['forward']['lowest']:.4f}" if theirs else ""))
    print(" | ".join(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newton", default=os.environ.get("DIFFLOOM_BENCH_NEWTON"), help="a Python with newton in it")
    parser.add_argument("--bodies", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--shapes", nargs="+", default=["box", "pear", "torus"])
    parser.add_argument("--collisions", action="store_true", help="look for contacts between bodies too")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        with open(given.one) as file:
            print(json.dumps(ours(json.load(file), given.repeats)))
        return
    peer = f" | {'newton':>9} {'ratio goal':>11}" if given.newton else ""
    pairs = "with" if given.collisions else "without"
    print(f"float32, dt {DT:.3e} s, {pairs} contacts between bodies; steps per second; load {os.getloadavg()[0]:.1f}")
    print(f"   shape vert. bodies | {'forward':>9}{peer} | {'both':>9}{peer} | lowest centre at the end [m]")
    for shape in given.shapes:
        for bodies in given.bodies:
            measure(shape, bodies, given)
    if not given.newton:
        print("Newton was not measured: name a Python that has it with --newton or DIFFLOOM_BENCH_NEWTON.")


if __name__ == "__main__":
    main()
