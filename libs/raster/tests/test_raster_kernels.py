"""The kernels' lighting and sampling against the same in PyTorch, values and cotangents, as lanes and as scalars."""

import numpy as np
import pytest
import torch

from diffloom.interfaces import DirectionalLight, HarmonicLight, Material, PointLight, Texture
from diffloom_kernels import Program, device, launch, launch_lanes, ld3, st3
from diffloom_raster import shade
from diffloom_raster.kernels import (
    alll,
    expv,
    extract_lane,
    first_index,
    light_row_adjoint,
    logv,
    run_width,
    sample,
    sample_texels_adjoint,
    sum_light,
    sum_light_with_adjoint,
    total,
)
from diffloom_raster.records import Lights, Texels

D = torch.float64
COUNT = 19  # two runs of lanes and a rest


@device
def lit(e, vectors, table, phong, diffuse, specular):
    n, view, position = ld3(vectors[0], e), ld3(vectors[1], e), ld3(vectors[2], e)
    d, s = sum_light(0, n, view, position, table, phong)
    st3(diffuse, e, d)
    st3(specular, e, s)


@device
def lit_adjoint(e, vectors, table, phong, adj_d, adj_s, adj_vectors, adj_rows):
    n, view, position = ld3(vectors[0], e), ld3(vectors[1], e), ld3(vectors[2], e)
    d, s = ld3(adj_d, e), ld3(adj_s, e)
    lit, gloss, a, b, c = sum_light_with_adjoint(0, n, view, position, table, phong, d, s)
    st3(adj_vectors[0], e, a)
    st3(adj_vectors[1], e, b)
    st3(adj_vectors[2], e, c)
    for k in range(table.kinds.shape[0]):
        p, q, r, t = light_row_adjoint(0, k, n, view, position, table, phong, d, s)
        adj_rows[k, 0, e], adj_rows[k, 1, e], adj_rows[k, 2, e] = p
        adj_rows[k, 3, e], adj_rows[k, 4, e], adj_rows[k, 5, e] = q
        adj_rows[k, 6, e], adj_rows[k, 7, e], adj_rows[k, 8, e] = r
        adj_rows[k, 9, e] = t


@device
def sampled(e, uv, texels, colour, by_u, by_v):
    c, u, v = sample(uv[e, 0], uv[e, 1], 0, texels)
    st3(colour, e, c)
    st3(by_u, e, u)
    st3(by_v, e, v)


@device
def scattered(i, n, uv, texels, adj, adj_image):
    for e in range(n):
        sample_texels_adjoint(uv[e, 0], uv[e, 1], 0, texels, ld3(adj, e), i, adj_image)


@device
def powers(e, x, exps, logs):
    exps[e] = expv(x[e])
    logs[e] = logv(exps[e])


@device
def facts(e, x, sums, starts, every, picked):
    i = first_index(e) // run_width(e)
    sums[i], starts[i] = total(x[e]), first_index(e)
    every[i] = alll(x[e] > x.dtype.type(-1.0))
    picked[i] = extract_lane(x[e], run_width(e) - 1)


def light_scalars(n, vectors, table, phong, diffuse, specular):
    launch(n, lit, vectors, table, phong, diffuse, specular)


def light_lanes(n, vectors, table, phong, diffuse, specular):
    launch_lanes(n, lit, vectors, table, phong, diffuse, specular)


def light_adjoint_scalars(n, vectors, table, phong, adj_d, adj_s, adj_vectors, adj_rows):
    launch(n, lit_adjoint, vectors, table, phong, adj_d, adj_s, adj_vectors, adj_rows)


def light_adjoint_lanes(n, vectors, table, phong, adj_d, adj_s, adj_vectors, adj_rows):
    launch_lanes(n, lit_adjoint, vectors, table, phong, adj_d, adj_s, adj_vectors, adj_rows)


def sample_lanes(n, uv, texels, colour, by_u, by_v):
    launch_lanes(n, sampled, uv, texels, colour, by_u, by_v)


def sample_scalars(n, uv, texels, colour, by_u, by_v):
    launch(n, sampled, uv, texels, colour, by_u, by_v)


def scatter(n, uv, texels, adj, adj_image):
    launch(1, scattered, n, uv, texels, adj, adj_image)


def power_lanes(n, x, exps, logs):
    launch_lanes(n, powers, x, exps, logs)


def power_scalars(n, x, exps, logs):
    launch(n, powers, x, exps, logs)


def run_facts(n, x, sums, starts, every, picked):
    launch_lanes(n, facts, x, sums, starts, every, picked)


