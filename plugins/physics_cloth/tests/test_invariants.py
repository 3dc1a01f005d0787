"""Invariants of every shell: balance, objectivity, passivity, symmetry, reproducibility."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_mechanics import Mechanics, SemiImplicitEuler
from diffloom_physics_cloth.meshes import Sheet, disc, irregular_grid
from diffloom_physics_cloth.model import ClothModel

SHEET = irregular_grid((6, 5), (1.0, 0.8), jitter=0.3, seed=5)
THICK = 0.05


def rotation(seed: int) -> Tensor:
    noise = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    q = torch.linalg.qr(noise).Q
    return q * torch.linalg.det(q)


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def folded(sheet: Sheet) -> Tensor:
    """The sheet turned over on itself, close enough to touch."""
    x = torch.tensor(sheet.vertices) + 0.01 * noise(*sheet.vertices.shape)
    over = x * torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64) + torch.tensor([0.02, 0.03, 0.01])
    return torch.where(x[:, :1] > 0.1, over, x)


def mechanics(model: ClothModel, **values: object) -> Mechanics:
    return model.dynamics(model.params(torch.float64, **values), Control())


def alone(system: Mechanics, name: str) -> Mechanics:
    return replace(system, terms=tuple(t for t in system.terms if t.name == name))


INTERNAL = ("faces", "hinges", "self_collision")
MODEL = ClothModel(SHEET, self_collision=THICK)


@pytest.mark.parametrize("name", INTERNAL)
def test_internal_forces_balance(name):
    x, u = folded(SHEET), noise(*SHEET.vertices.shape, seed=1)
    f = alone(mechanics(MODEL, damping=1.0, bending_damping=1e-3), name).force(x, u)
    size = float(f.norm(dim=1).sum())
    assert size > 1e-3, "the term must act for this to mean anything"
    assert float(f.sum(dim=0).norm()) < 1e-10 * size
    assert float(torch.linalg.cross(x, f).sum(dim=0).norm()) < 1e-10 * size


@pytest.mark.parametrize("name", INTERNAL)
def test_forces_turn_with_the_world(name):
    x, u = folded(SHEET), noise(*SHEET.vertices.shape, seed=1)
    R, shift = rotation(3), noise(3, seed=4)
    system = alone(mechanics(MODEL, damping=1.0, bending_damping=1e-3), name)
    f, turned = system.force(x, u), system.force(x @ R.T + shift, u @ R.T)
    assert float((turned - f @ R.T).norm() / f.norm()) < 1e-10


@pytest.mark.parametrize("name", ["faces", "hinges"])
def test_a_moving_rest_shape_feels_nothing(name):
    """Rotated, translated and moving as a rigid body: neither elasticity nor damping answers."""
    ball = disc(3, 0.5)
    bowl = ball.vertices + np.array([0, 1, 0]) * np.square(ball.vertices).sum(axis=1, keepdims=True)
    model = ClothModel(replace(ball, vertices=bowl))
    X, R, spin = torch.tensor(bowl), rotation(3), noise(3, seed=6)
    system = alone(mechanics(model, damping=10.0, bending_damping=1.0), name)
    x = X @ R.T + noise(3, seed=4)
    u = noise(3, seed=5) + torch.linalg.cross(spin.expand_as(x), x)
    scale = float(
        alone(mechanics(model, damping=10.0, bending_damping=1.0), name).force(1.1 * X, noise(*X.shape)).norm()
    )
    assert float(system.force(x, u).norm()) < 1e-10 * scale


def test_damping_only_takes_energy():
    x, u = folded(SHEET), noise(*SHEET.vertices.shape, seed=1)
    for values, name in (({"damping": 1.0}, "faces"), ({"bending_damping": 1e-3}, "hinges"),
                         ({"collision_dissipation": 1.0}, "self_collision")):  # fmt: skip
        off = {"damping": 0.0, "bending_damping": 0.0, "collision_dissipation": 0.0}
        with_damping = alone(mechanics(MODEL, **{**off, **values}), name).force(x, u)
        without = alone(mechanics(MODEL, **off), name).force(x, u)
        assert float(((with_damping - without) * u).sum()) < -1e-6


def test_a_planar_sheet_is_driven_back_from_inside_out():
    model = ClothModel("walker", planar=True)
    x = torch.tensor(model.sheet.vertices)
    flipped = x * torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    f = alone(mechanics(model), "planar_faces").force(flipped, torch.zeros_like(x))
    assert float((f * (x - flipped)).sum()) > 0, "forces lead back to the right side out"
    assert float(f[:, 2].abs().max()) == 0.0, "and stay in the plane"


def test_free_flight_is_the_discrete_parabola():
    """A sheet thrown at rest shape: x_k = x + k dt v + k (k + 1) / 2 dt^2 g, exactly semi-implicit Euler's."""
    model = ClothModel(SHEET)
    dt, steps = 1.0 / 960, 960
    velocity = torch.tensor([1.0, 3.0, -0.5], dtype=torch.float64)
    params = model.params(torch.float64, velocity=velocity)
    path = simulate(model, params, dt=dt, steps=steps, save_every=96)
    k = torch.arange(0, steps + 1, 96, dtype=torch.float64)[:, None]
    parabola = k * dt * velocity + 0.5 * k * (k + 1) * dt * dt * params["gravity"]
    assert float((path.q - path.q[:1] - parabola[:, None]).abs().max()) < 1e-12 * 20


