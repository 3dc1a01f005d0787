"""CUDA without a GPU: kernels run in numba's simulator, and compile to machine code."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from diffloom_kernels import (
    Const,
    Program,
    absolute,
    add3,
    atan2,
    clamp,
    constant,
    cos,
    device,
    exp,
    floor,
    generic,
    independent,
    launch,
    launch_lanes,
    ld3,
    length3,
    log,
    maximum,
    minimum,
    mul3,
    neg3,
    not_lanes,
    reciprocal,
    row_accumulate,
    row_vec3,
    row_zero,
    sin,
    sqrt,
    st3,
    static,
    store_corners,
    sub3,
    where,
)
from diffloom_kernels.backends import cuda, cuda_check, ptx
from diffloom_kernels.backends.cuda_findings import KernelFinding, format_table
from diffloom_kernels.compile import arguments, write

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
        acc = row_accumulate(acc, rows, slots[k])
    st3(x_next, i, add3(ld3(x, i), mul3(row_vec3(acc), dt)))


def rollout(steps, dt, X, nodes, params, slots, rows, starts, order, counter):
    for j in range(steps):
        with independent:
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
    """Run in a process of its own, because the simulator replaces CUDA for good; all code is plain Python there."""
    script = f"""
import importlib.util, numpy as np
from diffloom_kernels.compile import write
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
    out[i, 0] = sqrt(x) + exp(x) + log(x) / y + atan2(x, y) + sin(x) * cos(y)
    out[i, 1] = floor(x) + absolute(y) + reciprocal(x) + constant(x, 0.1)
    out[i, 2] = clamp(x, minimum(x, y), maximum(x, y)) + where(not_lanes(x < y), x, y)


def functions(a, b, out):
    launch(a.shape[0], every_function, a, b, out)


def function_samples(real):
    return {"functions": (np.ones(2, real), np.ones(2, real), np.ones((2, 3), real))}


@pytest.mark.parametrize("mlir", [False, True])
def test_launches_share_a_kernel_while_its_parameters_have_room(mlir, monkeypatch):
    monkeypatch.setattr(write, "is_mlir", lambda: mlir)
    monkeypatch.setattr(write, "MOST_PARAMETERS_BY_MLIR" if mlir else "MOST_PARAMETERS", 3)
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
def test_nothing_is_approximate_in_float32():
    """numba-cuda took the flag nsz for leave to: a small angle's sine was off by a thousandth of itself."""
    listed = Program("test_functions", (functions,), function_samples)
    ((_, kernel, args),) = cuda_check.list_kernels(listed, np.float32)
    text = ptx.to_ptx(kernel, args, (8, 0))
    assert "div.rn.f32" in text
    assert not re.findall(r"(?:div|sin|cos|lg2|sqrt)\.approx\S*", text)


@device
def halves(n):
    return (n + 1) // 2


@device
def pairs(n):
    return halves(n) * 2


@generic
def rounds(n, wide):
    return pairs(n) if static(wide == 1) else n


def counted(wide, counter):
    launch(pairs(counter.shape[0]) - rounds(0, wide), count, counter)


def counted_samples(real):
    return {"counted": (Const(1), np.zeros(7, np.int64))}


class OfKernels:
    """A device function of a compiler that lets kernels alone call it."""

    def __init__(self, function):
        self.py_func = getattr(function, "py_func", function)

    def __call__(self, *args):
        raise ValueError("launch configuration was not specified")


def test_pipelines_call_device_functions_that_only_kernels_may_call(monkeypatch):
    """Check named functions, functions specialised for a record, and their callees with numba-cuda-mlir's rules."""
    pytest.importorskip("numba_cuda")
    monkeypatch.setattr(cuda, "is_mlir", lambda: True)
    monkeypatch.setattr(cuda, "device_decorator", lambda: OfKernels)
    monkeypatch.setattr(cuda, "names_for_kernels", lambda names: {name: OfKernels(names[name]) for name in names})
    listed = Program("test_host_calls", (counted,), counted_samples)
    ((name, kernel, args),) = cuda_check.list_kernels(listed, np.float32)
    assert name == "counted.0_count"
    assert args[0] == 8
    assert isinstance(kernel.py_func.__globals__["count"], OfKernels)


@needs_ptxas
def test_a_pipeline_that_calls_device_functions_compiles():
    listed = Program("test_host_calls", (counted,), counted_samples)
    (finding,) = cuda_check.check([listed], dtypes=(np.float32,), capabilities=((8, 0),))
    assert finding.fault is None


