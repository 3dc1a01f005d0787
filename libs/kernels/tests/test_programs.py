"""Programs: pipelines run alike on every CPU target, and wrong arguments are reported."""

import numpy as np
import pytest
import torch

from diffloom_kernels import (
    Program,
    add3,
    device,
    independent,
    launch,
    launch_lanes,
    launch_runs,
    ld3,
    mul3,
    row_accumulate,
    row_add,
    row_fma,
    row_from_vec3,
    row_load,
    row_scale,
    row_store,
    row_sum,
    row_vec3,
    row_zero,
    set_num_threads,
    sqrt,
    st3,
    store_corners,
    sub3,
)
from diffloom_kernels.backends.threads import _chosen
from diffloom_kernels.compile import program

SCALE = 0.5


@device
def pull(e, x, nodes, stiffness, slots):
    d = sub3(ld3(x, nodes[e, 1]), ld3(x, nodes[e, 0]))
    f = mul3(d, stiffness[e] * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]))
    store_corners(slots, e, (f, mul3(f, x.dtype.type(-1))))


@device
def fade(e, stiffness):
    stiffness[e] *= stiffness.dtype.type(SCALE)


@device
def move(i, dt, x, starts, slots, rows, x_next):
    acc = row_zero(rows)
    for k in range(starts[i], starts[i + 1]):
        acc = row_accumulate(acc, rows, slots[k])
    st3(x_next, i, add3(ld3(x, i), mul3(row_vec3(acc), dt)))


def advance(dt, x, x_next, topology, work):
    launch(x.shape[0], move, dt, x, topology[1], topology[2], work[1], x_next)


def rollout(steps, dt, X, stiffness, topology, work):
    """Steps of a chain of springs without inertia."""
    for j in range(steps):
        launch_lanes(topology[0].shape[0], pull, X[j], topology[0], stiffness, work[0])
        with independent:
            launch_lanes(stiffness.shape[0], fade, stiffness)
            launch(X.shape[1], move, dt, X[j], topology[1], topology[2], work[1], X[j + 1])
        advance(dt, X[j], X[j + 1], topology, work)


chain = Program("test_chain", (rollout,))


@device
def drift(i, dt, x, slots, rows, x_next):
    total = row_sum(rows, slots, 2 * i, 2 * i + 4)
    speed = row_add(row_from_vec3(ld3(x, i)), row_scale(total, dt))
    row_store(x_next, i, row_fma(speed, dt, row_load(x, i)))


def drifting(dt, x, slots, rows, x_next):
    launch(x.shape[0], drift, dt, x, slots, rows, x_next)


rowwise = Program("test_rows", (drifting,))


def chain_args(real, count=203, steps=6):
    rng = np.random.default_rng(0)
    nodes = np.stack([np.arange(count - 1), np.arange(1, count)], 1).astype(np.int32)
    slots = np.argsort(nodes.ravel(), kind="stable").astype(np.int32)
    starts = np.searchsorted(nodes.ravel()[slots], np.arange(count + 1)).astype(np.int32)
    X = np.zeros((steps + 1, count, 3), real)
    X[0] = rng.normal(size=(count, 3))
    rows = np.zeros((count - 1, 2, 4), real)
    return steps, 0.01, X, rng.random(count - 1).astype(real), (nodes, starts, slots), (rows, rows.reshape(-1, 4))


@pytest.fixture
def two_threads():
    yield
    _chosen.clear()


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_serial_and_parallel_agree_bitwise(real):
    reference = chain_args(real)
    chain.run("rollout", *reference, target="serial")
    assert np.abs(reference[2][-1] - reference[2][0]).max() > 1e-3
    for count in (1, 2):
        set_num_threads(count)
        for _ in range(5):
            args = chain_args(real)
            chain.run("rollout", *args, target="parallel")
            assert args[2].tobytes() == reference[2].tobytes()
            assert args[3].tobytes() == reference[3].tobytes()


def test_pipelines_also_run_as_plain_python():
    args = chain_args(np.float64, count=8, steps=2)
    other = chain_args(np.float64, count=8, steps=2)
    rollout(*args)
    chain.run("rollout", *other, target="serial")
    np.testing.assert_allclose(args[2], other[2], rtol=1e-13)


def test_padded_and_plain_states_agree_bitwise():
    plain = chain_args(np.float32)
    padded = list(chain_args(np.float32))
    padded[2] = np.concatenate([padded[2], np.zeros_like(padded[2][..., :1])], -1)
    chain.run("rollout", *plain, target="serial")
    chain.run("rollout", *padded, target="serial")
    assert np.array_equal(plain[2], padded[2][..., :3])


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_rows_in_registers_are_rows(real, width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, width)).astype(real)
    rows = rng.normal(size=(30, 4)).astype(real)
    slots = rng.integers(0, 30, 20).astype(np.int32)
    found, expected = np.full_like(x, 7.0), np.full_like(x, 7.0)
    rowwise.run("drifting", real(0.1), x, slots, rows, found, target="serial")
    drifting(real(0.1), x, slots, rows, expected)
    np.testing.assert_allclose(found[:, :3], expected[:, :3], rtol=20 * np.finfo(real).eps)
    by_hand = x[4, :3] + 0.1 * (x[4, :3] + 0.1 * rows[slots[8:12], :3].sum(0))
    np.testing.assert_allclose(found[4, :3], by_hand, rtol=1e-5)


