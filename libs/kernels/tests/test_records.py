"""Pipelines over records: loops over terms unrolled, functions taken from records, the same numbers as plain Python."""

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from diffloom_kernels import BoundRecord, Const, Program, device, generic, independent, launch, launch_lanes, static
from diffloom_kernels.backends import cuda_check, ptx
from diffloom_kernels.compile import arguments


class Term(NamedTuple):
    force: Any
    data: tuple[Any, ...]
    stages: tuple[Any, ...] = ()


class Nodes(NamedTuple):
    width: Const
    terms: tuple[Any, ...]
    out: Any
    damped: bool = False
    label: str = "nodes"


class Clock(NamedTuple):
    time: float
    dt: float


@device
def pull(i, clock, x, stiffness):
    return -stiffness[i] * x[i, 0]


@device
def push(i, clock, x, force, share):
    return force[0] * share[i] * clock.time


@device
def clear(i, out):
    out[i] = out.dtype.type(0)


@generic
def values(a, i, width):
    if static(width == 2):
        return (a[i, 0], a[i, 1])
    return tuple(a[i, c] for c in static(range(width)))


@generic
def total(i, clock, x, nodes):
    f = x.dtype.type(0)
    for number, term in static(enumerate(nodes.terms)):
        f += term.force(i, clock, x, *term.data) * x.dtype.type(number + 1)
    if static(nodes.damped):
        f = f * x.dtype.type(0.5)
    return f


@generic
def step(i, clock, x, x_next, nodes):
    f = total(i, clock, x, nodes)
    row = values(x, i, nodes.width)
    for c in static(range(nodes.width)):
        x_next[i, c] = row[c] + clock.dt * f


def rollout(steps, dt, X, nodes):
    for j in range(steps):
        clock = Clock(X.dtype.type(j * dt), dt)
        for term in static(nodes.terms):
            with independent:
                for stage in static(term.stages):
                    launch_lanes(nodes.out.shape[0], stage, nodes.out)
        launch(X.shape[1], step, clock, X[j], X[j + 1], nodes)


def system(real, width=3, terms=2, damped=False):
    rng = np.random.default_rng(width)
    n = 9
    pulls = Term(pull, (rng.random(n).astype(real),), (clear,))
    pushes = Term(push, (np.ones(1, real), rng.random(n).astype(real)))
    X = np.zeros((5, n, width), real)
    X[0] = rng.normal(size=(n, width))
    return 4, 0.1, X, Nodes(Const(width), (pulls, pushes)[:terms], np.ones(n, real), damped)


program = Program("test_records", (rollout,), lambda real: {"rollout": system(real)})


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kind", [{}, {"width": 1}, {"width": 2}, {"width": 7, "terms": 1}, {"terms": 0}, {"damped": True}]
)
@pytest.mark.parametrize("target", ["serial", "parallel"])
def test_compiled_agrees_with_the_formula(real, kind, target):
    found, expected = system(real, **kind), system(real, **kind)
    program.run("rollout", *found, target=target)
    steps, dt, X, nodes = expected
    for j in range(steps):
        clock = Clock(real(real(j) * real(dt)), real(dt))
        for i in range(X.shape[1]):
            f = real(0)
            for number, term in enumerate(nodes.terms):
                force = getattr(term.force, "py_func", term.force)
                f += force(i, clock, X[j], *term.data) * real(number + 1)
            f = f * real(0.5) if nodes.damped else f
            X[j + 1, i] = X[j, i] + real(dt) * f
    np.testing.assert_allclose(found[2], X, rtol=4 * np.finfo(real).eps, atol=1e-6 if real is np.float32 else 1e-14)
    assert (found[3].out == 0).all() if kind.get("terms", 2) else (found[3].out == 1).all()


def test_bound_records_are_the_same_records():
    found, expected = system(np.float64), system(np.float64)
    program.run("rollout", *expected)
    bound = BoundRecord(found[3])
    program.run("rollout", *found[:3], bound)
    assert found[2].tobytes() == expected[2].tobytes()
    assert len([key for key in program.entries if key[0] == "rollout"]) > 1