@needs_ptxas
def test_a_float_literal_is_found():
    leaky = Program("test_leak", (leaking,), lambda real: {"leaking": (np.zeros(4, real),)})
    (finding,) = cuda_check.check([leaky], dtypes=(np.float32,), capabilities=((8, 0),))
    assert finding.doubles > 0
    assert "float64 instructions" in finding.fault


@needs_ptxas
def test_check_from_the_command_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(cuda_check, "collect", lambda modules: {"test_cuda": program})
    assert cuda_check.main(["--anew", "--table", str(tmp_path / "table")]) == 0
    said = capsys.readouterr().out
    assert "8 compilations, 0 faults, 0 known spills" in said
    assert (tmp_path / "table").read_text() in said
    rows = [line.split()[:6] for line in said.splitlines() if line.startswith("test_cuda ")]
    assert rows == [["test_cuda", real, "4", "0", "0", unit] for real, unit in (("float32", "0"), ("float64", "-"))]
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
    assert KernelFinding("p", "k", "float32", (8, 0), usage, 0).fault == "spills 16 bytes"
    assert KernelFinding("p", "k", "float64", (8, 0), usage, 0).fault is None


def test_known_spills_are_said_while_they_are_small():
    few, many = ptx.Usage(255, 128, 8), ptx.Usage(255, 132, 8)
    known = KernelFinding("p", "k", "float32", (8, 0), few, 0, known="many sums")
    assert known.fault is None
    assert str(known).endswith("128 B spilled  known to spill: many sums")
    assert KernelFinding("p", "k", "float32", (8, 0), many, 0, known="many sums").fault == "spills 132 bytes"
    assert KernelFinding("p", "k", "float32", (8, 0), few, 2, known="many sums").fault == "2 float64 instructions"
    assert KernelFinding("p", "k", "float32", (8, 0), ptx.Usage(20, 0, 0), 0, known="many sums").excused is None


@needs_ptxas
def test_programs_say_why_a_kernel_may_spill():
    listed = Program("test_known", (leaking,), lambda real: {"leaking": (np.zeros(4, real),)}, {"leak": "for a test"})
    (finding,) = cuda_check.check([listed], dtypes=(np.float64,), capabilities=((8, 0),))
    assert finding.known == "for a test"


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


@needs_ptxas
def test_a_check_that_was_stopped_goes_on_where_it_was(monkeypatch, tmp_path):
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path))
    first = cuda_check.check([program], dtypes=(np.float32,), keep=True)
    done = [next(first), next(first)]
    first.close()
    made = []
    monkeypatch.setattr(
        ptx, "to_ptx", lambda kernel, *given, to_ptx=ptx.to_ptx: made.append(1) or to_ptx(kernel, *given)
    )
    assert list(cuda_check.check([program], dtypes=(np.float32,), keep=True))[:2] == done
    assert len(made) == 1  # the second of two kernels
    for path in tmp_path.rglob("*.json"):
        path.write_text("damaged")
    assert len(list(cuda_check.check([program], dtypes=(np.float32,), keep=True))) == 4
    assert len(made) == 3
    assert not [found for found in cuda_check.check([program], (np.float64,), keep=True) if found.dtype != "float64"]
    assert len(made) == 5  # other types are other kernels


def test_faults_are_counted_by_kind():
    spilled, clean = ptx.Usage(255, 16, 8), ptx.Usage(20, 0, 0)
    found = [
        KernelFinding("p", "k", "float32", (8, 0), spilled, 3, None, 1.25),
        KernelFinding("p", "m", "float32", (8, 0), clean, 0, "refused: by hand", 0.5),
        KernelFinding("q", "k", "float32", (8, 0), clean, 0, None, 0.5),
        KernelFinding("q", "k", "float64", (8, 0), spilled, 9, None, 2.0),
    ]
    rows = [line.split() for line in format_table(found)[1:]]
    assert rows == [
        ["p", "float32", "2", "1", "1", "1", "2"],
        ["q", "float32", "1", "0", "0", "0", "0"],
        ["2", "programs", "float32", "3", "1", "1", "1", "2"],
        ["q", "float64", "1", "0", "1", "-", "2"],
        ["1", "program", "float64", "1", "0", "1", "-", "2"],
    ]


def test_host_arrays_are_refused_on_cuda():
    pytest.importorskip("numba_cuda")
    with pytest.raises(TypeError, match=r"X is in host memory, but the run is on CUDA"):
        program.run("rollout", *samples(np.float32)["rollout"], target="cuda")
