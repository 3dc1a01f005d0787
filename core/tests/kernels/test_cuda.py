"""CUDA without a GPU: kernels run in numba's simulator, and compile to machine code."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from diffloom.kernels import (
    Program,
    absolute,
    add3,
    atan2,
    clamp,
    constant,
    device,
    exp,
    floor,
    launch,
    launch_lanes,
    ld3,
    length3,
    log,
    maximum,
    minimum,
    mul3,
    neg3,
    notl,
    reciprocal,
    row_add,
    row_vec3,
    row_zero,
    sqrt,
    st3,
    store_corners,
    sub3,
    together,
    where,
)
from diffloom.kernels.backends import cuda_check, ptx
from diffloom.kernels.compile import arguments, write

needs_ptxas = pytest.mark.skipif(bool(ptx.why_unavailable()), reason=str(ptx.why_unavailable()))


@device
def spring(e, x, nodes, params, slots):
    R = x.dtype.type
    d = sub3(ld3(x, nodes[e, 1]), ld3(x, nodes[e, 0]))
    length = length3(d)
    f = mul3(d, params[0][e] * (length - params[1][e]) / where(length > R(0), length, R(1)))
    store_corners(slots, e, (f, neg3(f)))


@device
def count(i, counter):
    counter[i] += 1


@device
def move(i, dt, x, starts, slots, rows, x_next):
    acc = row_zero(rows)
    for k in range(starts[i], starts[i + 1]):
        acc = row_add(acc, rows, slots[k])
    st3(x_next, i, add3(ld3(x, i), mul3(row_vec3(acc), dt)))


def rollout(steps, dt, X, nodes, params, slots, rows, starts, order, counter):
    for j in range(steps):
        with together:
            launch_lanes(nodes.shape[0], spring, X[j], nodes, params, slots)
            launch(counter.shape[0], count, counter)
        launch(X.shape[1], move, dt, X[j], starts, order, rows, X[j + 1])


def samples(real):
    rng = np.random.default_rng(0)
    nodes = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]], np.int32)
    order = np.argsort(nodes.ravel(), kind="stable").astype(np.int32)
    starts = np.searchsorted(nodes.ravel()[order], np.arange(5)).astype(np.int32)
    X = np.zeros((4, 4, 3), real)
    X[0] = rng.normal(size=(4, 3))
    slots = np.zeros((5, 2, 4), real)
    params = (np.ones(5, real), np.full(5, 0.5, real))
    return {"rollout": (3, 0.1, X, nodes, params, slots, slots.reshape(-1, 4), starts, order, np.zeros(7, np.int64))}


program = Program("test_cuda", (rollout,), samples)


@device
def leak(i, a):
    a[i] = a[i] * 0.1


def leaking(a):
    launch(a.shape[0], leak, a)


def test_simulator_agrees_with_the_cpu():
    """In a process of its own: the simulator replaces CUDA for good. There everything is plain Python."""
    script = f"""
import importlib.util, numpy as np
from diffloom.kernels.compile import write
spec = importlib.util.spec_from_file_location("cases", {__file__!r})
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
for real in (np.float32, np.float64):
    results = []
    for target, write.MOST_PARAMETERS in (("serial", 310), ("parallel", 310), ("cuda", 310), ("cuda", 3)):
        cases.program.entries.clear()
        args = cases.samples(real)["rollout"]
        cases.program.run("rollout", *args, target=target)
        results.append((args[2].tobytes(), args[-1].tobytes()))
        assert args[2].dtype == real and (args[-1] == 3).all()
    assert results[0] == results[1] == results[2] == results[3]
    print(real.__name__, np.abs(args[2][-1] - args[2][0]).max())
