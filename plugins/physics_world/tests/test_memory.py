"""Bodies with internal variables in a world: names, starts, motion and stress are those of each body alone."""

import torch

from diffloom import simulate
from diffloom.interfaces import NoGradient
from diffloom_physics_fem.model import FemModel
from diffloom_physics_world.model import World

REAL = torch.float64


def test_bodies_remember_in_a_world_as_they_do_alone():
    def block():
        return FemModel("box", size=(0.2, 0.2, 0.2), cells=(1, 1, 1), ground=False, material="von_mises")

    alone = block()
    world = World({"left": block(), "right": block()}, contacts=[])
    assert [spec.name for spec in world.memory] == [
        "left.inelastic_metric", "left.plastic_strain", "right.inelastic_metric", "right.plastic_strain",
    ]  # fmt: skip
    start = torch.as_tensor(alone.mesh.vertices) * torch.tensor([1.3, 0.9, 0.9], dtype=REAL)
    own = {"start_shape": start, "yield_stress": 1000.0, "gravity": (0.0, 0.0, 0.0)}
    params = world.params(
        REAL, **{f"left.{k}": v for k, v in own.items()}, **{"right.position": (2.0, 0.0, 0.0)}, gravity=(0.0, 0.0, 0.0)
    )
    given = {"dt": 2e-4, "steps": 4, "save": (2, 4), "gradient": NoGradient()}
    path = simulate(world, params, **given)
    single, values = simulate(alone, alone.params(REAL, **own), **given), alone.params(REAL, **own)
    assert float(single.memory["plastic_strain"].min()) > 0.1
    for name, value in single.memory.items():
        assert torch.equal(path.memory[f"left.{name}"], value)
    assert not bool(path.memory["right.plastic_strain"].any())
    shown = world.stress(path, params).values[:, : len(alone.shown.vertices)]
    assert torch.allclose(shown, alone.stress(single, values).values)
