"""Speed of worlds: a rigid ball falls onto a sheet that is held at its rim, forward and with gradients.

    python benchmarks/worlds.py [--newton PYTHON] [--sizes 32 128 512] [--threads 1 --clock processor]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same ball and sheet with the same step in turn with ours. Without it ours is measured
alone. How rates are taken is said in peers/race.py; the gradient is that with respect to the material of every triangle
and the start velocities of the sheet. Vertices of the sheet touch the ball, as with Newton, and triangles do not.
DIFFLOOM_BENCH_MUJOCO names a Python with `pip install mujoco`, whose rate forward then stands in the last column: its
sheet and its contacts differ (peers/mujoco_worlds.py), and it has no gradient of such a scene.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from peers.race import AT_LEAST, DT, Race, timed

CELLS = {32: (4, 4), 128: (8, 8), 512: (16, 16)}
SCENE = {
    "size": 0.8, "radius": 0.12, "ball_mass": 0.3, "height": 0.14, "mass": 0.2, "mu": 300.0, "lam": 300.0,
    "damping": 0.5, "bending": 1e-3, "ke": 500.0, "kd": 0.5, "kf": 0.5, "friction": 0.5,
}  # fmt: skip


def steps_for(faces: int) -> int:
    """About half a second, within which the ball sinks in and comes back."""
    return 960


def scene_of(faces: int) -> dict[str, float]:
    """All races take one step: so that it serves finer sheets too, these are softer, and contacts of lighter nodes."""
    finer = min(1.0, (8 / CELLS[faces][0]) ** 2)
    return {name: value * (finer if name in ("mu", "lam", "damping", "ke", "kd", "kf") else 1.0)
            for name, value in SCENE.items()}  # fmt: skip


def mujoco(faces: int, steps: int) -> str:
    """MuJoCo's rate forward and how low its sheet ends, where it is installed."""
    python = os.environ.get("DIFFLOOM_BENCH_MUJOCO")
    if python is None:
        return ""
    case = {"cells": CELLS[faces], "scene": scene_of(faces), "steps": steps, "dt": DT}
    script = str(Path(__file__).parent / "peers" / "mujoco_worlds.py")
    command = [python, script, "--case", json.dumps(case), "--at-least", str(AT_LEAST)]
    command += ["--clock", os.environ.get("DIFFLOOM_BENCH_CLOCK", "wall")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} could not run the comparison:\n{done.stderr[-2000:]}")
    return f"{json.loads(done.stdout.splitlines()[-1])['rate']:9.0f}"


def ours(faces: int, target: str) -> Callable[[bool, int], tuple[float, float]]:
    """The ball and the sheet of so many triangles, ready to run in this process."""
    import torch

    from diffloom import simulate
    from diffloom.interfaces import NoGradient, StoreAll
    from diffloom.plugins import get_model
    from diffloom_mechanics import SemiImplicitEuler

    scene = scene_of(faces)
    cells, scheme = CELLS[faces], SemiImplicitEuler(target)  # type: ignore[arg-type]
    mesh = {"shape": "grid", "cells": cells, "size": [scene["size"]] * 2, "pattern": "uniform"}
    sheet = get_model("cloth")(mesh, pins=["left", "right", "top", "bottom"])
    ball = {"shape": "sphere", "radius": scene["radius"], "mass": scene["ball_mass"]}
    ball["position"] = [0.0, scene["height"], 0.0]
    bodies = {"ball": get_model("rigid")([ball], ground=False), "sheet": sheet}
    model = get_model("world")(bodies, contact="linear", contacts=[{"between": ["ball", "sheet"], "triangles": False}])
    count = sheet.axes["particles"]
    constants = {
        "sheet.mass": scene["mass"] / count, "sheet.damping": scene["damping"],
        "sheet.bending_stiffness": scene["bending"], "sheet.bending_damping": 0.0,
        "ball_sheet.contact_stiffness": scene["ke"], "ball_sheet.contact_damping": scene["kd"],
        "ball_sheet.friction_stiffness": scene["kf"], "ball_sheet.friction": scene["friction"],
    }  # fmt: skip

    def run(grad: bool, steps: int) -> tuple[float, float]:
        mu = torch.full((sheet.axes["faces"],), scene["mu"], requires_grad=grad)
        lam = torch.full((sheet.axes["faces"],), scene["lam"], requires_grad=grad)
        velocity = torch.zeros(count, 3, requires_grad=grad)
        unknown = {"sheet.shear_modulus": mu, "sheet.lame_modulus": lam, "sheet.velocity": velocity}
        params = model.params(**unknown, **constants)
        policy = StoreAll() if grad else NoGradient()

        def work() -> torch.Tensor:
            end = simulate(model, params, dt=DT, steps=steps, save=[steps], gradient=policy, integrator=scheme).last
            if grad:
                (end["sheet"].q ** 2).sum().backward()
            return end["sheet"].q.detach()

        seconds, q = timed(work)
        return seconds, float(q[:, 1].min())

    return run


RACE = Race(
    script=__file__,
    peer="newton_worlds.py",
    unit="faces",
    sizes=tuple(CELLS),
    default=tuple(CELLS),
    steps=steps_for,
    case=lambda faces: {"cells": CELLS[faces], "scene": scene_of(faces)},
    ours=ours,
    goal=lambda _, mode: 5.0,
    beside=mujoco,
    beside_title=" |    MuJoCo" if "DIFFLOOM_BENCH_MUJOCO" in os.environ else "",
)

if __name__ == "__main__":
    RACE.run(__doc__)
