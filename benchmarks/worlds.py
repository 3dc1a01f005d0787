"""How fast worlds run: a rigid ball falls onto a sheet that is held at its rim, forward and with gradients.

    python benchmarks/worlds.py [--newton PYTHON] [--sizes 32 128] [--threads 2]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same ball and sheet with the same step in turn with ours. Without it ours is measured
alone. How rates are taken is said in peers/race.py; the gradient is that with respect to the material of every triangle
and the start velocities of the sheet. MuJoCo has no gradient of such a scene, and another model of a sheet.
"""

from collections.abc import Callable

from peers.race import DT, Race, timed

# Finer sheets need a shorter step than the one that all these races take.
CELLS = {32: (4, 4), 128: (8, 8)}
SCENE = {
    "size": 0.8, "radius": 0.12, "ball_mass": 0.3, "height": 0.14, "mass": 0.2, "mu": 300.0, "lam": 300.0,
    "damping": 0.5, "bending": 1e-3, "ke": 500.0, "kd": 0.5, "kf": 0.5, "friction": 0.5,
}  # fmt: skip


def steps_for(faces: int) -> int:
    """About half a second, within which the ball sinks in and comes back."""
    return 960


def ours(faces: int, target: str) -> Callable[[bool, int], tuple[float, float]]:
    """The ball and the sheet of so many triangles, ready to run in this process."""
    import torch

    from diffloom.dynamics.integrators.semi_implicit import SemiImplicitEuler
    from diffloom.interfaces import NoGradient, StoreAll
    from diffloom.plugins import get_model
    from diffloom.simulation import simulate

    cells, scheme = CELLS[faces], SemiImplicitEuler(target)  # type: ignore[arg-type]
    mesh = {"shape": "grid", "cells": cells, "size": [SCENE["size"]] * 2, "pattern": "uniform"}
    sheet = get_model("cloth")(mesh, pins=["left", "right", "top", "bottom"])
    ball = {"shape": "sphere", "radius": SCENE["radius"], "mass": SCENE["ball_mass"]}
    ball["position"] = [0.0, SCENE["height"], 0.0]
    bodies = {"ball": get_model("rigid")([ball], ground=False), "sheet": sheet}
    model = get_model("world")(bodies, contact="linear")
    count = sheet.axes["particles"]
    constants = {
        "sheet.mass": SCENE["mass"] / count, "sheet.damping": SCENE["damping"],
        "sheet.bending_stiffness": SCENE["bending"], "sheet.bending_damping": 0.0,
        "ball_sheet.contact_stiffness": SCENE["ke"], "ball_sheet.contact_damping": SCENE["kd"],
        "ball_sheet.friction_stiffness": SCENE["kf"], "ball_sheet.friction": SCENE["friction"],
    }  # fmt: skip

    def run(grad: bool, steps: int) -> tuple[float, float]:
        mu = torch.full((sheet.axes["faces"],), SCENE["mu"], requires_grad=grad)
        lam = torch.full((sheet.axes["faces"],), SCENE["lam"], requires_grad=grad)
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
    case=lambda faces: {"cells": CELLS[faces], "scene": SCENE},
    ours=ours,
    goal=lambda _, mode: 5.0,
)

if __name__ == "__main__":
    RACE.run(__doc__)
