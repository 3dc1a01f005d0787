"""The plain mode of numba: same bits, no private part, automatic choice; and numba left alone in the other mode."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from diffloom_kernels import Program, device, launch
from diffloom_kernels.backends import numba_mode, plain_numba, quick_numba, whole_program
from diffloom_kernels.doctor import _numba

HERE = Path(__file__).parent

SMALL = """
import sys
import numpy as np
from typing import NamedTuple
from diffloom_kernels import Program, device, launch, launch_lanes, sqrt

class Springs(NamedTuple):
    rest: np.ndarray
    ends: np.ndarray
    stiffness: float

@device
def stretch(e, x, springs, out):
    d = x[springs.ends[e, 1]] - x[springs.ends[e, 0]]
    out[e] = springs.stiffness * (sqrt(d * d) / springs.rest[e] - x.dtype.type(1))

@device
def stretch_adjoint(e, x, springs, adj, adj_rest):
    d = x[springs.ends[e, 1]] - x[springs.ends[e, 0]]
    adj_rest[e] = -adj[e] * springs.stiffness * sqrt(d * d) / (springs.rest[e] * springs.rest[e])

def forward_and_back(x, springs, out, adj, adj_rest):
    launch_lanes(out.shape[0], stretch, x, springs, out)
    launch(out.shape[0], stretch_adjoint, x, springs, adj, adj_rest)

program = Program("test_springs", (forward_and_back,))
rng = np.random.default_rng(3)
for real in (np.float32, np.float64):
    x, rest = rng.normal(size=40).astype(real), rng.uniform(1, 2, 21).astype(real)
    springs = Springs(rest, rng.integers(0, 40, (21, 2)).astype(np.int32), 0.3)
    for target in ("serial", "parallel"):
        out, adj_rest = np.zeros(21, real), np.zeros(21, real)
        program.run("forward_and_back", x, springs, out, np.ones(21, real), adj_rest, target=target)
        print("RESULT", real.__name__, out.tobytes().hex(), adj_rest.tobytes().hex())
from diffloom_kernels.backends.numba_mode import compiler
private = [name for name in sys.modules if name.endswith(("numba_internals", "whole_program", "quick_numba"))]
print("MODE", compiler.NAME, len(private))
"""

#: Names that other modules of numba hold for themselves, so that numba works without these.
REMOVED = """
import numba
from numba.core import callwrapper, codegen, registry, ssa, typed_passes, untyped_passes
from numba.core.typing import context
{version}
del callwrapper.PyCallWrapper, codegen.CPUCodeLibrary, registry.CPUDispatcher, ssa.reconstruct_ssa, context.Context
del typed_passes.NativeLowering, untyped_passes.IRProcessing
"""


def run(folder: Path, head: str = "", **settings: str) -> tuple[list[str], list[str], list[str]]:
    """Results of the small program, what it told of its mode, and what it wrote to stderr."""
    script = folder / "springs.py"
    script.write_text(head + SMALL)
    environment = {**os.environ, "DIFFLOOM_CACHE_DIR": str(folder / "cache"), "DIFFLOOM_NUM_THREADS": "2", **settings}
    environment = {**environment, "DIFFLOOM_QUIET": "", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    told = next(line for line in lines if line.startswith("MODE")).split()[1:]
    return [line for line in lines if line.startswith("RESULT")], told, done.stderr.splitlines()


def test_same_bits_without_private_parts_and_with_a_cache_of_their_own(tmp_path):
    results, told, said = run(tmp_path, DIFFLOOM_PLAIN_NUMBA="")
    assert told == ["whole", "program", "3"]
    assert len(results) == 4
    assert results[0] == results[1], "on threads as without"

    plain, told, said = run(tmp_path, DIFFLOOM_PLAIN_NUMBA="1")
    assert told == ["plain", "numba", "0"]
    assert plain == results
    assert "compiling test_springs" in said[0], "code of the other mode is not taken"

    again, told, said = run(tmp_path, DIFFLOOM_PLAIN_NUMBA="1")
    assert (again, told, said) == (results, ["plain", "numba", "0"], [])
    stored = tmp_path / "cache" / "kernels" / "__pycache__"
    assert stored.stat().st_mode & 0o077 == 0

    for file in stored.glob("test_springs*.nbc"):
        file.write_bytes(file.read_bytes()[:100])
    again, _, _ = run(tmp_path, DIFFLOOM_PLAIN_NUMBA="1")
    assert again == results, "damaged files are compiled anew"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("numba.__version__ = '0.99.0'", "fast compiling is tested with numba 0.68, and 0.99.0 is installed"),
        ("", "lacks a private part that numba 0.68 has (cannot import name"),
    ],
    ids=["next release", "names removed"],
)
def test_a_numba_that_was_not_tried_is_met_with_the_plain_mode(tmp_path, version, said):
    expected, _, _ = run(tmp_path, DIFFLOOM_PLAIN_NUMBA="")
    results, told, lines = run(tmp_path, REMOVED.format(version=version), DIFFLOOM_PLAIN_NUMBA="")
    assert told[:2] == ["plain", "numba"]
    assert results == expected
    notices = [line for line in lines if "plain mode" in line]
    assert len(notices) == 1
    assert said in notices[0]
    assert numba_mode.REMEDY in notices[0]


def test_doctor_tells_of_the_plain_mode(monkeypatch):
    assert "plain" not in _numba().detail
    monkeypatch.setattr(numba_mode, "compiler", plain_numba)
    assert "DIFFLOOM_PLAIN_NUMBA is set" in _numba().detail
    monkeypatch.setattr(numba_mode, "reason", "it is too new")
    assert "it is too new" in _numba().detail
    assert numba_mode.REMEDY in _numba().advice


#: Tests whose programs are run in both modes: values, gradients, lanes, records, teams of threads.
QUICK = ["test_records.py", "test_places.py"]
MANY = [*QUICK, "test_lanes.py", "test_programs.py", "test_small_algebra.py", "test_sines.py", "test_entries.py"]
#: Filter that leaves out tests of whole-program compilation and of other processes.
OTHERS = "not interpreted and not other_processes and not extensions and not read_in_place and not layout"


def digests(folder: Path, files: list[str], **settings: str) -> dict[str, list[str]]:
    """Hashes of the arrays after every run of a program in these tests, by test."""
    kept = folder / f"digests{len(list(folder.iterdir()))}.json"
    environment = {**os.environ, "DIFFLOOM_QUIET": "1", "DIFFLOOM_TEST_DIGESTS": str(kept), **settings}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "run_digests", "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "--import-mode=importlib", "-k", OTHERS, *[str(HERE / name) for name in files]]
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), environment.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    found: dict[str, list[str]] = json.loads(kept.read_text())
    return found


@pytest.mark.parametrize("files", [QUICK, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_tests_pass_in_both_modes_with_the_same_bits(tmp_path, files):
    normal = digests(tmp_path, files, DIFFLOOM_PLAIN_NUMBA="")
    plain = digests(tmp_path, files, DIFFLOOM_PLAIN_NUMBA="1")
    assert sum(map(len, normal.values())) > 10
    assert plain == normal


def parts_of_numba() -> dict[tuple[str, str], object]:
    """Return all objects that a patch could replace: functions and classes of numba's modules, and their members."""
    found: dict[tuple[str, str], object] = {}
    for name, module in list(sys.modules.items()):
        if {name.partition(".")[0], module.__name__.partition(".")[0]} != {"numba"}:
            continue  # another one, or another one's by a name within numba
        for key, value in list(vars(module).items()):
            if callable(value):
                found[name, key] = value
            if isinstance(value, type) and value.__module__.startswith("numba."):
                found |= {(f"{name}.{key}", part): held for part, held in list(vars(value).items()) if callable(held)}
    return found


