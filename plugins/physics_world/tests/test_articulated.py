"""Articulated bodies in a world: one rollout, one gradient, one surface, beside bodies that touch each other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from diffloom import get_model, simulate
from diffloom.interfaces import Control, InputError, State
from diffloom_mechanics import Mechanics
from diffloom_physics_world.model import World
from diffloom_testing.gradients import check_gradient

DOUBLE = torch.float64


ARM = {"builder": "double_pendulum", "lengths": [0.4, 0.3]}


def scene(arm=None, **settings):
    """A pendulum swings beside a ball that presses on a net."""
    ball = {"shape": "sphere", "radius": 0.1, "mass": 0.3, "position": [0.15, 0.09, 0.0], "velocity": [0.2, -0.5, 0.1]}
    return World(
        {
            "arm": get_model("articulated")([arm or {"builder": "pendulum", "length": 0.4}]),
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


def test_an_articulated_body_is_part_of_the_surface():
    world = scene()
    params = world.params(DOUBLE)
    path = simulate(world, params, dt=1e-3, steps=1, save=(0, 1))
    parts = [world.body(name).surface(path[name], params) for name in ("ball", "net")]
    whole = world.surface(path, params)
    assert whole.vertices.shape[1] > sum(part.vertices.shape[1] for part in parts)


HELD = {
    "spring": {"kind": "spring", "between": ["arm", "ball"],
               "points": [{"link": "bob 1", "point": [0.05, -0.3, 0.02]}, [0.1, 0.0, 0.0]], "length": 0.1},
    "turned": {"kind": "hold", "between": ["ball", "arm"], "points": [[0.0, 0.1, 0.0], "bob 2"], "damping": 2.0},
    "particle": {"kind": "hold", "between": ["net", "arm"], "points": [1, {"link": "bob 2", "point": [0, -0.1, 0]}]},
    "path": {"kind": "path", "body": "arm", "point": "bob 2", "times": [0.0, 1.0],
             "places": [[0.0, 0.1, 0.0], [0.3, 0.2, 0.1]]},
    "force": {"kind": "force", "body": "arm", "point": {"link": "bob 2", "point": [0.0, -0.1, 0.03]},
              "force": [1.0, 2.0, -0.5]},
}  # fmt: skip


def held(kind):
    """Forces of one attachment alone, and all that they depend on."""
    world = scene(attachments=[{"name": "tie", **HELD[kind]}], contacts=False, arm=ARM)
    params = world.params(DOUBLE, **{"arm.joint_position": [0.4, 0.7], "arm.joint_velocity": [1.1, -0.6]})
    start = world.initial_state(params)
    used = [body.name for body in world.bodies if body.name in str(HELD[kind])]

    def forces(**given):
        values = {name.replace("__", "."): value for name, value in given.items() if "__" in name}
        q, u = (
            {n: given.get(f"{which}_{n}", pair[k]) for n, pair in start.sets.items()} for k, which in enumerate("qu")
        )
        system = world.dynamics(params.replace(**values), Control())
        alone = Mechanics(system.sets, tuple(term for term in system.terms if term.name.startswith("tie")))
        return {name: f for name, f in alone.forces(State(q, u), dt=1e-3).items() if name in used}

    inputs = {f"q_{n}": start[n].q for n in used} | {f"u_{n}": start[n].u + 0.3 for n in used}
    own = {f"tie.{spec.name}" for spec in world.attachments[0].specs} | {"arm.length", "arm.frame_position"}
    return forces, inputs | {name.replace(".", "__"): params[name].clone() for name in sorted(own)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HELD)
def test_attachments_of_links_have_exact_gradients(kind):
    forces, inputs = held(kind)
    assert all(float(f.abs().max()) > 1e-3 for f in forces(**inputs).values())
    check_gradient(lambda **x: torch.cat([f.reshape(-1) for f in forces(**x).values()]), inputs, tolerance=1e-6)


def test_attachment_tests_pass_in_the_interpreter():
    """Run these tests in the interpreter."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "slow", str(Path(__file__))]
    environment = {**os.environ, "DIFFLOOM_INTERPRET": "1"}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(HELD)} passed" in done.stdout, done.stdout[-3000:]


def test_a_link_that_is_not_there_cannot_be_held():
    for point in ("bbo", 0, {"link": "bob 1", "point": [0.0]}):
        with pytest.raises(InputError, match=r"expected one of its links and a place.*there are bob 1, bob 2"):
            scene(attachments=[{"between": ["arm", "ball"], "points": [point, [0, 0, 0]]}], arm=ARM)