program = Program(
    "test_raster_kernels",
    (
        light_scalars, light_lanes, light_adjoint_scalars, light_adjoint_lanes, sample_lanes, sample_scalars, scatter,
        power_lanes, power_scalars, run_facts,
    ),
)  # fmt: skip


def scene(with_harmonics, dtype=D):
    draw = torch.Generator().manual_seed(5)
    n = torch.nn.functional.normalize(torch.randn((COUNT, 3), generator=draw, dtype=D), dim=-1)
    position = 0.5 * torch.randn((COUNT, 3), generator=draw, dtype=D)
    eye = torch.tensor([0.4, 1.0, 2.0], dtype=D)
    lamp, direction = torch.tensor([1.0, 2.0, 1.5], dtype=D), torch.tensor([0.2, 0.7, 1.0], dtype=D)
    colours = torch.rand((2, 2, 3), generator=draw, dtype=D)
    sh = torch.randn((9 if with_harmonics else 0, 3), generator=draw, dtype=D)
    shininess = torch.tensor([5.0], dtype=D)
    return tuple(t.to(dtype) for t in (n, position, eye, lamp, direction, colours, sh, shininess))


def by_torch(n, view, position, lamp, direction, colours, sh, shininess, phong):
    """Diffuse and specular light, told apart by surface colours of one and zero."""
    lights = [PointLight(lamp, *colours[0]), DirectionalLight(direction, *colours[1])]
    if len(sh):
        lights.append(HarmonicLight(sh))
    material = Material("phong" if phong else "lambert", shininess=shininess[0])
    eye = position.detach() + view
    # The view direction is an input of its own here: shade sees the position only through the lamp.
    one, zero = torch.ones_like(n), torch.zeros_like(n)
    both = shade(one, position, n, eye + position - position.detach(), material, lights)
    specular = shade(zero, position, n, eye + position - position.detach(), material, lights)
    return both - specular, specular


@pytest.mark.parametrize("way", ["scalars", "lanes"])
@pytest.mark.parametrize("phong", [0, 1])
@pytest.mark.parametrize("with_harmonics", [False, True])
def test_lighting_is_that_of_torch(way, phong, with_harmonics):
    n, position, eye, lamp, direction, colours, sh, shininess = scene(with_harmonics)
    view = torch.nn.functional.normalize(eye - position, dim=-1)
    inputs = [t.clone().requires_grad_() for t in (n, view, position, lamp, direction, colours, sh, shininess)]
    want = by_torch(*inputs, phong)
    assert (want[0] > 0.05).any() and (not phong or (want[1] > 0.01).any())
    kinds, rows = np.array([0, 1], np.int32), table_of(lamp, direction, colours)
    table = Lights(np.zeros((1, 3)), kinds, rows[None], sh.numpy()[None], shininess.numpy()[None])
    vectors = (n.numpy(), view.numpy(), position.numpy())
    got = np.zeros((COUNT, 3)), np.zeros((COUNT, 3))
    program.run(f"light_{way}", COUNT, vectors, table, phong, *got)
    assert np.allclose(got[0], want[0].detach(), atol=1e-13)
    assert np.allclose(got[1], want[1].detach(), atol=1e-13)

    adj = torch.randn((2, COUNT, 3), generator=torch.Generator().manual_seed(8), dtype=D)
    grads = torch.autograd.grad((torch.stack(want) * adj).sum(), inputs, allow_unused=True)
    out = tuple(np.zeros((COUNT, 3)) for _ in range(3))
    rows = np.zeros((2, 10, COUNT))
    program.run(f"light_adjoint_{way}", COUNT, vectors, table, phong, adj[0].numpy(), adj[1].numpy(), out, rows)
    # shade scales n and view to length one itself: compare the rest of the cotangents along the sphere.
    for mine, theirs, direction_of in ((out[0], grads[0], n), (out[1], grads[1], view)):
        flat = mine - (mine * direction_of.numpy()).sum(-1, keepdims=True) * direction_of.numpy()
        assert np.allclose(flat, 0.0 if theirs is None else theirs, atol=1e-12)
    assert np.allclose(out[2], grads[2], atol=1e-12)
    sums = rows.sum(-1)
    assert np.allclose(sums[0, :3], grads[3], atol=1e-12)
    assert np.allclose(sums[1, :3], grads[4], atol=1e-12)
    assert np.allclose(sums[:, 3:9].reshape(2, 2, 3), grads[5], atol=1e-12)
    assert np.allclose(sums[:, 9].sum(), 0.0 if grads[7] is None else grads[7], atol=1e-12)


