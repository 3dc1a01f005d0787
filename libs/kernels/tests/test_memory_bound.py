"""Compiling in a child: same code and same errors, nothing of the making kept, and nothing lost where it fails."""

import gc
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError

from diffloom_kernels import Program, device, launch
from diffloom_kernels.compile import memory_bound
from diffloom_kernels.compile.cache import read_code

linux = pytest.mark.skipif(sys.platform != "linux", reason="children compile on Linux only")


class Law(NamedTuple):
    """Device function that the pipeline launches."""

    body: Callable[..., Any]


def applied(a, out, law):
    launch(a.shape[0], law.body, a, out)


def scaling(factor: float) -> Any:
    """A device function made at run time, which no other process could name."""

    @device
    def body(i, a, out):
        out[i] = a[i] * factor

    return body


def run(body: Any) -> np.ndarray:
    a = np.linspace(0.1, 0.7, 7)
    out = np.zeros_like(a)
    Program("test_children", (applied,)).run("applied", a, out, Law(body), target="serial")
    return out


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Children begun by this process, which may keep nothing and has an empty cache."""
    begun: list[int] = []
    fork = os.fork

    def counting() -> int:
        child = fork()
        if child:
            begun.append(child)
        return child

    monkeypatch.setattr(os, "fork", counting)
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DIFFLOOM_COMPILE_MEMORY", "0")
    monkeypatch.setattr(sys, "gettrace", lambda: None)  # this suite may be traced for its coverage
    return begun


@linux
def test_a_closure_is_compiled_in_a_child_and_only_loaded_here(forks):
    body = scaling(1.7)
    assert np.array_equal(run(body), np.linspace(0.1, 0.7, 7) * 1.7)
    assert len(forks) == 1 and not body.overloads
    run(body)
    assert len(forks) == 1


@linux
def test_code_is_stored_as_ever(forks, tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, most in ((here, "inf"), (there, "0")):
        monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(folder))
        monkeypatch.setenv("DIFFLOOM_COMPILE_MEMORY", most)
        run(scaling(2.9))
    assert len(forks) == 1
    (a,), (b,) = (list(folder.rglob("*.code")) for folder in (here, there))
    assert a.name == b.name and b.stat().st_mode & 0o077 == 0 and read_code(b) is not None


@linux
def test_an_authors_error_is_raised_where_the_program_is_run(forks):
    @device
    def body(i, a, out):
        out[i] = a.no_such_thing

    with pytest.raises(TypingError, match="no_such_thing"):
        run(body)
    assert len(forks) == 1


@linux
@pytest.mark.parametrize("end", [lambda: os.kill(os.getpid(), 9), lambda: time.sleep(600), lambda: 1 / 0])
def test_a_child_that_dies_hangs_or_fails_is_done_without(forks, end, monkeypatch, tmp_path):
    monkeypatch.setattr(memory_bound, "MOST_IDLE", 1)
    parent = os.getpid()
    made = memory_bound.compile_in_child_if_large(
        lambda: "made" if os.getpid() == parent else end(), tmp_path / "x.code"
    )
    assert made == "made" and len(forks) == 1
    with pytest.raises(ChildProcessError):  # the child is gone and was waited for
        os.waitpid(forks[0], 0)


@linux
def test_without_a_place_for_code_it_is_compiled_here(forks, monkeypatch):
    monkeypatch.setattr("diffloom_kernels.backends.whole_program.write_code", lambda path, payload: None)
    body = scaling(3.3)
    assert np.array_equal(run(body), np.linspace(0.1, 0.7, 7) * 3.3)
    assert len(forks) == 1 and body.overloads


@linux
def test_refused_forks_and_debuggers_do_no_harm(forks, monkeypatch):
    def refused() -> int:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(os, "fork", refused)
    assert run(scaling(4.1))[0] == 0.1 * 4.1
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert run(scaling(4.7))[0] == 0.1 * 4.7


@linux
def test_a_thread_that_compiles_something_else_is_waited_for(forks):
    taken, done = threading.Event(), threading.Event()

    def compile_for_a_while() -> None:
        with global_compiler_lock:
            taken.set()
            done.wait(1.0)

    other = threading.Thread(target=compile_for_a_while)
    other.start()
    taken.wait()
    body = scaling(5.3)
    assert run(body)[0] == 0.1 * 5.3
    other.join()
    assert len(forks) == 1 and not body.overloads


@linux
def test_a_process_compiles_by_itself_until_it_has_grown(forks, monkeypatch, tmp_path):
    monkeypatch.setenv("DIFFLOOM_COMPILE_MEMORY", "50")
    monkeypatch.setattr(memory_bound, "_kept", 0.0)
    held = []
    for k in range(4):
        memory_bound.compile_in_child_if_large(lambda: held.append(np.ones(4_000_000)), tmp_path / f"{k}.code")
    assert len(forks) == 2 and 60 < memory_bound._kept < 100  # 32 MB each; what children hold is not counted


def test_what_was_frozen_stays_so_and_is_counted_once(monkeypatch, tmp_path):
    counts = iter([0, 7])
    done: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: next(counts))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: done.append("unfreeze"))
    monkeypatch.setattr(memory_bound, "_frozen", False)
    monkeypatch.setenv("DIFFLOOM_COMPILE_MEMORY", "inf")
    (tmp_path / "stored.code").touch()
    for name, now in (("stored", []), ("a", ["freeze", "unfreeze"]), ("b", []), ("c", [])):
        memory_bound.compile_in_child_if_large(lambda: None, tmp_path / f"{name}.code")
        assert done == now, name
        done.clear()


def test_a_bound_that_is_no_number_is_explained(monkeypatch, tmp_path):
    monkeypatch.setenv("DIFFLOOM_COMPILE_MEMORY", "lots")
    with pytest.raises(ValueError, match="DIFFLOOM_COMPILE_MEMORY is 'lots'; expected a number of MB"):
        memory_bound.compile_in_child_if_large(lambda: None, tmp_path / "x.code")


@linux
def test_a_script_without_a_guard_compiles_in_children_and_counts_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from diffloom_kernels import Program, device, launch\n"
        "print('begun')\n"
        "@device\ndef body(i, a, out):\n    out[i] = a[i] + a[i]\n"
        "def doubled(a, out):\n    launch(a.shape[0], body, a, out)\n"
        "program = Program('test_script', (doubled,))\n"
        "for real in (np.float32, np.float64):\n"
        "    out = np.zeros(3, real)\n"
        "    program.run('doubled', np.arange(3, dtype=real), out, target='serial')\n"
        "print(*out, len(body.overloads))\n"
    )
    told = {"DIFFLOOM_CACHE_DIR": str(tmp_path / "cache"), "DIFFLOOM_COMPILE_MEMORY": "0", "DIFFLOOM_QUIET": ""}
    ran = subprocess.run(
        [sys.executable, script], env={**os.environ, **told}, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "begun\n0.0 2.0 4.0 0\n"
    assert "diffloom: compiling test_script" in ran.stderr and "compiled 2 programs" in ran.stderr


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a function of the GNU C library")
def test_what_was_freed_is_given_back():
    probe = """
from diffloom_kernels.compile.memory_bound import release_memory, measure_resident_memory
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
blocks = [libc.malloc(100_000) for _ in range(2_000)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for block in blocks[:-1]:
    libc.free(block)
held = measure_resident_memory()
release_memory()
print(held - measure_resident_memory())
"""
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert float(found.stdout) > 150  # all of 200 MB but one block at the end