def mirror(sheet: Sheet) -> Sheet:
    return replace(sheet, vertices=sheet.vertices * (-1, 1, 1), faces=sheet.faces[:, [0, 2, 1]])


def test_a_mirrored_sheet_moves_as_the_mirror_image():
    """All options on: air, wind, ground, contact with itself, pins."""
    options = {"pins": [0, 6], "ground": True, "self_collision": 0.02}
    flip = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    paths = []
    for sheet, sign in ((SHEET, torch.ones(3).double()), (mirror(SHEET), flip)):
        model = ClothModel(sheet.transform(position=(0, 0.03, 0)), **options)
        start = folded(SHEET) * sign + torch.tensor([0.0, 0.03, 0.0])
        params = model.params(
            torch.float64, start_shape=start, velocity=sign * torch.tensor([0.3, -1.0, 0.2]), drag=1.0, lift=0.5,
            wind=sign * torch.tensor([1.0, 0.0, 0.5]),
        )  # fmt: skip
        paths.append(simulate(model, params, dt=2e-4, steps=150, save_every=50).q)
    assert float(paths[0][:, :, 1].min()) < 0, "the sheet touches the ground"
    assert float((paths[1] * flip - paths[0]).abs().max()) < 1e-11


def touching(dtype: torch.dtype, collides: bool) -> tuple[ClothModel, dict[str, Tensor]]:
    values = {
        "start_shape": folded(SHEET).to(dtype),
        "velocity": torch.tensor([0.3, -1.0, 0.2], dtype=dtype),
        "shear_modulus": torch.tensor(250.0, dtype=dtype),
        "bending_stiffness": torch.tensor(1e-4, dtype=dtype),
    }
    if collides:
        values["collision_stiffness"] = torch.tensor(300.0, dtype=dtype)
    return ClothModel(SHEET, pins=[0], self_collision=0.02 if collides else None), values


def run(dtype: torch.dtype, target: str, collides: bool = True) -> list[Tensor]:
    model, values = touching(dtype, collides)
    leaves = {name: v.clone().requires_grad_() for name, v in values.items()}
    path = simulate(
        model, model.params(dtype, **leaves), dt=2e-4, steps=40, save_every=20, integrator=SemiImplicitEuler(target)
    )
    weights = torch.linspace(0, 1, path.q.numel(), dtype=dtype).reshape(path.q.shape)
    return [path.q.detach(), *torch.autograd.grad((path.q * weights).sum(), list(leaves.values()))]


@pytest.mark.parametrize(
    ("dtype", "target", "collides"),
    [
        (torch.float64, "serial", True),
        (torch.float32, "parallel", False),
        pytest.param(torch.float32, "parallel", True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_runs_are_equal_bit_for_bit(dtype, target, collides):
    """The last case takes minutes to compile."""
    for a, b in zip(run(dtype, "serial", collides), run(dtype, target, collides), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("names", "values"),
    [
        (["airy_faces", "hinges"], {"drag": 1.0, "lift": 1.0}),
        (["faces", "undamped_hinges"], {"bending_damping": 0.0}),
    ],
)
def test_lanes_equal_scalars_bit_for_bit(names, values, dtype):
    model = ClothModel(SHEET)
    system = model.dynamics(model.params(dtype, **values), Control())
    assert [t.name for t in system.terms] == names
    scalar = replace(system, terms=tuple(replace(term, simd=False) for term in system.terms))
    x, u = folded(SHEET).to(dtype), noise(*SHEET.vertices.shape, seed=1).to(dtype)
    results = []
    for each in (system, scalar):
        leaf = x.clone().requires_grad_()
        f = each.force(leaf, u)
        results.append((f.detach(), torch.autograd.grad((f * u).sum(), leaf)[0]))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


def test_single_precision_follows_double():
    single, double = run(torch.float32, "serial"), run(torch.float64, "serial")
    assert float((single[0] - double[0]).abs().max()) < 1e-4
    for a, b in zip(single[1:], double[1:], strict=True):
        assert float((a - b).norm() / b.norm()) < 2e-2
