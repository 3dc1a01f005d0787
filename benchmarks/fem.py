"""Speed of deformable solids: a neo-Hookean block falls on the ground, forward and with gradients.

    python benchmarks/fem.py [--newton PYTHON] [--sizes 100 1000] [--threads 2]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same block with the same step in turn with ours. Without it ours is measured alone.
How rates are taken is said in peers/race.py; the gradient is that with respect to the material of every tetrahedron and
all start velocities.
"""

from collections.abc import Callable

from peers.race import Race, material_rollouts

CELLS = {
    100: (5, 2, 2), 200: (5, 4, 2), 400: (5, 4, 4), 1000: (5, 5, 8), 2000: (10, 8, 5), 5000: (10, 10, 10),
    10000: (20, 10, 10),
}  # fmt: skip
SCENE = {
    "edge": 0.1, "gap": 0.02, "density": 100.0, "mu": 1e4, "lam": 1e4, "damping": 1.0,
    "ke": 1e4, "kd": 10.0, "kf": 10.0, "friction": 0.5,
}  # fmt: skip
# Forward and backward rates [Hz] of the gradSim paper's GPU implementation, by tetrahedra (appendix, Table 5).
PAPER = {100: (9057, 3721), 1000: (4174, 1644), 10000: (3721, 1429)}


def steps_for(tets: int) -> int:
    """Two seconds for small blocks, less for large ones so that a gradient's states fit in memory."""
    return 3840 if tets <= 400 else 960 if tets <= 2000 else 320


def ours(tets: int, target: str) -> Callable[[bool, int], tuple[float, float]]:
    """The block of so many tetrahedra, ready to run in this process."""
    from diffloom_mechanics import SemiImplicitEuler
    from diffloom_physics_fem.model import FemModel

    cells, scheme = CELLS[tets], SemiImplicitEuler(target)  # type: ignore[arg-type]
    model = FemModel("box", size=[SCENE["edge"] * n for n in cells], cells=cells, contact="linear")
    constants = {
        "density": SCENE["density"], "damping": SCENE["damping"], "contact_stiffness": SCENE["ke"],
        "contact_damping": SCENE["kd"], "friction_stiffness": SCENE["kf"], "friction": SCENE["friction"],
        "position": (0.0, 0.5 * SCENE["edge"] * cells[1] + SCENE["gap"], 0.0),
    }  # fmt: skip

    return material_rollouts(model, scheme, "tets", (SCENE["mu"], SCENE["lam"]), constants)


RACE = Race(
    script=__file__,
    peer="newton_fem.py",
    unit="tets",
    sizes=tuple(CELLS),
    default=(100, 400, 1000, 2000, 5000, 10000),
    steps=steps_for,
    case=lambda tets: {"cells": CELLS[tets], "scene": SCENE},
    ours=ours,
    goal=lambda tets, mode: 30.0 if tets == 100 else {"forward": 8.0, "both": 10.0}[mode],
    beside=lambda tets, _: "{:6d}/{}".format(*PAPER[tets]) if tets in PAPER else f"{'-':>6}",
    beside_title=" | paper's GPU forward/backward",
    peer_flags={"triangles": "let Newton compute the surface triangles without stiffness that its builder adds"},
)

if __name__ == "__main__":
    RACE.run(__doc__)
