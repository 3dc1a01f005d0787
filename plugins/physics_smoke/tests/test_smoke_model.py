"""Smoke: against a plain PyTorch implementation, against exact solutions, and for wrong input."""

import importlib.util
from pathlib import Path

import pytest
import torch

from diffloom import get_model, simulate
from diffloom.interfaces import InputError
from diffloom_kernels import set_num_threads, threads
from diffloom_physics_smoke.flow import Flow

ROOT = Path(__file__).resolve().parents[3]
BOUNDARIES = ["periodic", "walls"]
ROWS, COLUMNS = 7, 10


def reference():
    found = importlib.util.spec_from_file_location("smoke_torch", ROOT / "benchmarks" / "smoke_torch.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def made(boundary, rows=ROWS, columns=COLUMNS, spacing=0.25):
    return get_model("smoke")(rows, columns, spacing, boundary=boundary, smoke="plume")


def random(*shape, seed=3):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def divergence(u, rows, columns):
    w = u.reshape(rows, columns, 2)
    return w[..., 0].roll(-1, 1) - w[..., 0] + w[..., 1].roll(-1, 0) - w[..., 1]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_values_and_gradients_are_those_of_plain_pytorch(boundary):
    model, walls = made(boundary), boundary == "walls"
    density = torch.rand(ROWS * COLUMNS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    values = {
        "density": density, "velocity": 0.8 * random(ROWS * COLUMNS, 2), "buoyancy": torch.tensor(0.6).double(),
        "dissipation": torch.tensor(0.3).double(),
    }  # fmt: skip
    one, two = ({k: v.clone().requires_grad_() for k, v in values.items()} for _ in range(2))
    path = simulate(model, model.params(torch.float64, **one), dt=0.1, steps=8, save=(8,))
    q, u = reference().rollout(
        two["density"].reshape(ROWS, COLUMNS), two["velocity"].reshape(ROWS, COLUMNS, 2), 0.1 / 0.25, 8, walls,
        0.1 * two["buoyancy"], 1.0 / (1.0 + 0.1 * two["dissipation"]),
    )  # fmt: skip
    assert float((path.q[0].reshape(ROWS, COLUMNS) - q).detach().abs().max()) < 1e-13
    assert float((path.u[0].reshape(ROWS, COLUMNS, 2) - u).detach().abs().max()) < 1e-13
    weights = random(ROWS * COLUMNS, 3, seed=5)
    (path.q[0] * weights[:, :1] + path.u[0] * weights[:, 1:]).sum().backward()
    shaped = weights.reshape(ROWS, COLUMNS, 3)
    (q[..., None] * shaped[..., :1] + u * shaped[..., 1:]).sum().backward()
    for name in values:
        size = float(two[name].grad.abs().max())
        assert size > 1e-3, name
        assert float((one[name].grad - two[name].grad).abs().max()) < 1e-12 * size, name


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("rows, columns", [(2, 2), (5, 8), (8, 5), (9, 7)])
def test_the_projection_leaves_no_divergence_and_projects(rows, columns, walls):
    flow = Flow(rows, columns, 1.0, walls)
    velocity, other = random(rows * columns, 2), random(rows * columns, 2, seed=4)
    found = flow.project(velocity)
    assert float(divergence(found, rows, columns).abs().max()) < 1e-14
    assert float((flow.project(found) - found).abs().max()) < 1e-14
    assert float((found * other).sum() - (velocity * flow.project(other)).sum()) == pytest.approx(0.0, abs=1e-13)
    if walls:
        w = found.reshape(rows, columns, 2)
        assert not w[:, 0, 0].any() and not w[0, :, 1].any()
    else:
        steady = torch.tensor([0.3, -0.2], dtype=torch.float64).expand(rows * columns, 2).contiguous()
        assert float((flow.project(steady) - steady).abs().max()) < 1e-15


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_gradients_agree_with_differences(boundary):
    model = get_model("smoke")(6, 5, 0.25, boundary=boundary, smoke="layer")
    values = {"velocity": 0.5 * random(30, 2), "buoyancy": torch.tensor(0.4).double()}
    traced = {k: v.clone().requires_grad_() for k, v in values.items()}
    weights = random(30, 1, seed=7)

    def end(given):
        path = simulate(model, model.params(torch.float64, **given), dt=0.1, steps=6, save=(6,))
        return (path.q[0] * weights).sum()

    end(traced).backward()
    for name, value in values.items():
        way = random(*value.shape, seed=9)
        slope = float((traced[name].grad * way).sum())
        assert abs(slope) > 1e-4
        off = []
        for step in (1e-6, 1e-5):  # short ones drown in rounding, long ones cross kinks
            ends = [float(end({**values, name: value + sign * step * way})) for sign in (1.0, -1.0)]
            off.append(abs((ends[0] - ends[1]) / (2.0 * step) / slope - 1.0))
        assert min(off) < 1e-6, name


def test_a_steady_wind_moves_smoke_by_whole_cells_exactly():
    model = made("periodic", spacing=0.5)
    wind = torch.tensor([5.0, -5.0], dtype=torch.float64)  # two cells a step, the other way up and down
    path = simulate(model, model.params(torch.float64, velocity=wind), dt=0.2, steps=3)
    start, end = path.q[0].reshape(ROWS, COLUMNS), path.q[-1].reshape(ROWS, COLUMNS)
    assert float((end - start.roll((-6, 6), (0, 1))).abs().max()) < 1e-12


def test_warm_smoke_rises_and_a_wall_holds_it():
    model = made("walls", 24, 16, 1 / 24)
    path = simulate(model, model.params(torch.float64, buoyancy=2.0), dt=0.05, steps=80, save=(0, 20, 80))
    height = (torch.arange(24) + 0.5) / 24
    rows = path.q.reshape(3, 24, 16).sum(2)
    middle = (rows * height).sum(1) / rows.sum(1)
    assert middle[1] > middle[0] + 0.05 and middle[2] > middle[1] + 0.1
    assert float(path.q.min()) >= 0.0 and float(path.q.max()) <= 1.0


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setenv("DIFFLOOM_PARALLEL_FROM", "0")
    model, before = made("walls", 40, 32), threads().count
    found = []
    try:
        for count in (1, 2):
            set_num_threads(count)
            velocity = random(1280, 2).requires_grad_()
            path = simulate(model, model.params(torch.float64, velocity=velocity), dt=0.05, steps=5, save=(5,))
            path.q.square().sum().backward()
            found.append((path.q.detach(), velocity.grad))
    finally:
        set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_smoke_may_begin_as_an_image(tmp_path):
    from PIL import Image

    image = Image.new("L", (10, 8), 0)
    image.paste(255, (0, 0, 10, 4))
    image.save(tmp_path / "half.png")
    model = get_model("smoke")(4, 5, 0.1, smoke=str(tmp_path / "half.png"))
    assert model.params()["density"].reshape(4, 5)[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0]  # dark below, bright above


@pytest.mark.parametrize(
    "settings, told",
    [({"rows": 1}, "at least 2 x 2"), ({"boundary": "open"}, "boundary"), ({"smoke": "lettr"}, "neither a pattern")],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(InputError, match=told):
        get_model("smoke")(**settings)
