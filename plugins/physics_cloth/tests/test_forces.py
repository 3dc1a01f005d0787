"""Forces of single terms against formulas written down a second time, in PyTorch, from the energies."""

import math

import numpy as np
import pytest
import torch
from numba import njit
from torch import Tensor
from torch.func import grad, jvp, vjp

from diffloom_mechanics import Mechanics, particles
from diffloom_physics_cloth.hinge_kernels import angle
from diffloom_physics_cloth.meshes import grid, irregular_grid
from diffloom_physics_cloth.rest_shape import rest_shape
from diffloom_physics_cloth.terms import (
    AirCoefficients,
    Elasticity,
    build_face_term,
    build_hinge_term,
    build_planar_face_term,
)
from diffloom_testing.gradients import check_gradient

SHEET = irregular_grid((4, 3), (1.0, 0.8), jitter=0.3, seed=5)
FACES, HINGES = SHEET.faces, SHEET.edges.hinges
T, H = torch.tensor(FACES), torch.tensor(HINGES)
REST = torch.tensor(SHEET.vertices)
UP = np.array([0.0, 1.0, 0.0])


def random(*shape: int, seed: int, low: float = 0.5, high: float = 1.5) -> Tensor:
    values = torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return low + (high - low) * values


def crumpled(seed: int = 1) -> tuple[Tensor, Tensor]:
    noise = torch.Generator().manual_seed(seed)
    x = REST + 0.06 * torch.randn(REST.shape, dtype=torch.float64, generator=noise)
    return x, torch.randn(REST.shape, dtype=torch.float64, generator=noise)


def material(seed: int = 2) -> dict[str, Tensor]:
    count = len(FACES)
    return {
        "mu": random(count, seed=seed),
        "lam": random(count, seed=seed + 1),
        "damping": random(count, seed=seed + 2),
        "activation": random(1, count, seed=seed + 3, low=-0.2, high=0.2),
    }


def air(seed: int = 7) -> dict[str, Tensor]:
    count = len(FACES)
    return {
        "drag": random(count, seed=seed),
        "lift": random(count, seed=seed + 1),
        "wind": random(1, count, 3, seed=seed + 2, low=-1.0, high=1.0),
    }


def bending(seed: int = 11) -> dict[str, Tensor]:
    count = len(HINGES)
    return {
        "stiffness": random(count, seed=seed),
        "damping": random(count, seed=seed + 1),
        "rest_angle": random(count, seed=seed + 2, low=-0.3, high=0.3),
        "activation": random(1, count, seed=seed + 3, low=-0.2, high=0.2),
    }


def total_force(term, x: Tensor, u: Tensor) -> Tensor:
    count = x.shape[0]
    law = particles(torch.ones(count, dtype=x.dtype), torch.zeros(3, dtype=x.dtype))
    return Mechanics(law, (term,)).force(x, u)


def face_forces(x, u, mu, lam, damping, activation, drag=None, lift=None, wind=None, rest=REST):
    shape = rest_shape(rest, FACES, HINGES)
    around = None if drag is None else AirCoefficients(drag, lift, wind)
    return total_force(
        build_face_term(FACES, shape.edges, shape.area, Elasticity(mu, lam, damping, activation), around), x, u
    )


def planar_forces(x, u, mu, lam, damping, activation, rest=REST):
    shape = rest_shape(rest, FACES, HINGES)
    elastic = Elasticity(mu, lam, damping, activation)
    return total_force(build_planar_face_term(FACES, UP, shape.edges, shape.area, elastic), x, u)


def hinge_forces(x, u, stiffness, damping, rest_angle, activation, rest=REST):
    weight = rest_shape(rest, FACES, HINGES).hinge_weight
    return total_force(build_hinge_term(HINGES, weight, stiffness, damping, rest_angle, activation), x, u)


# Independent implementation -----------------------------------------------------------------------------------------


def deformation_gradients(x: Tensor, rest: Tensor = REST) -> tuple[Tensor, Tensor]:
    """F (faces, 3, 2) in axes of each face's own, by Gram-Schmidt, and rest areas."""
    X = rest[T]
    D = torch.stack([X[:, 1] - X[:, 0], X[:, 2] - X[:, 0]], dim=2)
    flat = torch.linalg.qr(D).R
    d = torch.stack([x[T][:, 1] - x[T][:, 0], x[T][:, 2] - x[T][:, 0]], dim=2)
    return d @ torch.linalg.inv(flat), 0.5 * torch.linalg.det(flat).abs()


def membrane_energy(x: Tensor, mu: Tensor, lam: Tensor, activation: Tensor, normal: Tensor | None = None) -> Tensor:
    F, area = deformation_gradients(x)
    invariant = (F * F).sum(dim=(1, 2))
    n = torch.linalg.cross(F[:, :, 0], F[:, :, 1])
    if normal is None:
        J = n.norm(dim=1)
    else:
        J = (n @ normal) * turn(normal)
    alpha = 1.0 + 2.0 * mu / (3.0 * lam) + activation[0]
    density = 0.5 * mu * (invariant - 2.0) + 0.5 * lam * (J - alpha) ** 2 - 0.5 * mu * torch.log(invariant + 1.0)
    return (area * density).sum()