def test_another_thread_is_compiled_for_by_numba_as_it_stands(monkeypatch):
    """While programs are compiled here, no part of numba is another one, and none of ours runs over there."""
    warm_up = Program("test_aside", (shift,))
    warm_up.assembly("shift", np.zeros(3), np.zeros(3))  # all of numba is imported by now
    ran: dict[int, set[str]] = {}

    def note(owner, name):
        original = getattr(owner, name)

        def noted(*args, **kwargs):
            ran.setdefault(threading.get_ident(), set()).add(f"{owner.__name__}.{name}")
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    for owner, name in [
        (quick_numba.QuickTyping, "_resolve_user_function_type"), (quick_numba.QuickTyping, "refresh"),
        (quick_numba.QuickContext, "refresh"), (quick_numba.QuickContext, "get_function"),
        (quick_numba.QuickContext, "get_abi_sizeof"), (quick_numba._QuickInferer, "propagate"),
        (quick_numba._QuickCallStack, "register"), (quick_numba._QuickFlags, "values"),
        (whole_program._Passes, "_runPass"), (whole_program.DeviceLibrary, "finalize"),
        (whole_program._LibraryCompiler, "define_pipelines"), (whole_program.EntryFunction, "compile"),
        *[(made, "run_pass") for made in quick_numba.QUICK_PASSES.values()],
    ]:  # fmt: skip
        note(owner, name)

    before, replaced, results, stop = parts_of_numba(), [], [], threading.Event()

    def compile_others():
        while not stop.is_set():
            k = len(results)

            @numba.njit
            def total(a, times=k):
                s = 0.0
                for i in range(a.shape[0]):
                    s += np.sqrt(a[i]) * times
                return s

            now = parts_of_numba()
            replaced.extend(key for key, part in before.items() if now.get(key, part) is not part)
            results.append(total(np.array([1.0, 4.0])) == 3.0 * k)

    other = threading.Thread(target=compile_others)
    other.start()
    out = np.zeros(3)
    try:
        while len(results) < 4:
            Program("test_aside", (shift,)).assembly("shift", np.arange(3.0), out)
    finally:
        stop.set()
        other.join()
    assert all(results)
    assert replaced == []
    assert set(ran) == {threading.get_ident()}
    assert len(ran[threading.get_ident()]) > 8


@device
def shifted(i, a, out):
    out[i] = a[i] + a.dtype.type(1)


def shift(a, out):
    launch(a.shape[0], shifted, a, out)
