"""Contact forces that a viewer shows are those that act: a body at rest is carried by them."""

import numpy as np
import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import Trajectory
from diffloom.plugins import get_model, get_renderer
from diffloom_studio.playback import Playback, PlaybackBody, compute_contact_forces


def at_rest(model, params, dt, steps):
    view = fitting.Orbit(distance=2.0, size=(8, 8))
    scene = fitting.Scene(model, get_renderer("softras")(), view, params, dt=dt, steps=steps)
    times = torch.tensor([0.0, steps * dt], dtype=torch.float64)
    target = fitting.Target(times, torch.zeros(2, 8, 8, 3))
    playback = Playback(fitting.Experiment(scene, target, [fitting.Unknown("mass", 0.2)]), {"start": {}})
    body = playback.body("start", times)
    return body, compute_contact_forces(scene, body)


def test_the_ground_carries_particles_at_rest():
    model = get_model("springs")([[0.0, 0.2, 0.0], [0.3, 0.2, 0.0]], [[0, 1]], contact="linear")
    params = model.params(torch.float64, mass=0.2, contact_damping=4.0)
    body, (first, last) = at_rest(model, params, 2e-4, 20000)
    assert len(first.points) == 0
    assert float(body.trajectory.u[-1].abs().max()) < 1e-3
    assert last.forces.sum(axis=0) == pytest.approx([0.0, 2 * 0.2 * 9.81, 0.0], rel=2e-3, abs=2e-3)
    assert np.abs(last.points[:, 1]).max() < 0.06


def test_models_without_contact_have_no_contact_forces():
    model = get_model("springs")([[0.0, 0.2, 0.0], [0.3, 0.2, 0.0]], [[0, 1]], on_ground=False)
    _, found = at_rest(model, model.params(torch.float64, mass=0.2), 1e-3, 10)
    assert [len(arrows.points) for arrows in found] == [0, 0]


def test_bodies_of_a_world_push_each_other():
    """Every contact is there twice, equal and opposite."""
    ball = get_model("rigid")([{"shape": "sphere", "radius": 0.1, "mass": 0.3}], ground=False)
    net = get_model("springs")([[0.0, 0.09, 0.0], [0.0, 0.6, 0.0]], [[0, 1]], on_ground=False)
    world = get_model("world")({"ball": ball, "net": net})
    params = world.params(torch.float64, **{"ball_net.contact_stiffness": 250.0, "ball_net.friction": 0.0})
    view = fitting.Orbit(distance=2.0, size=(8, 8))
    scene = fitting.Scene(world, get_renderer("softras")(), view, params, dt=1e-3, steps=1)
    start = world.initial_state(params)
    q, u = ({name: pair[k][None] for name, pair in start.sets.items()} for k in (0, 1))
    path = Trajectory(q, u, torch.zeros(1, dtype=torch.float64))
    empty = np.zeros((1, 0, 3), dtype=np.float32)
    body = PlaybackBody("start", np.zeros(1), empty, np.zeros((0, 3), dtype=np.int64), None, path, params)
    (found,) = compute_contact_forces(scene, body)
    assert sorted(found.points[:, 1].tolist()) == pytest.approx([0.0, 0.09])
    up = found.forces[found.points[:, 1] > 0.05][0]
    assert up[1] > 0.1
    assert found.forces.sum(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
