"""Threads: settable, reported, safe with fork, with several Python threads and with torch's own threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diffloom_kernels import num_threads, set_num_threads, threads
from diffloom_kernels.backends.threads import _chosen, _read_cpu_limit

KERNELS = """
import sys
import numpy as np
from diffloom_kernels import Program, device, launch, num_threads, threads

@device
def body(i, a, out):
    out[i] = a[i] + a[i]

def doubled(a, out):
    launch(a.shape[0], body, a, out)

program = Program("test_threads", (doubled,))
a = np.arange(4000.0)

def check():
    out = np.zeros_like(a)
    program.run("doubled", a, out, target="parallel")
    assert np.array_equal(out, a + a)
"""
FORK = """
import os
check()
for _ in range(3):
    child = os.fork()
    if child == 0:
        check()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child died"
check()
"""
PYTHON_THREADS = """
import threading, torch
torch.set_num_threads(2)
failures = []
def work():
    try:
        for _ in range(50):
            check()
            torch.mm(torch.rand(64, 64), torch.rand(64, 64))
    except Exception as error:
        failures.append(error)
workers = [threading.Thread(target=work) for _ in range(3)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
assert not failures, failures
"""


def run(folder: Path, script: str, **environment: str) -> str:
    path = folder / "script.py"
    path.write_text(KERNELS + script + "\nprint('DONE', threads())")
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "DONE" in done.stdout
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_after_a_parallel_run(tmp_path):
    run(tmp_path, FORK)


def test_several_python_threads_beside_torch(tmp_path):
    run(tmp_path, PYTHON_THREADS)


def test_count_by_environment(tmp_path):
    assert "Threads(count=1" in run(tmp_path, "check()", DIFFLOOM_NUM_THREADS="1")


def test_count_by_call():
    try:
        set_num_threads(1)
        assert num_threads() == 1
        assert threads().count == 1
        with pytest.raises(ValueError, match="set_num_threads: got 0; this process may use 1 to"):
            set_num_threads(0)
    finally:
        _chosen.clear()


def test_wrong_environment_is_explained(monkeypatch):
    monkeypatch.setenv("DIFFLOOM_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="DIFFLOOM_NUM_THREADS is 'many'; expected a whole number"):
        num_threads()


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_no_more_threads_than_a_container_may_use(tmp_path, files, granted):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert _read_cpu_limit(tmp_path) == granted