def turn(normal: Tensor) -> Tensor:
    """+1 where Gram-Schmidt's axes turn the same way as the plane does."""
    F, _ = deformation_gradients(REST)
    return torch.sign(torch.linalg.cross(F[:, :, 0], F[:, :, 1]) @ normal)


def reference_faces(x, u, mu, lam, damping, activation, normal=None):
    elastic = grad(membrane_energy)(x, mu, lam, activation, normal)
    F, area = deformation_gradients(x)
    rate, _ = deformation_gradients(u)
    S = F.transpose(1, 2) @ rate
    stress = (area * damping)[:, None, None] * (F @ (S + S.transpose(1, 2)))
    # Stress does work on dF; the transpose of x -> F spreads it over the corners.
    _, broadcast = vjp(lambda y: deformation_gradients(y)[0], x)
    return -elastic - broadcast(stress)[0]


def reference_air(x, u, drag, lift, wind):
    X = x[T]
    N = 0.5 * torch.linalg.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
    v = u[T].mean(dim=1) - wind[0]
    area = N.norm(dim=1, keepdim=True)
    through = (N * v).sum(dim=1, keepdim=True)
    f = -drag[:, None] * through.abs() * v - lift[:, None] * through * v.norm(dim=1, keepdim=True) * N / area
    return torch.zeros_like(x).index_add(0, T.ravel(), (f / 3.0).repeat_interleave(3, dim=0))


def dihedral(x: Tensor) -> Tensor:
    """Angles by the two unit normals and the unit edge."""
    a, b, c, d = (x[H[:, k]] for k in range(4))
    n1 = torch.nn.functional.normalize(torch.linalg.cross(b - a, c - a), dim=1)
    n2 = torch.nn.functional.normalize(torch.linalg.cross(d - a, b - a), dim=1)
    edge = torch.nn.functional.normalize(b - a, dim=1)
    return torch.atan2((torch.linalg.cross(n1, n2) * edge).sum(dim=1), (n1 * n2).sum(dim=1))


def hinge_weights() -> Tensor:
    X = REST
    edge = (X[H[:, 1]] - X[H[:, 0]]).square().sum(dim=1)
    areas = torch.linalg.cross(X[T][:, 1] - X[T][:, 0], X[T][:, 2] - X[T][:, 0]).norm(dim=1) / 2
    return edge / areas[torch.tensor(SHEET.edges.hinge_faces)].sum(dim=1)


def bending_energy(x: Tensor, stiffness: Tensor, rest_angle: Tensor, activation: Tensor) -> Tensor:
    return 0.5 * (stiffness * hinge_weights() * (dihedral(x) - rest_angle + activation[0]) ** 2).sum()


def reference_hinges(x, u, stiffness, damping, rest_angle, activation):
    elastic = grad(bending_energy)(x, stiffness, rest_angle, activation)
    _, rate = jvp(dihedral, (x,), (u,))
    _, broadcast = vjp(dihedral, x)
    return -elastic - broadcast(damping * hinge_weights() * rate)[0]


def reference_airy(x, u, mu, lam, damping, activation, drag, lift, wind):
    return reference_faces(x, u, mu, lam, damping, activation) + reference_air(x, u, drag, lift, wind)


def undamped_forces(x, u, stiffness, rest_angle, activation):
    """Damping that is zero and not asked for has kernels of its own."""
    return hinge_forces(x, u, stiffness, torch.zeros((), dtype=torch.float64), rest_angle, activation)


def reference_undamped(x, u, stiffness, rest_angle, activation):
    return reference_hinges(x, u, stiffness, torch.zeros_like(stiffness), rest_angle, activation)


CASES = {
    "faces": (face_forces, reference_faces, material),
    "airy": (face_forces, reference_airy, lambda: {**material(), **air()}),
    "planar": (planar_forces, lambda *a: reference_faces(*a, normal=torch.tensor(UP)), material),
    "hinges": (hinge_forces, reference_hinges, bending),
    "undamped": (undamped_forces, reference_undamped, lambda: {k: v for k, v in bending().items() if k != "damping"}),
}


@pytest.mark.parametrize("case", CASES)
def test_forces_follow_from_the_energy(case):
    forces, reference, values = CASES[case]
    x, u = crumpled()
    given = values()
    expected = reference(x, u, *given.values()).detach()
    found = forces(x, u, **given)
    assert float((found - expected).norm() / expected.norm()) < 1e-12


def test_air_pushes_each_face_once():
    x, u = crumpled()
    expected = reference_air(x, u, **air())
    still = {**material(), "mu": torch.zeros(()).double(), "lam": torch.zeros(()).double()}
    still["damping"] = torch.zeros(()).double()
    found = face_forces(x, u, **still, **air())
    assert float((found - expected).norm() / expected.norm()) < 1e-12