"""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.split() for line in done.stdout.splitlines())
    for real in (np.float32, np.float64):
        args = samples(real)["rollout"]
        program.run("rollout", *args, target="serial")  # compiled: contraction changes last bits
        moved = np.abs(args[2][-1] - args[2][0]).max()
        assert float(said[real.__name__]) == pytest.approx(moved, rel=1e-5 if real is np.float32 else 1e-12)


@needs_ptxas
def test_kernels_compile_without_spills_or_stray_float64():
    findings = list(cuda_check.check([program], capabilities=((8, 0),)))
    assert [finding.kernel.partition(".")[2] for finding in findings] == ["0_spring_and_count", "1_move"] * 2
    assert not [finding.fault for finding in findings if finding.fault]
    assert all(0 < finding.usage.registers < 64 for finding in findings)


@device
def every_function(i, a, b, out):
    x, y = a[i], b[i]
    out[i, 0] = sqrt(x) + exp(x) + log(x) + atan2(x, y)
    out[i, 1] = floor(x) + absolute(y) + reciprocal(x) + constant(x, 0.1)
    out[i, 2] = clamp(x, minimum(x, y), maximum(x, y)) + where(notl(x < y), x, y)


def functions(a, b, out):
    launch(a.shape[0], every_function, a, b, out)


def function_samples(real):
    return {"functions": (np.ones(2, real), np.ones(2, real), np.ones((2, 3), real))}


def test_launches_share_a_kernel_while_its_parameters_have_room(monkeypatch):
    monkeypatch.setattr(write, "MOST_PARAMETERS", 3)
    args = samples(np.float32)["rollout"]
    text, _, _ = program.generated("rollout", "cuda", args, tuple(map(arguments.device_key, args)))
    assert re.findall(r"def _dl_kernel_(\w+)", text) == ["0_spring", "1_count", "2_move"]
    assert text.index("_dl_start(_dl_kernel_0_spring") < text.index("_dl_start(_dl_kernel_1_count")


@needs_ptxas
def test_every_elementary_function_compiles_in_float32():
    listed = Program("test_functions", (functions,), function_samples)
    (finding,) = cuda_check.check([listed], dtypes=(np.float32,), capabilities=((8, 0),))
    assert finding.fault is None


@needs_ptxas
def test_a_float_literal_is_found():
    leaky = Program("test_leak", (leaking,), lambda real: {"leaking": (np.zeros(4, real),)})
    (finding,) = cuda_check.check([leaky], dtypes=(np.float32,), capabilities=((8, 0),))
    assert finding.doubles > 0
    assert "float64 instructions" in finding.fault


@needs_ptxas
def test_check_from_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(cuda_check, "collect", lambda modules: {"test_cuda": program})
    assert cuda_check.main([]) == 0
    assert "8 compilations, 0 faults" in capsys.readouterr().out
    assert cuda_check.main(["--program", "test_cuda", "--dtype", "float32"]) == 0
    assert "4 compilations, 0 faults" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cuda_check.main(["--program", "nobody"])
    assert "no program nobody; there are test_cuda" in capsys.readouterr().err


def test_spills_are_a_fault():
    report = """ptxas info    : Function properties for k
    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 255 registers, 400 bytes cmem[0]"""
    usage = ptx.read_report(report)
    assert usage == ptx.Usage(255, 16, 8)
    assert cuda_check.Finding("p", "k", "float32", (8, 0), usage, 0).fault == "spills 16 bytes"
    assert cuda_check.Finding("p", "k", "float64", (8, 0), usage, 0).fault is None


PTX = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	call.uni (retval0), called, (param0);	// .f64 in words
	ld.global.f32 	%f64, [%rd1];
}
	// .globl	beside
.visible .func  (.param .b32 func_retval0) beside(
	.param .b64 beside_param_0
)
{
	ld.param.f64 	%fd1, [beside_param_0];
}
.func  (.param .b32 func_retval0) called(
	.param .b32 called_param_0
)
{
	mul.f64 	%fd2, %fd1, 0d3BF921FB54442D19;
}
"""


def test_float64_is_looked_for_where_kernels_reach():
    assert ptx.doubles(PTX) == 1
    assert ptx.doubles(PTX.replace("call.uni (retval0), called, (param0);", "")) == 0


def test_a_kernel_that_does_not_compile_is_a_fault_and_not_the_end(monkeypatch):
    def refuse(*given):
        raise TypeError("no such type\nmany more words")

    monkeypatch.setattr(ptx, "to_ptx", refuse)
    findings = list(cuda_check.check([program], dtypes=(np.float64,), capabilities=((8, 0),)))
    assert len(findings) == 2
    assert all(finding.fault == "refused: TypeError: no such type" for finding in findings)


def test_host_arrays_are_refused_on_cuda():
    pytest.importorskip("numba_cuda")
    with pytest.raises(TypeError, match=r"X is in host memory but the run is on CUDA"):
        program.run("rollout", *samples(np.float32)["rollout"], target="cuda")