def test_a_row_of_three_leaves_its_neighbour_alone():
    x = np.arange(12.0).reshape(4, 3)
    after = np.full((4, 3), -1.0)
    rowwise.run("drifting", 0.0, x[:2], np.zeros(8, np.int32), np.zeros((1, 4)), after[:2], target="serial")
    assert np.array_equal(after, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [-1.0] * 3, [-1.0] * 3])


def test_tensors_are_used_in_place():
    steps, dt, X, stiffness, topology, work = chain_args(np.float32)
    chain.run("rollout", steps, dt, X, stiffness.copy(), topology, work)
    other = chain_args(np.float32)
    tensor = torch.from_numpy(other[2]).requires_grad_()
    chain.run("rollout", steps, dt, tensor, torch.from_numpy(other[3]), other[4], other[5])
    assert np.array_equal(tensor.detach().numpy(), X)


@device
def double(e, a, out):
    out[e] = a[e] + a[e]


def doubled(a, out):
    launch(a.shape[0], double, a, out)


doubling = Program("test_doubling", (doubled,))


def test_wrong_use_is_explained():
    a = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match=r"a is float32, out is float64.*same dtype"):
        doubling.run("doubled", a, a.astype(np.float64))
    with pytest.raises(ValueError, match="no pipeline 'halved'; it has doubled"):
        doubling.run("halved", a, a)
    with pytest.raises(TypeError, match=r"takes 2 arguments \(a, out\), 1 given"):
        doubling.run("doubled", a)
    with pytest.raises(ValueError, match="target 'gpu' is unknown; expected one of auto, serial"):
        doubling.run("doubled", a, a, target="gpu")


def starred(a, out):
    launch(a.shape[0], double, *a)


def loose(a, out):
    with independent:
        b = a
    launch(a.shape[0], double, b, out)


@pytest.mark.parametrize(("pipeline", "words"), [(starred, "by position, one by one"), (loose, "only launches")])
def test_wrong_pipelines_are_explained(pipeline, words):
    a = np.zeros(3)
    with pytest.raises(TypeError, match=words):
        Program(f"test_{pipeline.__name__}", (pipeline,)).run(pipeline.__name__, a, a)


@device
def scatter(e, nodes, a, out):
    out[nodes[e]] = a[e]


def scattered(nodes, a, out):
    launch_lanes(a.shape[0], scatter, nodes, a, out)


@device
def widen(e, a, out):
    out[e] = a[e] * 2


def widened(a, out):
    launch_lanes(a.shape[0], widen, a, out)


def test_lanes_refuse_what_would_go_wrong_in_silence():
    from numba.core.errors import TypingError

    a = np.zeros(16, np.float32)
    with pytest.raises(TypingError, match="cannot store through node indices"):
        Program("test_scatter", (scattered,)).run("scattered", np.zeros(16, np.int32), a, a)
    with pytest.raises(TypingError, match="float_lanes"):
        Program("test_widen", (widened,)).run("widened", a, a)


def test_auto_chooses_by_work(monkeypatch):
    monkeypatch.setattr(program.threads, "num_threads", lambda: 2)
    monkeypatch.delenv("DIFFLOOM_PARALLEL_FROM", raising=False)
    assert program._choose(None) == "serial"
    assert program._choose(program.PARALLEL_FROM / 2) == "serial"
    assert program._choose(program.PARALLEL_FROM * 2) == "parallel"
    assert program._choose(program.PARALLEL_FROM / 2, passes=1000) == "parallel"
    assert program._choose(program.PARALLEL_FROM_WHEN_RUNNING / 2, passes=1000) == "serial"
    monkeypatch.setenv("DIFFLOOM_PARALLEL_FROM", "10")
    assert program._choose(11) == "parallel"
    monkeypatch.setattr(program.threads, "num_threads", lambda: 1)
    assert program._choose(1e9) == "serial"


def test_pipelines_without_source_are_explained():
    namespace = {"launch": launch, "double": double}
    exec("def hidden(a, out):\n    launch(3, double, a, out)\n", namespace)
    with pytest.raises(TypeError, match="pipeline hidden: its source cannot be read"):
        Program("test_hidden", (namespace["hidden"],)).run("hidden", np.zeros(3), np.zeros(3))


def whole_runs(n, x, y):
    launch_runs(n, fade, x)
    with independent:
        launch_runs(n, fade, x)
        launch(n, fade, y)


@pytest.mark.parametrize("target", ["serial", "parallel"])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_whole_runs_leave_no_rest_to_compile(target, real):
    runs = Program("test_whole_runs", (whole_runs,))
    x, y = np.arange(24, dtype=real), np.ones(24, real)
    text = runs.generated("whole_runs", "cpu", (16, x, y), "")[0]
    assert text.count(" fade(") == 3
    runs.run("whole_runs", 16, x, y, target=target)
    assert (x == np.arange(24) * np.where(np.arange(24) < 16, 0.25, 1.0)).all()
    assert (y == np.where(np.arange(24) < 16, 0.5, 1.0)).all()
