"""Against results known from elsewhere: the catenary, a clamped plate, terminal velocity."""

import math

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse.linalg import spsolve
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_physics_cloth.meshes import grid, staggered_grid
from diffloom_physics_cloth.model import ClothModel

GRAVITY = 9.81


def colouring(model: ClothModel) -> list[np.ndarray]:
    """Vertices in groups no two of which act on a common vertex, so that one product with the Jacobian's transpose
    gives the rows of a whole group."""
    edges = model.sheet.edges
    count = len(model.sheet.vertices)
    joins = sparse.lil_matrix((count, count), dtype=bool)
    for a, b in ((a, b) for element in edges.hinges for a in element for b in element):
        joins[a, b] = True
    overlap = (joins.tocsr() @ joins.tocsr()).tolil().rows
    colour = np.full(count, -1)
    for i in range(count):
        taken = {colour[j] for j in overlap[i]}
        colour[i] = next(c for c in range(count) if c not in taken)
    return [np.flatnonzero(colour == c) for c in range(colour.max() + 1)]


def jacobian(f: Tensor, x: Tensor, groups: list[np.ndarray], owner: np.ndarray) -> sparse.csr_matrix:
    """df/dx, (3 V, 3 V). owner[g, l]: the vertex of group g that vertex l acts on, or -1."""
    rows, columns, values = [], [], []
    for g, group in enumerate(groups):
        hit = np.flatnonzero(owner[g] >= 0)
        for c in range(3):
            probe = torch.zeros_like(f)
            probe[group, c] = 1.0
            product = torch.autograd.grad(f, x, probe, retain_graph=True)[0].numpy()
            rows.append(np.repeat(3 * owner[g, hit] + c, 3))
            columns.append((3 * hit[:, None] + np.arange(3)).ravel())
            values.append(product[hit].ravel())
    index = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_matrix((np.concatenate(values), index), shape=(f.numel(), x.numel()))


def owners(model: ClothModel, groups: list[np.ndarray]) -> np.ndarray:
    """See ``jacobian``."""
    owner = np.full((len(groups), len(model.sheet.vertices)), -1)
    number = {i: g for g, group in enumerate(groups) for i in group}
    for a, b in ((a, b) for hinge in model.sheet.edges.hinges for a in hinge for b in hinge):
        owner[number[a], b] = a
    return owner


def equilibrium(model: ClothModel, start: Tensor, t: float = 1e-3, **values: object) -> Tensor:
    """Positions (particles, 3) where all forces on free particles balance.

    Implicit steps down the energy, (I / t - J) dx = f, t growing as the force falls: Newton's method in the end. The
    Jacobian J comes from the adjoint.
    """
    params = model.params(torch.float64, **values)
    system = model.dynamics(params, Control())
    weight = model.mass(params)[:, None] * params["gravity"]
    free = np.flatnonzero(np.repeat(~model.fixed, 3))
    groups = colouring(model)
    owner = owners(model, groups)
    size = float(weight.reshape(-1)[free].norm())
    x, last = start.clone(), math.inf
    for _ in range(200):
        leaf = x.clone().requires_grad_()
        f = system.force(leaf, torch.zeros_like(start)) + weight
        force = f.detach().numpy().ravel()[free]
        now = float(np.linalg.norm(force))
        if now < 1e-6 * size:
            return x
        t = min(t * min(max(last / now, 0.3), 10.0), 1e12)
        last = now
        matrix = sparse.identity(len(free)) / t - jacobian(f, leaf, groups, owner)[free][:, free]
        x.view(-1)[free] += torch.from_numpy(spsolve(matrix.tocsc(), force))
    raise AssertionError(f"no equilibrium found: force {now:.3g} N of {size:.3g} N left")


def catenary(span: float, length: float) -> tuple[float, float]:
    """Parameter a and sag [m] of a chain: length = 2 a sinh(span / 2a)."""
    low, high = 1e-3 * span, 1e3 * span
    for _ in range(200):
        a = math.sqrt(low * high)
        low, high = (a, high) if 2 * a * math.sinh(min(span / (2 * a), 700)) > length else (low, a)
    return a, a * (math.cosh(span / (2 * a)) - 1.0)


def hanging(cells: int, bending: float) -> tuple[Tensor, float]:
    """A strip 1 m long between ends 0.8 m apart: its vertices, and their largest height above the catenary [m]."""
    length, span, width = 1.0, 0.8, 0.1
    sheet = grid((cells, 1), (length, width))
    model = ClothModel(sheet, pins=["left", "right"])
    a, sag = catenary(span, length)
    start = torch.tensor(sheet.vertices)
    s = start[:, 0].clone()
    start[:, 0] = s * span / length
    start[:, 1] = -sag * (1.0 - (2.0 * s / length) ** 2)  # a parabola, not the answer
    x = equilibrium(
        model, start, start_shape=start, shear_modulus=2e4, lame_modulus=1e4, bending_stiffness=bending,
    )  # fmt: skip
    expected = a * (torch.cosh(x[:, 0] / a) - math.cosh(span / (2 * a)))
    return x, float((x[:, 1] - expected).abs().max())


def test_a_hanging_strip_tends_to_the_catenary_under_refinement():
    errors = [hanging(cells, bending=1e-9)[1] for cells in (8, 16, 32)]
    print("catenary, refinement 8, 16, 32 cells: error [m]", errors)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2), "second order in the size of a cell"
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)
    assert errors[2] < 1e-3


