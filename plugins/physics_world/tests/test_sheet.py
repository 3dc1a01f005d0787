"""Bodies that fall on a sheet: a ball at the order of the scheme, a box whose corners stay above."""

import itertools

import torch

from diffloom import get_integrator, get_model, simulate
from diffloom.interfaces import NoGradient
from diffloom_kernels import num_threads, set_num_threads
from diffloom_physics_world.model import World

DOUBLE = torch.float64
RIM = ["left", "right", "top", "bottom"]
SHEET = {"sheet.density": 0.4, "sheet.shear_modulus": 300.0, "sheet.lame_modulus": 300.0, "sheet.damping": 0.5}


def scene(body, cells):
    mesh = {"shape": "grid", "cells": [cells, cells], "size": [0.8, 0.8]}
    bodies = {"ball": get_model("rigid")([body], ground=False), "sheet": get_model("cloth")(mesh, pins=RIM)}
    return World(bodies)


def test_a_ball_on_a_sheet_follows_a_fine_reference_at_the_order_of_the_scheme():
    world = scene({"shape": "sphere", "radius": 0.12, "mass": 0.3, "position": [0.03, 0.14, -0.02]}, 8)
    params = world.params(DOUBLE, **SHEET)

    def end(parts):
        steps = 480 * parts
        path = simulate(world, params, dt=0.24 / steps, steps=steps, save=(steps,), gradient=NoGradient())
        return torch.cat([path["ball"].q.reshape(-1), path["sheet"].q.reshape(-1)])

    exact = end(128)
    errors = [float((end(parts) - exact).norm()) for parts in (4, 8, 16)]
    assert float(exact[1]) < 0.09  # it has come down, sunk in, and touches
    assert all(1.7 < a / b < 2.3 for a, b in itertools.pairwise(errors)), errors


def test_a_box_does_not_pass_between_the_vertices_of_a_sheet():
    # Its width is a third of a cell: it meets no vertex on its way.
    box = {"shape": "box", "size": [0.07, 0.07, 0.07], "mass": 0.03, "position": [0.12, 0.08, 0.07]}
    world = scene(box | {"orientation": [0.9, 0.3, 0.1, 0.2]}, 4)
    params = world.params(DOUBLE, **SHEET)
    dt = 5e-5
    assert dt < 2.0 * world.suggested_dt(params)
    path = simulate(world, params, dt=dt, steps=6000, save_every=500, gradient=NoGradient())
    lowest = path["sheet"].q[:, :, 1].min(dim=1).values
    assert float((path["ball"].q[:, 0, 1] - lowest).min()) > 0.0


def test_any_number_of_threads_gives_the_same_bits_where_triangles_touch(monkeypatch):
    monkeypatch.setattr("diffloom_kernels.backends.threads._count_processors", lambda: 3)
    world = scene({"shape": "sphere", "radius": 0.12, "position": [0.03, 0.118, -0.02], "velocity": [0.5, -1, 0]}, 8)
    leaf = torch.tensor([0.3], dtype=DOUBLE, requires_grad=True)
    params = world.params(DOUBLE, **SHEET, **{"ball.mass": leaf})
    found, before = [], num_threads()
    try:
        for target, count in (("serial", 1), ("parallel", 1), ("parallel", 2), ("parallel", 3)):
            set_num_threads(count)
            scheme = get_integrator("semi_implicit")(target=target)
            path = simulate(world, params, dt=2e-4, steps=60, save=(60,), integrator=scheme)
            total = path["sheet"].q.square().sum() + path["ball"].u.square().sum()
            found.append((path["sheet"].q.detach(), path["ball"].u.detach(), torch.autograd.grad(total, leaf)[0]))
    finally:
        set_num_threads(before)
    assert float(found[0][1][0, 0, 3:].abs().max()) > 1e-3  # friction turns the ball
    assert float(found[0][2]) != 0.0
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
