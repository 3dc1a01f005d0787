"""Contact of a shell with itself against all pairs gone through one by one, in PyTorch; threads; and what it costs."""

import pytest
import torch
from torch import Tensor
from torch.func import jvp, vjp

from diffloom.interfaces import Control, InputError, State, StoreAll
from diffloom_kernels import num_threads, set_num_threads, threads
from diffloom_mechanics import Mechanics, SemiImplicitEuler, particles
from diffloom_mechanics.contact import HuntCrossley
from diffloom_physics_cloth.meshes import irregular_grid
from diffloom_physics_cloth.model import ClothModel
from diffloom_physics_cloth.self_collision import build_self_collision_term

SHEET = irregular_grid((6, 5), (1.0, 0.8), jitter=0.3, seed=5)
COUNT, THICK = len(SHEET.vertices), 0.06
PAIRS = [(i, f) for f, face in enumerate(SHEET.faces) for i in range(COUNT) if i not in face]
VERTEX, FACE = torch.tensor(PAIRS).T


def noise(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def folded() -> tuple[Tensor, Tensor]:
    """The sheet turned over on itself and crumpled, away from the origin, with velocities."""
    x = torch.tensor(SHEET.vertices) + 0.02 * noise(COUNT, 3, seed=0)
    over = x * torch.tensor([-1.0, 1.0, 1.0]).double() + torch.tensor([0.02, 0.03, 0.01])
    shift = torch.tensor([3.0, -2.0, 0.3], dtype=torch.float64)
    return torch.where(x[:, :1] > 0.1, over, x) + shift, noise(COUNT, 3, seed=1)


def along_edge(p: Tensor, a: Tensor, b: Tensor) -> Tensor:
    e = b - a
    tau = (((p - a) * e).sum(dim=1) / (e * e).sum(dim=1)).clamp(0.0, 1.0)
    return a + tau[:, None] * e


def distances(x: Tensor, pairs: Tensor) -> Tensor:
    """Distances of vertices from their triangles: the least over the face, where it is hit, and the three edges."""
    p = x[VERTEX[pairs]]
    a, b, c = x[torch.tensor(SHEET.faces)[FACE[pairs]]].unbind(dim=1)
    d1, d2, r = b - a, c - a, p - a
    G = torch.stack([torch.stack([(s * t).sum(dim=1) for t in (d1, d2)], dim=1) for s in (d1, d2)], dim=1)
    w = torch.linalg.solve(G, torch.stack([(d1 * r).sum(dim=1), (d2 * r).sum(dim=1)], dim=1))
    hit = (w > 0).all(dim=1) & (w.sum(dim=1) < 1)
    face = (p - a - w[:, :1] * d1 - w[:, 1:] * d2).norm(dim=1)
    edges = [(p - along_edge(p, s, t)).norm(dim=1) for s, t in ((a, b), (b, c), (c, a))]
    return torch.where(hit, face, torch.stack(edges).min(dim=0).values)


def touching(x: Tensor) -> Tensor:
    """Numbers of the pairs closer than the thickness."""
    return torch.nonzero(distances(x, torch.arange(len(PAIRS))) < THICK).ravel()


def reference(x: Tensor, u: Tensor, stiffness: Tensor, damping: Tensor, pairs: Tensor) -> Tensor:
    """Each pair pushes with k (thickness - d) max(1 - a dd/dt, 0) along the gradient of its distance d."""
    d, rate = jvp(lambda y: distances(y, pairs), (x,), (u,))
    _, pull = vjp(lambda y: distances(y, pairs), x)
    i = VERTEX[pairs]
    return pull(stiffness[i] * (THICK - d) * (1.0 - damping[i] * rate).clamp(min=0.0))[0]


def system(stiffness: Tensor, damping: Tensor) -> Mechanics:
    dtype = stiffness.dtype
    law = particles(torch.full((COUNT,), 0.01, dtype=dtype), torch.zeros(3, dtype=dtype))
    return Mechanics(law, (build_self_collision_term(SHEET.faces, COUNT, THICK, HuntCrossley(), (stiffness, damping)),))


def forces(x: Tensor, u: Tensor, stiffness: Tensor, damping: Tensor) -> Tensor:
    return system(stiffness, damping).force(x, u)


def material() -> tuple[Tensor, Tensor]:
    return 100.0 * (1.5 + noise(COUNT, seed=2).sin()), 0.5 * (1.5 + noise(COUNT, seed=3).sin())


def test_every_pair_is_found_and_pushed_apart():
    x, u = folded()
    pairs = touching(x)
    assert len(pairs) > 50, "layers must touch for this to mean anything"
    expected = reference(x, u, *material(), pairs)
    found = forces(x, u, *material())
    assert float((found - expected).norm() / expected.norm()) < 1e-12


def test_adjoint_is_the_transpose():
    """<J a, b> by differentiating the PyTorch formula forwards, <a, J^T b> by the adjoint kernel."""
    x, u = folded()
    pairs = touching(x)
    inputs = (x, u, *material())
    ways = [noise(*v.shape, seed=10 + k) for k, v in enumerate(inputs)]
    b = noise(COUNT, 3, seed=20)
    leaves = [v.clone().requires_grad_() for v in inputs]
    adjoint = torch.autograd.grad((forces(*leaves) * b).sum(), leaves)
    _, forward = jvp(lambda *v: reference(*v, pairs), inputs, tuple(ways))
    backward = sum(float((g * way).sum()) for g, way in zip(adjoint, ways, strict=True))
    assert backward == pytest.approx(float((forward * b).sum()), rel=1e-11)


def rolled(target: str, count: int) -> list[Tensor]:
    """Frames of a rollout of nothing but contact, and gradients of all that goes in."""
    leaves = [v.float().requires_grad_() for v in (*folded(), *material())]
    before = num_threads()
    set_num_threads(count)
    try:
        path = SemiImplicitEuler(target).rollout(
            system(*leaves[2:]), State(*leaves[:2]), dt=1e-4, steps=20, save=(10, 20), gradient=StoreAll()
        )
        weights = torch.linspace(0, 1, path.q.numel()).reshape(path.q.shape)
        return [path.q.detach(), *torch.autograd.grad((path.q * weights).sum(), leaves)]
    finally:
        set_num_threads(before)


def test_any_number_of_threads_gives_the_same_bits():
    alone = rolled("serial", 1)
    assert all(bool(a.any()) for a in alone)
    for count in range(1, min(threads().available, 2) + 1):
        assert all(torch.equal(a, b) for a, b in zip(alone, rolled("parallel", count), strict=True))


def rubbing(x: Tensor, u: Tensor, stiffness: Tensor, damping: Tensor, hold: Tensor, friction: Tensor) -> Tensor:
    law = particles(torch.full((COUNT,), 0.01, dtype=x.dtype), torch.zeros(3, dtype=x.dtype))
    values, rub = (stiffness, damping), (hold, friction)
    return Mechanics(law, (build_self_collision_term(SHEET.faces, COUNT, THICK, HuntCrossley(), values, rub),)).force(
        x, u
    )


def test_friction_keeps_force_and_torque_and_has_an_exact_adjoint():
    inputs = (*folded(), *material(), torch.full((COUNT,), 2.0).double(), 0.3 + 0.1 * noise(COUNT, seed=4).sin())
    found, without = rubbing(*inputs), forces(*inputs[:4])
    assert float((found - without).abs().max()) > 0.1 * float(without.abs().max())
    x, size = inputs[0], float(found.abs().max())
    assert float(found.sum(dim=0).abs().max()) < 1e-13 * COUNT * size
    assert float(torch.linalg.cross(x, found).sum(dim=0).abs().max()) < 1e-12 * COUNT * size
    ways, b = [noise(*v.shape, seed=30 + k) for k, v in enumerate(inputs)], noise(COUNT, 3, seed=40)
    leaves = [v.clone().requires_grad_() for v in inputs]
    adjoint = torch.autograd.grad((rubbing(*leaves) * b).sum(), leaves)
    step = 1e-7
    ahead, behind = ([v + s * step * way for v, way in zip(inputs, ways, strict=True)] for s in (1.0, -1.0))
    forward = float(((rubbing(*ahead) - rubbing(*behind)) * b).sum()) / (2.0 * step)
    backward = sum(float((g * way).sum()) for g, way in zip(adjoint, ways, strict=True))
    assert all(bool(g.any()) for g in adjoint)
    assert backward == pytest.approx(forward, rel=1e-6)


def test_a_sheet_without_self_collision_has_neither_term_nor_parameter():
    """Options of self-collision add exactly their own term and parameters."""
    off, on = ClothModel(SHEET), ClothModel(SHEET, self_collision=0.02)
    assert {s.name for s in on.specs} - {s.name for s in off.specs} == {"collision_stiffness", "collision_dissipation"}
    rough = ClothModel(SHEET, self_collision=0.02, self_friction=True)
    more = {"collision_friction_stiffness", "collision_friction"}
    assert {s.name for s in rough.specs} - {s.name for s in on.specs} == more
    with pytest.raises(InputError, match="give self_collision too"):
        ClothModel(SHEET, self_friction=True)
    names = [[t.name for t in model.dynamics(model.params(), Control()).terms] for model in (off, on)]
    assert names == [["faces", "hinges"], ["faces", "hinges", "self_collision"]]