def sampled_by_torch(texture, uv):
    """The texture's formulas once more, in plain torch."""
    image = texture.image
    height, width = image.shape[:2]
    x, y = (texel(p, n, texture.corners) for p, n in ((uv[..., 0], width), (1.0 - uv[..., 1], height)))
    flat = image.reshape(-1, 3)
    if texture.filter == "nearest":
        return flat[torch.round(y.detach()).long() * width + torch.round(x.detach()).long()]
    left, top = (p.detach().floor().long().clamp(0, max(n - 2, 0)) for p, n in ((x, width), (y, height)))
    fx, fy = (x - left)[..., None], (y - top)[..., None]
    index, right, below = top * width + left, int(width > 1), width * int(height > 1)
    upper = torch.lerp(flat[index], flat[index + right], fx)
    return torch.lerp(upper, torch.lerp(flat[index + below], flat[index + below + right], fx), fy)


def texel(place, size, corners):
    scaled = place * (size - 1) if corners else place * size - 0.5
    return scaled.clamp(0.0, float(size - 1))


def table_of(lamp, direction, colours):
    return torch.cat([torch.stack([lamp, direction]), colours.reshape(2, 6)], dim=1).numpy()


@pytest.mark.parametrize("way", ["scalars", "lanes"])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("bilinear", [0, 1])
@pytest.mark.parametrize("size", [(4, 5), (1, 3), (3, 1)])
def test_sampling_is_that_of_torch(way, corners, bilinear, size):
    draw = torch.Generator().manual_seed(3)
    image = torch.rand((*size, 3), generator=draw, dtype=D, requires_grad=True)
    uv = (torch.rand((COUNT, 2), generator=draw, dtype=D) * 1.3 - 0.15).requires_grad_()
    texture = Texture(image, uv, filter="bilinear" if bilinear else "nearest", corners=bool(corners))
    want = sampled_by_torch(texture, uv)
    adj = torch.randn((COUNT, 3), generator=draw, dtype=D)
    grads = torch.autograd.grad((want * adj).sum(), (image, uv), allow_unused=True)
    colour, by_u, by_v = (np.zeros((COUNT, 3)) for _ in range(3))
    texels, points = Texels(corners, bilinear, size[0], 0, image.detach().numpy()), uv.detach().numpy()
    program.run(f"sample_{way}", COUNT, points, texels, colour, by_u, by_v)
    assert np.allclose(colour, want.detach(), atol=1e-13)
    slopes = np.stack([(by_u * adj.numpy()).sum(-1), (by_v * adj.numpy()).sum(-1)], axis=-1)
    assert np.allclose(slopes, 0.0 if grads[1] is None else grads[1], atol=1e-12)
    adj_image = np.zeros((1, *size, 3))
    program.run("scatter", COUNT, points, texels, adj.numpy(), adj_image)
    assert np.allclose(adj_image[0], grads[0], atol=1e-12)


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 85.0), (np.float64, 700.0)])
def test_powers_are_right_to_little_more_than_an_ulp(dtype, limit):
    x = np.linspace(-limit, limit, 40001).astype(dtype)
    exps, logs = np.zeros_like(x), np.zeros_like(x)
    program.run("power_lanes", len(x), x, exps, logs)
    true = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(exps - true) / true) < 0.8 * np.finfo(dtype).eps
    true = np.log(exps.astype(np.longdouble))
    assert np.max(np.abs(logs - true) / np.maximum(np.abs(true), 1e-2)) < 1.5 * np.finfo(dtype).eps
    again = np.zeros_like(x), np.zeros_like(x)
    program.run("power_scalars", len(x), x, *again)
    assert (again[0] == exps).all()
    assert (again[1] == logs).all()


def test_exp_is_limited_and_not_infinite():
    for dtype in (np.float32, np.float64):
        x = np.array([-np.inf, -1e6, 1e6, np.inf, 0.0, -0.0, 1.0, -1.0], dtype)
        exps, logs = np.zeros_like(x), np.zeros_like(x)
        program.run("power_lanes", len(x), x, exps, logs)
        assert np.isfinite(exps).all()
        assert (exps > 0).all()
        assert exps[4] == exps[5] == 1.0


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 8), (np.float64, 4)])
def test_facts_of_a_run(dtype, width):
    x = np.arange(16, dtype=dtype)
    x[9] = -5.0
    count = 16 // width
    sums, picked = np.zeros(count, dtype), np.zeros(count, dtype)
    starts, every = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    program.run("run_facts", 16, x, sums, starts, every, picked)
    blocks = x.reshape(count, width)
    assert (sums == blocks.sum(1)).all()
    assert (starts == np.arange(0, 16, width)).all()
    assert (every == (blocks > -1).all(1)).all()
    assert (picked == blocks[:, -1]).all()
