"""Compiled code on disk: found by the next process, renewed when a callee changes, shared by processes at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INNER = """
from diffloom.kernels import device

@device
def innermost(x):
    return x + x
"""
OUTER = """
from diffloom.kernels import Program, device, launch
from inner_kernels import innermost

@device
def body(i, a, out):
    out[i] = innermost(a[i])

def doubled(a, out):
    launch(a.shape[0], body, a, out)

program = Program("test_cached", (doubled,))
"""
MAIN = """
import sys
import numpy as np
from outer_kernels import program

a = np.arange(5, dtype=sys.argv[1])
out = np.zeros_like(a)
program.run("doubled", a, out, target="serial")
print("RESULT", *out)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with kernels in two modules, the outer calling the inner."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "inner_kernels.py").write_text(INNER)
    (folder / "outer_kernels.py").write_text(OUTER)
    (folder / "main.py").write_text(MAIN)
    return folder


def start(project: Path, real: str = "float32", **environment: str) -> subprocess.Popen:
    settings = {"DIFFLOOM_CACHE_DIR": str(project.parent / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.Popen(
        [sys.executable, str(project / "main.py"), real],
        env={**os.environ, "DIFFLOOM_QUIET": "", **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> tuple[list[float], bool]:
    """The numbers printed, and whether something was compiled."""
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    result = next(line for line in out.splitlines() if line.startswith("RESULT"))
    return [float(word) for word in result.split()[1:]], "compiling test_cached: doubled" in err


def test_found_again_and_renewed_when_a_callee_changes(project):
    assert finish(start(project)) == ([0, 2, 4, 6, 8], True)
    assert finish(start(project)) == ([0, 2, 4, 6, 8], False)
    inner = project / "inner_kernels.py"
    inner.write_text("# a comment changes nothing\n" + inner.read_text())
    assert finish(start(project)) == ([0, 2, 4, 6, 8], False)
    inner.write_text(inner.read_text().replace("x + x", "x + x + x"))
    assert finish(start(project)) == ([0, 3, 6, 9, 12], True)
    assert sorted(path.name for path in project.iterdir()) == ["inner_kernels.py", "main.py", "outer_kernels.py"]


def test_processes_at_once(project):
    """Four at the same time, two of each float type: one of each compiles, all are right."""
    processes = [start(project, real) for real in ("float32", "float64", "float32", "float64")]
    results = [finish(process) for process in processes]
    assert [numbers for numbers, _ in results] == [[0, 2, 4, 6, 8]] * 4
    assert sum(compiled for _, compiled in results) == 2


def test_unwritable_cache_folder(project):
    blocked = project.parent / "file"
    blocked.write_text("not a folder")
    process = start(project, DIFFLOOM_CACHE_DIR=str(blocked / "cache"))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert "RESULT 0.0 2.0" in out
    assert "cannot write compiled kernels to" in err
    assert "Set DIFFLOOM_CACHE_DIR" in err