def test_records_of_other_functions_are_other_code():
    swapped = system(np.float64)
    steps, dt, X, nodes = swapped
    nodes = nodes._replace(terms=nodes.terms[::-1])
    program.run("rollout", steps, dt, X, nodes)
    other = system(np.float64)
    program.run("rollout", *other)
    assert not np.array_equal(X, other[2])


def stem():
    """The name of the file of code for CUDA, by which another process finds it."""
    given = system(np.float64)
    return program.generated("rollout", "cuda", given, tuple(map(arguments.device_key, given)))[2]


def test_other_processes_look_for_it_by_the_same_name():
    """The representation of a function has its address, which differs by process."""
    command = [sys.executable, "-c", "import test_records; print(test_records.stem())"]
    folder = os.path.dirname(__file__)
    first, second = (subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout.startswith("test_records_rollout")
    assert first.stdout == second.stdout


def test_what_is_not_known_is_said():
    def unknown(n, x):
        for _k in static(range(n)):
            launch(1, clear, x)

    with pytest.raises(TypeError, match=r"static\(range\(n\)\) is not known"):
        Program("test_unknown", (unknown,)).run("unknown", 3, np.zeros(3))


@pytest.mark.skipif(bool(ptx.why_unavailable()), reason=str(ptx.why_unavailable()))
def test_records_compile_for_cuda():
    findings = list(cuda_check.check([program], capabilities=((8, 0),)))
    assert len(findings) == 4
    assert not [finding.fault for finding in findings if finding.fault]


def test_records_run_interpreted_and_in_the_simulator():
    script = f"""
import importlib.util, sys, numpy as np
spec = importlib.util.spec_from_file_location("cases", {__file__!r})
cases = importlib.util.module_from_spec(spec)
sys.modules["cases"] = cases
spec.loader.exec_module(cases)
args = cases.system(np.float64)
cases.program.run("rollout", *args, target=sys.argv[1])
print(args[2].tobytes().hex())
"""
    args = system(np.float64)
    program.run("rollout", *args)
    for target, environment in (
        ("serial", {"DIFFLOOM_INTERPRET": "1"}),
        ("cuda", {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, target], env={**os.environ, **environment}, capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert bytes.fromhex(done.stdout.strip()) == args[2].tobytes()


class Path(NamedTuple):
    rows: tuple[Any, ...]


@generic
def doubled(i, rows, out):
    out[i] = rows[0][i] + rows[0][i]


def double(rows, out):
    launch(out.shape[0], doubled, rows, out)


def double_twice(path, out, kept):
    """Read one entry of a record, and all entries of a second one."""
    rows = tuple(x[1] for x in static(path.rows))
    double(rows, out[0])
    double(kept.rows, out[1])


def test_parts_of_arrays_and_whole_ones_share_their_code():
    program = Program("test_double", (double_twice,))
    path, kept, out = Path((np.arange(6.0).reshape(2, 3),)), Path((np.array([7.0, 8.0, 9.0]),)), np.zeros((2, 3))
    program.run("double_twice", path, out, kept)
    assert out.tolist() == [[6.0, 8.0, 10.0], [14.0, 16.0, 18.0]]
    text, _, _ = program.generated("double_twice", "cpu", (path, out, kept), "test")
    assert text.count("def doubled") == 1
    assert text.count("def _dl_shared_pass_0_doubled(") == 1, "a pass that is called twice stays a function"
    one_pass = text[text.index("def _dl_shared_pass_0_doubled(") :].split("\n@")[0]
    assert "_dl_team" not in one_pass, "nothing is called between tiles, for which registers would have to be saved"


def double_part(given, out):
    rows = tuple(x[0] for x in static(given))
    launch(out.shape[0], doubled, rows, out)


def double_both(rows, given, out):
    double_part(given, out[0])
    double(rows, out[1])


def test_a_variable_is_not_taken_for_an_argument_elsewhere_that_has_its_name():
    program = Program("test_double_both", (double_both,))
    rows, given = (np.array([1.0, 2.0]),), (np.array([[3.0, 4.0]]),)
    text, _, _ = program.generated("double_both", "cuda", (rows, given, np.zeros((2, 2))), "test")
    assert "given" not in text[text.index("def double(") : text.index("def double_both(")]
