"""Articulated bodies in a world: one rollout, one gradient, one surface, beside bodies that touch each other."""

import pytest
import torch

from diffloom import get_model, simulate
from diffloom.interfaces import InputError
from diffloom.testing.gradients import check_gradient
from diffloom_physics_world.model import World

DOUBLE = torch.float64


def scene(**settings):
    """A pendulum swings beside a ball that presses on a net."""
    ball = {"shape": "sphere", "radius": 0.1, "mass": 0.3, "position": [0.15, 0.09, 0.0], "velocity": [0.2, -0.5, 0.1]}
    return World(
        {
            "arm": get_model("articulated")([{"builder": "pendulum", "length": 0.4}]),
            "ball": get_model("rigid")([ball], ground=False),
            "net": get_model("springs").chain(count=3, length=0.3, height=0.0, on_ground=False),
        },
        **settings,
    )


def test_an_articulated_body_moves_beside_others_with_exact_gradients():
    world = scene()
    assert [contact.name for contact in world.contacts] == ["ball_net"]
    values = {"arm.mass": 0.7, "arm.joint_velocity": 1.5, "ball.mass": 0.3, "ball_net.contact_stiffness": 40.0}
    params = world.params(DOUBLE, **{"arm.joint_position": 0.6, "gravity": [0.0, -7.0, 0.0], **values})
    assert world.suggested_dt(params) < 0.1

    def end(**given):
        changed = params.replace(**{name.replace("__", "."): value for name, value in given.items()})
        path = simulate(world, changed, dt=1e-3, steps=30, save=(30,))
        return torch.cat([path[name].q.reshape(-1) for name in ("arm", "ball", "net")])

    inputs = {name.replace(".", "__"): params[name].clone() for name in (*values, "gravity")}
    alone = end(**{**inputs, "ball_net__contact_stiffness": 0.0 * inputs["ball_net__contact_stiffness"]})
    assert float((end(**inputs) - alone).abs().max()) > 1e-5  # ball and net touch
    check_gradient(end, inputs, tolerance=1e-6)


def test_it_is_drawn_with_the_others():
    world = scene()
    params = world.params(DOUBLE)
    path = simulate(world, params, dt=1e-3, steps=1, save=(0, 1))
    parts = [world.body(name).surface(path[name], params) for name in ("ball", "net")]
    whole = world.surface(path, params)
    assert whole.vertices.shape[1] > sum(part.vertices.shape[1] for part in parts)


def test_its_links_are_not_held_yet():
    hook = {"between": ["arm", "ball"], "points": [0, [0, 0, 0]]}
    with pytest.raises(InputError, match="links of articulated bodies cannot be held yet"):
        scene(attachments=[hook])
