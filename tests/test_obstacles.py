"""Obstacles on every kind of model: like the ground, like formulas, and found from pixels by an experiment file."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from diffloom import get_model, simulate
from diffloom.interfaces import Control, InputError, NoGradient, State
from diffloom.plugins import models
from diffloom_experiments import build_experiment, build_scene, load_file
from diffloom_fitting.fits import run_fit
from diffloom_mechanics import TermContext, WithTerms, get_term

DOUBLE = {"dtype": torch.float64}
HOSTS = ("springs", "fem", "cloth", "rigid")


def state_of(model, params):
    start = model.initial_state(params)
    broadcast = torch.linspace(0.0, 9.0, start.u.numel(), **DOUBLE).reshape(start.u.shape)
    return State(start.q, start.u + 0.4 * torch.sin(3.0 * broadcast))


@pytest.mark.parametrize("name", HOSTS)
def test_a_plane_obstacle_equals_the_ground(name):
    inner = get_model(name).example()
    values = get_model(name).example_settings.values
    lowest = float(inner.initial_state(inner.params(torch.float64, **values)).q[:, 1].min())
    height, normal = lowest + 0.05, (0.1, 1.5, -0.2)
    unit = torch.nn.functional.normalize(torch.tensor(normal, **DOUBLE), dim=0)
    grounded = inner.params(
        torch.float64, **{**values, "ground_height": height * float(unit[1]), "ground_normal": normal}
    )
    state = state_of(inner, grounded)
    by_ground = inner.dynamics(grounded, Control()).force(state.q, state.u, dt=1e-3)

    model = WithTerms(inner, {"plane": get_term("plane")(position=(0.0, height, 0.0), normal=normal)})
    params = model.params(torch.float64, **{**values, "ground_height": -100.0})
    by_plane = model.dynamics(params, Control()).force(state.q, state.u, dt=1e-3)
    bare = inner.dynamics(inner.params(torch.float64, **{**values, "ground_height": -100.0}), Control())
    assert float((by_plane - bare.force(state.q, state.u, dt=1e-3)).abs().max()) > 1e-3
    torch.testing.assert_close(by_plane, by_ground, rtol=1e-11, atol=1e-11 * float(by_ground.abs().max()))


def test_a_rigid_ball_on_a_ball_is_pushed_along_the_line_of_centres():
    inner = get_model("rigid")([{"shape": "sphere", "radius": 0.2, "mass": 1.0}], ground=False)
    model = WithTerms(inner, {"it": get_term("sphere")(radius=0.5, position=(0.1, -0.3, 0.2), contact_stiffness=1e3)})
    place = torch.tensor([0.3, 0.25, -0.1], **DOUBLE)
    params = model.params(torch.float64, position=place[None])
    state = model.initial_state(params)
    force = model.dynamics(params, Control()).force(state.q, state.u)[0]
    away = place - torch.tensor([0.1, -0.3, 0.2], **DOUBLE)
    depth = 0.7 - float(away.norm())
    assert depth > 0.0
    torch.testing.assert_close(force[:3], 1e3 * depth * away / away.norm())
    torch.testing.assert_close(force[3:], torch.zeros(3, **DOUBLE), atol=1e-12, rtol=0.0)


@pytest.mark.parametrize("shape", ["torus", "banana", "chair", "capsule"])
@pytest.mark.parametrize("kind", ["sphere", "box", "mesh"])
def test_no_contact_point_is_left_out_early(kind, shape):
    inner = get_model("rigid")([{"shape": shape, "orientation": [0.8, 0.3, -0.2, 0.4]}], ground=False)
    params = inner.params(torch.float64)
    nodes = inner.dynamics(params, Control()).nodes
    context = TermContext(inner, params, nodes)
    term = get_term(kind).example(context)
    made = WithTerms(inner, {"it": term})
    system = made.dynamics(made.params(torch.float64), Control())
    careful = replace(system.terms[-1], constants=(np.array([np.inf]), *system.terms[-1].constants[1:]))
    state, touched = state_of(inner, params), 0
    for lift in torch.linspace(-0.3, 0.3, 13, **DOUBLE):
        q = state.q.clone()
        q[0, 1] += lift
        quick = replace(system, terms=(system.terms[-1],)).force(q, state.u)
        touched += int(float(quick.abs().max()) > 0.0)
        assert torch.equal(quick, replace(system, terms=(careful,)).force(q, state.u))
    assert 2 <= touched <= 12


def test_a_box_comes_to_rest_on_a_tilted_box():
    tilt, up = (1.0, 0.0, 0.0, 0.05), [-0.0998, 0.995, 0.0]
    body = {
        "shape": "box",
        "size": [0.2, 0.1, 0.2],
        "position": [0.352 * n for n in up],
        "orientation": tilt,
        "mass": 2.0,
    }
    inner = get_model("rigid")([body], ground=False)
    model = WithTerms(inner, {"table": get_term("box")(size=(2.0, 0.6, 2.0), orientation=tilt)})
    params = model.params(torch.float64)
    dt = inner.suggested_dt()
    steps = round(2.0 / dt)
    end = simulate(model, params, dt=dt, steps=steps, save=(steps - round(0.1 / dt), steps), gradient=NoGradient())
    force = model.dynamics(params, Control()).force(end.q[-1], end.u[-1])[0]
    torch.testing.assert_close(force[:3], torch.tensor([0.0, 2.0 * 9.81, 0.0], **DOUBLE), atol=0.05, rtol=0.0)
    assert float((end.q[1] - end.q[0]).abs().max()) < 1e-2  # it sticks, but for the creep of relaxed friction


@pytest.mark.parametrize("scheme", ["semi_implicit", "backward_euler"])
def test_a_sheet_drapes_over_a_ball_and_stays_outside(scheme):
    sheet = get_model("cloth")({"shape": "grid", "cells": [6, 6], "size": [0.6, 0.6]})
    model = WithTerms(sheet, {"ball": get_term("sphere")(radius=0.25, position=(0.02, -0.27, 0.01))})
    params = model.params(torch.float64, **{"ball.friction": 0.8, "ball.contact_stiffness": 500.0})
    radius = torch.tensor(0.25, **DOUBLE, requires_grad=True)
    path = simulate(
        model, params.replace(**{"ball.radius": radius}), dt=1e-3, steps=250, save=(250,), integrator=scheme
    )
    depth = 0.25 - (path.q[0].detach() - torch.tensor([0.02, -0.27, 0.01], **DOUBLE)).norm(dim=1)
    assert 0.0 < float(depth.max()) < 0.01
    assert float(path.q[0, :, 1].detach().min()) < -0.1
    (slope,) = torch.autograd.grad(path.q[0, 24, 1], radius)
    assert float(slope) > 0.5  # its middle rests on the ball's top


def test_a_particle_rolls_along_a_height_field_at_its_height():
    heights = [[0.3 * float(np.cos(0.8 * x)) for _ in range(7)] for x in range(7)]
    inner = get_model("springs")([[0.3, 1.0, 0.1]], [], on_ground=False)
    field = get_term("height_field")(heights=heights, spacing=0.5, friction=0.0)
    model = WithTerms(inner, {"hills": field})
    params = model.params(torch.float64)
    path = simulate(model, params, dt=1e-3, steps=4000, save=(3900, 3950, 4000))
    assert float(path.q[:, 0, 1].max()) < 0.4
    assert float(path.q[:, 0, 1].min()) > -0.35
    assert path.q[-1, 0, 2] == pytest.approx(0.1)  # the hills do not change along z


def test_a_mesh_obstacle_of_a_box_equals_the_box_obstacle():
    import trimesh

    inner = get_model("springs").example()
    values = {"position": (0.3, -0.4, 0.1), "orientation": (1.0, 0.1, 0.0, 0.2)}
    solid = trimesh.creation.box((1.0, 1.0, 1.0))
    terms = [get_term("box")(**values), get_term("mesh")(mesh=solid, cells=24, **values)]
    forces = []
    for term in terms:
        model = WithTerms(inner, {"it": term})
        params = model.params(torch.float64, ground_height=-10.0, gravity=(0.0, 0.0, 0.0))
        state = state_of(model, params)
        forces.append(model.dynamics(params, Control()).force(state.q - torch.tensor([0.0, 0.06, 0.0]), state.u))
    assert float((forces[0] - forces[1]).abs().max()) < 0.02 * float(forces[0].abs().max())


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("height_field", {"heights": [[0.0, 1.0]]}, ["heights", "3 or more"]),
        ("height_field", {"heights": np.zeros((4, 4)), "spacing": 0.0}, ["spacing", "above 0"]),
        ("mesh", {"mesh": "nowhere.obj"}, ["nowhere.obj"]),
        ("mesh", {"mesh": 3}, ["mesh", "trimesh"]),
        ("mesh", {"mesh": ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])}, ["open"]),
        ("capsule", {"orientation": (0.0, 0.0, 0.0, 0.0)}, ["orientation", "length 0"]),
    ],
)
def test_invalid_obstacles_are_refused(kind, settings, words):
    def run():
        simulate(WithTerms(get_model("springs").example(), {"it": get_term(kind)(**settings)}), dt=1e-3, steps=1)

    with pytest.raises(InputError) as error:
        run()
    assert all(word in str(error.value) for word in words), error.value


FILE = """
[model]
name = "springs"
positions = [[-0.2, 0.1, 0.0], [0.0, 0.1, 0.0], [0.2, 0.1, 0.0], [-0.1, 0.1, 0.2], [0.1, 0.1, 0.2]]
springs = [[0, 1], [1, 2], [0, 3], [1, 3], [1, 4], [2, 4], [3, 4]]
on_ground = false
[[terms]]
name = "ball"
kind = "sphere"
position = [0.02, -0.2, 0.05]
contact_stiffness = 200.0
[params]
stiffness = 50.0
[params.ball]
friction = 0.3
[time]
dt = "1/500"
steps = 120
[camera]
distance = 1.0
elevation = 15
size = [24, 24]
[target]
rate = 25
[truth]
ball.radius = 0.22
[unknowns.ball.radius]
start = "0.2 m"
[[stages]]
optimiser = "gauss_newton"
iterations = 15
"""


def written(folder, text=FILE):
    path = folder / "ball.toml"
    path.write_text(text)
    return path


def test_an_experiment_file_adds_terms_and_finds_their_parameters(tmp_path):
    experiment = build_experiment(load_file(written(tmp_path)))
    params = experiment.scene.params
    assert float(params["ball.friction"]) == 0.3
    assert float(params["ball.contact_stiffness"]) == 200.0
    assert [unknown.name for unknown in experiment.unknowns] == ["ball.radius"]
    result = run_fit(experiment)
    (estimate,) = result.estimates
    assert estimate.name == "ball.radius"
    assert estimate.error < 1e-3


def test_settings_in_a_file_reach_a_term(tmp_path):
    loaded = load_file(written(tmp_path), settings=["terms.0.position=[0.0,-0.5,0.0]", "params.ball.friction=0.9"])
    params = build_scene(loaded).params
    assert params["ball.position"].tolist() == [0.0, -0.5, 0.0]
    assert float(params["ball.friction"]) == 0.9


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "sphere"', 'kind = "spere"', ["there is no term 'spere'", "sphere"]),
        ("contact_stiffness = 200.0", "stiffness = 2.0", ["terms.0.stiffness", "contact_stiffness"]),
        ("ball", "camera", ["'camera'", "another"]),
        ("friction = 0.3", "frictoin = 0.3", ["ball.frictoin", "ball.friction"]),
        ("[unknowns.ball.radius]", "[unknowns.ball.diameter]", ["ball.diameter", "ball.radius"]),
        ('kind = "sphere"', 'kind = "sphere"\non = "up"', ["no node set 'up'"]),
    ],
)
def test_mistakes_in_terms_are_explained(tmp_path, old, new, words):
    assert old in FILE
    with pytest.raises(Exception) as error:
        build_experiment(load_file(written(tmp_path, FILE.replace(old, new))))
    assert all(word in str(error.value) for word in words), error.value


def test_terms_are_listed_and_checked_on_the_command_line():
    def diffloom(*arguments):
        return subprocess.run([sys.executable, "-m", "diffloom", *arguments], capture_output=True, text=True)

    listed = diffloom("plugins", "--json").stdout
    assert all(f'"{kind}"' in listed for kind in ("sphere", "box", "capsule", "plane", "height_field", "mesh"))
    checked = diffloom("plugins", "check", "plane", "--family", "declarations", "--family", "claims")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 failed" in checked.stdout


def test_the_models_named_here_are_installed():
    assert set(HOSTS) <= set(models())
