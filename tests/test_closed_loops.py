"""Closed loops of real physics and renderers: a cart with a pole, driven by observations of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import Checkpointed
from diffloom.plugins import get_model, get_renderer
from diffloom_control import Network, make_goal_target, make_network_policy, make_pose_goal
from diffloom_fitting.objective import Objective
from diffloom_fitting.unknowns import resolve

STATE = Network("torque", "state", every=10, hidden=(8,), scale=5.0)
IMAGE = Network("torque", "image", every=25, channels=(4, 4), image_size=(16, 16), scale=5.0)


@pytest.mark.slow
@pytest.mark.parametrize("network", [STATE, IMAGE], ids=["state", "image"])
def test_gradients_of_a_driven_cart_are_those_of_finite_differences(network):
    cart = get_model("articulated")([{"builder": "cartpole"}])
    params = cart.params(torch.float64)
    policy = make_network_policy(cart, params, network, 0.2, 0)
    view = fitting.Orbit(distance=4, elevation=0, size=(24, 24))
    scene = fitting.Scene(
        cart, get_renderer("softras")(), view, params, 2e-3, 100, gradient=Checkpointed(), policy=policy
    )
    target = make_goal_target([make_pose_goal(scene, {}, 0.2)], scene)
    layout = resolve([fitting.Unknown("policy")], scene)
    objective = Objective(scene, target, fitting.PixelError(), layout)
    z = layout.start()
    found = objective.evaluate(z).gradient
    assert float(found.norm()) > 1e-3
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        along = torch.randn(z.numel(), generator=generator, dtype=z.dtype)
        along /= along.norm()
        ahead, behind = objective.value(z + 1e-4 * along).value, objective.value(z - 1e-4 * along).value
        assert abs(float(found @ along) - (ahead - behind) / 2e-4) < 1e-6 * float(found.norm())


# A process of its own, whose peak no other test has raised.
LONG = """
import torch
from diffloom_control import Network, make_goal_target, make_network_policy, make_pose_goal
import diffloom_fitting as fitting
from diffloom.interfaces import Checkpointed
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting.fits import peak_memory

walker = get_model("cloth")("walker", planar=True, ground=True)
params = walker.params(torch.float64, damping=0.5)
network = Network("activation", "state", every=10, hidden=(8,), scale=0.02)
policy = make_network_policy(walker, params, network, span=1.0, seed=0)
view, peaks = fitting.Orbit(distance=8, size=(32, 32)), []
for steps in (100, 10_000):
    scene = fitting.Scene(
        walker, get_renderer("softras")(), view, params, 1 / 1920, steps, gradient=Checkpointed(), policy=policy
    )
    weights = {k: v.clone().requires_grad_() for k, v in scene.policy.weights(torch.float64).items()}
    scene.rollout(weights, [steps]).trajectory.q.square().sum().backward()
    assert all(w.grad.isfinite().all() and w.grad.any() for w in weights.values())
    peaks.append(peak_memory())
print((peaks[1] - peaks[0]) / 2**20)
"""


@pytest.mark.slow
def test_ten_thousand_steps_of_a_closed_loop_take_little_memory():
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 60.0  # MB, beside those of 100 steps