def test_a_hanging_strip_tends_to_the_catenary_as_bending_stiffness_vanishes():
    limp, mesh_error = hanging(16, 1e-9)
    stiff = [hanging(16, bending) for bending in (1e-2, 1e-3, 1e-4)]
    apart = [float((x - limp).abs().max()) for x, _ in stiff]
    print("catenary, bending stiffness 1e-2, 1e-3, 1e-4 N m: error [m]", [e for _, e in stiff], "then", mesh_error)
    print("and distance from the limp strip of the same mesh [m]", apart)
    assert stiff[0][1] > 1.5 * mesh_error, "a stiff strip is no catenary"
    assert apart[0] > 3 * apart[1] > 9 * apart[2]
    assert apart[2] < 0.05 * mesh_error, "and a limp one is as near to it as its mesh allows"


def clamped_deflection(rows: int) -> float:
    """Deflection in the middle of a clamped strip's free end, small, as a fraction of a plate's q L^4 / (8 D).

    The strip is four times as wide as long, so that its middle bends as a cylinder. The first row is held; a hinge
    stands for half a row to either side of it, so the clamp is the held row's middle.
    """
    length, rigidity, density, gravity = 1.0, 0.1, 0.2, 1e-3
    height = length / (rows - 0.5)
    across = 2 * round(2.0 * length / (height / 0.75**0.5))
    sheet = staggered_grid((across, rows), (across * height / 0.75**0.5, rows * height))
    held = np.flatnonzero(sheet.uv[:, 1] < 1.5 / rows)
    x = equilibrium(
        ClothModel(sheet, pins=held.tolist()), torch.tensor(sheet.vertices), 1e12, shear_modulus=1e3, lame_modulus=1e3,
        bending_stiffness=rigidity, density=density, gravity=(0.0, -gravity, 0.0),
    )  # fmt: skip
    tip = sheet.groups["top"][np.abs(sheet.uv[sheet.groups["top"], 0] - 0.5).argmin()]
    return float(-x[tip, 1]) / (density * gravity * length**4 / (8.0 * rigidity))


def test_a_clamped_strip_bends_as_a_plate():
    found = [clamped_deflection(rows) for rows in (4, 8, 16)]
    errors = [abs(f - 1.0) for f in found]
    print("clamped strip, 4, 8, 16 rows: deflection over q L^4 / (8 D)", found)
    assert errors[0] > 3.5 * errors[1] > 3.5**2 * errors[2], "second order in the size of a cell"
    assert errors[2] < 2e-3


def test_rigidity_depends_on_the_mesh_as_documented():
    """Square cells with alternating diagonals: corners where diagonals meet give way, which leaves 5/6 of it.

    With curvature K across the sheet and those corners raised by s h^2 / 2, the energy is (K + s)^2 + s^2 + 4 s^2 in
    units of the stiffness; its least value, at s = -K/6, is 5/6 K^2.
    """
    sheet = grid((8, 8), (8.0, 8.0))
    model = ClothModel(sheet)
    params = model.params(torch.float64, bending_stiffness=1.0, shear_modulus=0.0, lame_modulus=0.0)
    system = model.dynamics(params, Control())
    raised = torch.tensor([(i + j) % 2 for j in range(9) for i in range(9)]).double()
    curvature = 1e-4
    flat = torch.tensor(sheet.vertices)

    def inner_force(s: float) -> float:
        x = flat.clone()
        x[:, 1] = 0.5 * curvature * flat[:, 0] ** 2 + 0.5 * s * raised
        f = system.force(x, torch.zeros_like(x))[:, 1].reshape(9, 9)
        return float(f[4, 4])

    found = [sign for sign in (-1.0, 1.0) if abs(inner_force(sign * curvature / 6)) < 1e-5 * curvature]
    assert len(found) == 1, "only one of the two kinds of corners gives way, and by just this much"


@pytest.mark.parametrize(("drag", "lift"), [(0.8, 0.0), (0.5, 0.7)])
def test_terminal_velocity(drag, lift):
    """Face on, (drag + lift) A v^2 balances the weight: v = sqrt(density g / (drag + lift))."""
    density = 0.3
    model = ClothModel(grid((5, 4), (0.5, 0.4)))
    params = model.params(torch.float64, drag=drag, lift=lift, density=density)
    path = simulate(model, params, dt=1e-3, steps=3000, save=[3000])
    speed = -path.u[-1, :, 1]
    expected = math.sqrt(density * GRAVITY / (drag + lift))
    print(f"terminal velocity: {float(speed.mean()):.6f} m/s, closed form {expected:.6f} m/s")
    assert speed.numpy() == pytest.approx(expected, rel=1e-3)


def test_wind_carries_a_sheet_along():
    """A sheet without weight, face on in a steady wind, ends up as fast as the wind."""
    model = ClothModel(grid((3, 3), plane="zy"))
    params = model.params(torch.float64, drag=2.0, wind=(3.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0))
    path = simulate(model, params, dt=1e-3, steps=4000, save=[0, 1000, 4000])
    speed = path.u[:, :, 0].mean(dim=1)
    # du/dt = -(drag / density) (w - u)^2 from rest: the lag is w / (1 + w t drag / density).
    for k, t in ((1, 1.0), (2, 4.0)):
        assert float(3.0 - speed[k]) == pytest.approx(3.0 / (1.0 + 3.0 * t * 2.0 / 0.2), rel=0.02)
