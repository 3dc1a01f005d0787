"""DIFFLOOM_BOUNDS=1: an index out of bounds is an IndexError, for scalars, runs, node indices and whole rows."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from diffloom_kernels import Program, device, launch, launch_lanes, ld3, row_load, row_store

@device
def copy(i, nodes, a, out):
    out[i] = a[i]

@device
def fetch(i, nodes, a, out):
    out[i] = a[nodes[i]]

@device
def rows(i, nodes, a, out):
    x = ld3(a, nodes[i])
    out[i] = x[0] + x[1] + x[2]

@device
def whole(i, nodes, a, out):
    row_store(out, i, row_load(a, nodes[i]))

def one(nodes, a, out):
    launch(nodes.shape[0], copy, nodes, a, out)

def run(nodes, a, out):
    launch_lanes(nodes.shape[0], copy, nodes, a, out)

def index(nodes, a, out):
    launch_lanes(nodes.shape[0], fetch, nodes, a, out)

def vectors(nodes, a, out):
    launch_lanes(nodes.shape[0], rows, nodes, a, out)

def register(nodes, a, out):
    launch(nodes.shape[0], whole, nodes, a, out)

program = Program("test_bounds", (one, run, index, vectors, register))
good, bad = np.arange(16, dtype=np.int32), np.full(16, 99, np.int32)
flat, tall = np.ones(16), np.ones((16, 3))
program.run("one", good, flat, np.zeros(16))
program.run("vectors", good, tall, np.zeros(16))
cases = {
    "one": (good, flat[:9], np.zeros(16)), "run": (good, flat[:9], np.zeros(16)), "index": (bad, flat, np.zeros(16)),
    "vectors": (bad, tall, np.zeros(16)), "register": (bad, tall, np.zeros((16, 3))),
}
for name, args in cases.items():
    try:
        program.run(name, *args)
    except IndexError:
        print(name, "caught")
"""


@pytest.mark.slow
def test_out_of_bounds_is_an_error(tmp_path):
    script = tmp_path / "bounds.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "DIFFLOOM_BOUNDS": "1", "DIFFLOOM_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    names = ["one", "run", "index", "vectors", "register"]
    assert done.stdout.splitlines() == [f"{name} caught" for name in names]


@pytest.mark.slow
def test_dynamics_stay_within_bounds():
    """Systems of several node sets, contact, pushes and controls with every index checked."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "DIFFLOOM_BOUNDS": "1", "DIFFLOOM_QUIET": "1"}
    files = [os.path.join(here, "dynamics", name) for name in ("test_gradients.py", "test_physics.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files], env=environment, capture_output=True,
        text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
