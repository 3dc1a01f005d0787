"""The debugger story: a rollout and its gradient run as plain Python give the same bits as compiled ones."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np, torch
from diffloom.contact import ground
from diffloom.dynamics import Mechanics, particles, springs
from diffloom.interfaces import State
from diffloom.plugins import get_integrator

torch.set_num_threads(1)
real = torch.float64
k = torch.tensor(40.0, dtype=real, requires_grad=True)
m = torch.tensor([0.2, 0.3, 0.25, 0.3], dtype=real, requires_grad=True)
at = {"contact_stiffness": 300.0, "contact_dissipation": 0.8, "friction_stiffness": 3.0, "friction": 0.4}
at["ground_height"] = 0.0
at = {name: torch.tensor(value, dtype=real) for name, value in at.items()}
at["ground_normal"] = torch.tensor([0.1, 1.0, 0.0], dtype=real)
nodes = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [1, 3]], np.int32)
spring = springs(nodes, k, torch.tensor(0.3, dtype=real), torch.tensor(0.9, dtype=real))
system = Mechanics(particles(m, torch.tensor([0.0, -9.81, 0.3], dtype=real)), (spring, ground(at, 4)))
q = torch.tensor([[0.0, 0.01, 0.0], [1.0, 0.02, 0.1], [0.9, 0.8, 0.2], [0.2, 0.9, 1.0]], dtype=real, requires_grad=True)
u = torch.tensor([[0.5, -2.5, 0.0], [0.0, -0.4, 0.2], [0.1, 0.0, 0.0], [0.0, 0.3, 0.0]], dtype=real, requires_grad=True)
scheme = get_integrator(sys.argv[1])()
from diffloom.interfaces import StoreAll
path = scheme.rollout(system, State(q, u), dt=2e-3, steps=12, save=(0, 5, 12), gradient=StoreAll())
assert float(path.q.detach()[..., 1].min()) < 0.0  # it touches the ground
(path.q.square().sum() + path.u[1].sum()).backward()
print(b"".join(t.detach().numpy().tobytes() for t in (path.q, path.u, k.grad, m.grad, q.grad, u.grad)).hex())
"""


@pytest.mark.parametrize("integrator", ["semi_implicit", "leapfrog", pytest.param("rk4", marks=pytest.mark.slow)])
def test_plain_python_gives_the_same_bits(integrator):
    said = []
    for interpret in ("", "1"):
        environment = {**os.environ, "DIFFLOOM_INTERPRET": interpret, "DIFFLOOM_QUIET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, integrator], env=environment, capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        said.append(done.stdout.strip())
    assert said[0] == said[1]
