"""Compiled code on disk: found by the next process, renewed when a callee changes, shared by processes at once."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

INNER = """
from diffloom_kernels import device

@device
def innermost(x):
    return x + x
"""
OUTER = """
from diffloom_kernels import Program, device, launch
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

for real in sys.argv[1:]:
    a = np.arange(5, dtype=real)
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


def start(project: Path, *reals: str, err: int = subprocess.PIPE, **environment: str) -> subprocess.Popen:
    settings = {"DIFFLOOM_CACHE_DIR": str(project.parent / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.Popen(
        [sys.executable, str(project / "main.py"), *(reals or ("float32",))],
        env={**os.environ, "DIFFLOOM_QUIET": "", **settings},
        stdout=subprocess.PIPE,
        stderr=err,
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


def test_several_programs_are_told_in_two_lines(project):
    process = start(project, "float32", "float64", "int64")
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    first, last = err.splitlines()
    assert first.startswith("diffloom: compiling test_cached: doubled, float32 (once; kept in ")
    assert re.fullmatch(r"diffloom: compiled 3 programs in \d+ s, once", last)


def test_quiet_is_quiet(project):
    process = start(project, "float32", "float64", DIFFLOOM_QUIET="1")
    assert process.communicate(timeout=240) == ("RESULT 0.0 2.0 4.0 6.0 8.0\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_one_line_changes(project):
    import pty

    ours, theirs = pty.openpty()
    process = start(project, "float32", "float64", err=theirs, TERM="xterm")
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports a closed pipe by this error
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=240)
    assert out.startswith("RESULT")
    told, summed = shown.decode().rsplit("\x1b[2K", 1)
    assert "compiling test_cached: doubled, float32" in told
    assert "compiling test_cached: doubled, float64" in told
    assert "\n" not in told
    assert summed.startswith("diffloom: compiled 2 programs in ")
