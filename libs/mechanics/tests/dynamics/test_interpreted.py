"""The debugger story: a rollout and its gradient run as plain Python give the same bits as compiled ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: The net of the other tests, so that its programs are compiled once for all of them.
SCRIPT = """
import sys
import torch
sys.path.insert(0, sys.argv[2])
from conftest import make_net
from diffloom.interfaces import State, StoreAll
from diffloom.plugins import get_integrator

torch.set_num_threads(1)
net = make_net()
at = {name: value.requires_grad_() for name, value in net.inputs.items()}
scheme = get_integrator(sys.argv[1])()
path = scheme.rollout(
    net.system(), State(at["q"], at["u"]), dt=2e-3, steps=6, save=(0, 3, 6), gradient=StoreAll()
)
normal = at["ground_normal"] / at["ground_normal"].norm()
assert int(((path.q @ normal)[-1] < at["ground_height"]).sum()) > 2  # some touch the ground
(path.q.square().sum() + path.u[1].sum()).backward()
assert all(at[name].grad.abs().max() > 0.0 for name in ("friction", "stiffness", "push", "control", "mass"))
print(b"".join(t.detach().numpy().tobytes() for t in (path.q, path.u, *(t.grad for t in at.values()))).hex())
"""


@pytest.mark.parametrize("integrator", ["semi_implicit", "leapfrog", pytest.param("rk4", marks=pytest.mark.slow)])
def test_plain_python_gives_the_same_bits(integrator):
    said = []
    for interpret in ("", "1"):
        environment = {**os.environ, "DIFFLOOM_INTERPRET": interpret, "DIFFLOOM_QUIET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, integrator, str(Path(__file__).parent)], env=environment,
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        said.append(done.stdout.strip())
    assert said[0] == said[1]
