"""Speed of thin shells: a sheet with bending and drag falls on the ground, forward and with gradients.

    python benchmarks/cloth.py [--newton PYTHON] [--sizes 64 2048] [--threads 2]

--newton (or the variable DIFFLOOM_BENCH_NEWTON) names a Python with `pip install newton warp-lang`; its
SolverSemiImplicit then runs the same sheet with the same step in turn with ours. Without it ours is measured alone.
How rates are taken is said in peers/race.py; the gradient is that with respect to the material of every triangle and
all start velocities.
"""

from collections.abc import Callable

from peers.race import Race, material_rollouts

CELLS = {64: (8, 4), 128: (8, 8), 256: (16, 8), 512: (16, 16), 1024: (32, 16), 2048: (32, 32)}
SCENE = {
    "edge": 0.05, "gap": 0.02, "mass": 0.01, "mu": 1e3, "lam": 1e3, "damping": 1.0, "drag": 0.1, "bending": 0.01,
    "ke": 1e4, "kd": 10.0, "kf": 10.0, "friction": 0.5,
}  # fmt: skip


def steps_for(faces: int) -> int:
    """Two seconds for small sheets, less for large ones so that the peer's states fit in memory."""
    return 3840 if faces <= 256 else 960


def ours(faces: int, target: str) -> Callable[[bool, int], tuple[float, float]]:
    """The sheet of so many triangles, ready to run in this process."""
    from diffloom_mechanics import SemiImplicitEuler
    from diffloom_physics_cloth.model import ClothModel

    cells, scheme = CELLS[faces], SemiImplicitEuler(target)  # type: ignore[arg-type]
    size = [SCENE["edge"] * n for n in cells]
    model = ClothModel(
        {"shape": "grid", "cells": cells, "size": size, "pattern": "uniform"}, ground=True, contact="linear"
    )
    constants = {
        "mass": SCENE["mass"], "damping": SCENE["damping"], "drag": SCENE["drag"],
        "bending_stiffness": SCENE["bending"], "bending_damping": 0.0,
        "contact_stiffness": SCENE["ke"], "contact_damping": SCENE["kd"],
        "friction_stiffness": SCENE["kf"], "friction": SCENE["friction"], "position": (0.0, SCENE["gap"], 0.0),
    }  # fmt: skip

    return material_rollouts(model, scheme, "faces", (SCENE["mu"], SCENE["lam"]), constants)


RACE = Race(
    script=__file__,
    peer="newton_cloth.py",
    unit="faces",
    sizes=tuple(CELLS),
    default=tuple(CELLS),
    steps=steps_for,
    case=lambda faces: {"cells": CELLS[faces], "scene": SCENE},
    ours=ours,
    goal=lambda _, mode: {"forward": 8.0, "both": 10.0}[mode],
)

if __name__ == "__main__":
    RACE.run(__doc__)
