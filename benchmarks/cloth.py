"""How fast thin shells run: a sheet with bending and drag falls on the ground, forward and with gradients.

    python benchmarks/cloth.py [--newton PYTHON] [--sizes 64 2048] [--threads 2]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same sheet with the same step in turn with ours. Without it ours is measured alone.
Rates are steps per second of whole calls of simulate and backward on a scene that is built, the best of several;
float32; the peer's are of its graph alone, replayed. "both" is a rollout and its gradient with respect to the
material of every triangle and all start velocities.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

CELLS = {64: (8, 4), 128: (8, 8), 256: (16, 8), 512: (16, 16), 1024: (32, 16), 2048: (32, 32)}
DT = 1.0 / 60 / 32
SCENE = {
    "edge": 0.05, "gap": 0.02, "mass": 0.01, "mu": 1e3, "lam": 1e3, "damping": 1.0, "drag": 0.1, "bending": 0.01,
    "ke": 1e4, "kd": 10.0, "kf": 10.0, "friction": 0.5,
}  # fmt: skip
GOAL = {"forward": 8.0, "both": 10.0}
PEER = Path(__file__).parent / "peers" / "newton_cloth.py"


def steps_for(faces: int) -> int:
    """Two seconds for small sheets, less for large ones so that the peer's states fit in memory."""
    return 3840 if faces <= 256 else 960


def ours(faces: int, threads: int, repeats: int, target: str) -> dict[str, float]:
    """Rates and the lowest point reached, in this process."""
    os.environ["DIFFLOOM_NUM_THREADS"] = str(threads)
    import torch

    from diffloom.integrators.semi_implicit import SemiImplicitEuler
    from diffloom.interfaces import NoGradient, StoreAll
    from diffloom.simulation import simulate
    from diffloom_physics_cloth.model import ClothModel

    torch.set_num_threads(threads)
    cells, steps = CELLS[faces], steps_for(faces)
    size = [SCENE["edge"] * n for n in cells]
    model = ClothModel({"shape": "grid", "cells": cells, "size": size, "pattern": "uniform"}, ground=True)
    constants = {
        "mass": SCENE["mass"], "damping": SCENE["damping"], "drag": SCENE["drag"],
        "bending_stiffness": SCENE["bending"], "bending_damping": 0.0,
        "contact_stiffness": SCENE["ke"], "contact_damping": SCENE["kd"],
        "friction_stiffness": SCENE["kf"], "friction": SCENE["friction"], "position": (0.0, SCENE["gap"], 0.0),
    }  # fmt: skip

    def run(grad: bool, count: int) -> tuple[float, float]:
        mu = torch.full((model.axes["faces"],), SCENE["mu"], requires_grad=grad)
        lam = torch.full((model.axes["faces"],), SCENE["lam"], requires_grad=grad)
        velocity = torch.zeros(model.axes["particles"], 3, requires_grad=grad)
        params = model.params(shear_modulus=mu, lame_modulus=lam, velocity=velocity, **constants)
        start = time.perf_counter()
        policy = StoreAll() if grad else NoGradient()
        scheme = SemiImplicitEuler(target)  # type: ignore[arg-type]
        end = simulate(model, params, dt=DT, steps=count, save=[count], gradient=policy, integrator=scheme).last
        if grad:
            (end.q**2).sum().backward()
        return time.perf_counter() - start, float(end.q.detach()[:, 1].min())

    found: dict[str, float] = {}
    for name, grad in (("forward", False), ("both", True)):
        run(grad, 2)
        times = [run(grad, steps) for _ in range(repeats)]
        found |= {name: steps / min(t for t, _ in times), "lowest": times[-1][1]}
    return found


def newtons(python: str, faces: int, mode: str, collide: str, repeats: int) -> dict[str, float]:
    """The peer's rate, from a process of its own."""
    case = {"cells": CELLS[faces], "steps": steps_for(faces), "dt": DT, "scene": SCENE}
    command = [python, str(PEER), "--case", json.dumps(case), "--mode", mode, "--collide", collide]
    done = subprocess.run([*command, "--repeats", str(repeats)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} could not run the comparison:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def report(faces: int, mine: dict[str, float], theirs: dict[str, float]) -> None:
    cells = [f"{faces:6d}"]
    for mode in ("forward", "both"):
        cells.append(f"{mine[mode]:9.0f}")
        if theirs:
            ratio = mine[mode] / theirs[mode]
            cells.append(f"{theirs[mode]:9.0f} {ratio:6.1f}x{' ' if ratio >= GOAL[mode] else '<'}{GOAL[mode]:<3.0f}")
    print(" | ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newton", default=os.environ.get("DIFFLOOM_BENCH_NEWTON"), help="a Python with newton in it")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2, help="processes of each, in turn")
    parser.add_argument("--target", choices=["auto", "serial", "parallel"], default="auto", help="how ours runs")
    parser.add_argument(
        "--collide", choices=["every", "once"], default="every", help="how often the peer seeks contacts"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(ours(given.sizes[0], given.threads, given.repeats, given.target)))
        return
    peer = f" | {'newton':>9} {'ratio goal':>11}" if given.newton else ""
    print(f"float32, {given.threads} threads, dt {DT:.3e} s; steps per second; load {os.getloadavg()[0]:.1f}")
    print(f" faces | {'forward':>9}{peer} | {'both':>9}{peer}")
    for faces in given.sizes:
        mine: dict[str, float] = {}
        theirs: dict[str, float] = {}
        for _ in range(given.rounds):  # in turn, so that both see the machine's fast and slow phases
            again = [sys.executable, __file__, "--one", "--sizes", str(faces), "--target", given.target]
            again += ["--threads", str(given.threads), "--repeats", str(given.repeats)]
            found = json.loads(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
            mine = {k: max(v, mine.get(k, v)) for k, v in found.items()}
            for mode in ("forward", "both") if given.newton else ():
                rate = newtons(given.newton, faces, mode, given.collide, given.repeats)["rate"]
                theirs[mode] = max(rate, theirs.get(mode, 0.0))
        report(faces, mine, theirs)
    if not given.newton:
        print("Newton was not measured: name a Python that has it with --newton or DIFFLOOM_BENCH_NEWTON.")


if __name__ == "__main__":
    main()