@pytest.mark.parametrize("case", CASES)
def test_adjoint_is_the_transpose(case):
    """<J a, b> by differentiating the PyTorch formula forwards, <a, J^T b> by the adjoint kernel."""
    forces, reference, values = CASES[case]
    x, u = crumpled()
    given = values()
    inputs = {"x": x, "u": u, **given}
    ways = {name: torch.randn(v.shape, dtype=torch.float64) for name, v in inputs.items()}
    b = torch.randn(x.shape, dtype=torch.float64)

    leaves = {name: v.clone().requires_grad_() for name, v in inputs.items()}
    adjoint = torch.autograd.grad((forces(**leaves) * b).sum(), list(leaves.values()))
    backward = sum(float((g * ways[name]).sum()) for name, g in zip(leaves, adjoint, strict=True))

    _, forward = jvp(reference, tuple(inputs.values()), tuple(ways.values()))
    assert backward == pytest.approx(float((forward * b).sum()), rel=1e-11)


def test_gradients_of_faces_with_air():
    x, u = crumpled()
    check_gradient(face_forces, {"x": x, "u": u, **material(), **air(), "rest": REST}, tolerance=1e-6)


def test_gradients_of_planar_faces_turned_inside_out():
    x, u = crumpled()
    flipped = x * torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    check_gradient(planar_forces, {"x": flipped, "u": u, **material(), "rest": REST}, tolerance=1e-6)


@pytest.mark.parametrize("shape", ["flat", "crumpled", "folded"])
def test_gradients_of_hinges(shape):
    x, u = crumpled()
    if shape == "flat":
        x = REST.clone()
        assert float(dihedral(x).abs().max()) == 0.0
    if shape == "folded":
        x = torch.where(x[:, :1] > 0, x * torch.tensor([-1.0, 1.0, 1.0]) + torch.tensor([0.0, 0.05, 0.0]), x)
        assert float(dihedral(x).abs().max()) > 2.5
    inputs = {"x": x, "u": u, **bending(), "rest": REST}
    check_gradient(hinge_forces, inputs, tolerance=1e-6)


def test_a_flat_sheet_at_rest_bends_linearly():
    """The force of a flat hinge without rest angle vanishes, and its slope is the stiffness of the hinge."""
    stiffness = torch.ones(len(HINGES), dtype=torch.float64)
    nothing = torch.zeros((), dtype=torch.float64)
    x = REST.clone().requires_grad_()
    f = hinge_forces(x, torch.zeros_like(REST), stiffness, nothing, nothing, nothing.reshape(1))
    assert float(f.detach().abs().max()) == 0.0
    way = torch.randn(REST.shape, dtype=torch.float64)
    (slope,) = torch.autograd.grad((f * way).sum(), x)
    y = REST.clone().requires_grad_()
    energy = bending_energy(y, stiffness, nothing, nothing.reshape(1))
    (first,) = torch.autograd.grad(energy, y, create_graph=True)
    (expected,) = torch.autograd.grad((first * way).sum(), y)
    assert bool(torch.isfinite(slope).all())
    assert float((slope + expected).norm() / expected.norm()) < 1e-12


@njit
def angles(y, x, out):
    for i in range(len(out)):
        out[i] = angle(y[i], x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_angle_is_that_of_atan2(dtype):
    random_points = np.random.default_rng(0).normal(size=(20000, 2)) * 10.0 ** np.linspace(-12, 12, 20000)[:, None]
    axes = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (1e-30, 1), (1e-30, -1)]
    points = np.concatenate([random_points, axes]).astype(dtype)
    found = np.empty(len(points), dtype)
    angles(np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1]), found)
    expected = np.arctan2(points[:, 0].astype(float), points[:, 1].astype(float))
    assert np.abs(found - expected).max() < 3 * np.finfo(dtype).eps * math.pi
    small = np.abs(expected) < 1e-3
    relative = np.abs(found - expected)[small] / np.maximum(np.abs(expected[small]), 1e-300)
    assert relative.max() < 3 * np.finfo(dtype).eps


def test_small_strains_obey_linear_elasticity():
    """mu = 3/2 mu_L and lam = lam_L + 2/3 mu_L make the membrane's small strains those of the linear moduli."""
    mu_l, lam_l, size = 3.0, 5.0, 1e-6
    sheet = grid((1, 1), (1.0, 1.0), plane="xy")
    X = torch.tensor(sheet.vertices)
    strain = size * torch.tensor([[1.0, 0.4, 0.0], [0.4, -0.3, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    shape = rest_shape(X, sheet.faces, sheet.edges.hinges)
    moduli = Elasticity(
        torch.tensor(1.5 * mu_l).double(),
        torch.tensor(lam_l + 2.0 / 3.0 * mu_l).double(),
        torch.zeros(()).double(),
        torch.zeros(1).double(),
    )
    f = total_force(build_face_term(sheet.faces, shape.edges, shape.area, moduli), X + X @ strain, torch.zeros_like(X))
    stress = 2.0 * mu_l * strain + lam_l * strain.trace() * torch.diag(torch.tensor([1.0, 1.0, 0.0]).double())
    right = X[:, 0] > 0
    assert f[right].sum(dim=0).numpy() == pytest.approx(-stress[:, 0].numpy(), rel=1e-4, abs=1e-4 * size)
