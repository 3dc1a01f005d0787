"""Tasks on this machine's processes and on a Ray cluster: the same results when workers die."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from diffloom.interfaces import InputError
from diffloom_scale.engines import LocalPool, TaskError, make_engine

#: Functions that workers import, in a folder of its own: a test file is no module to them.
WORK = '''
import os, signal, time
from pathlib import Path

def square(task):
    return task * task

def die_once(task):
    """The first worker that is given task 3 is killed while it works at it."""
    number, folder = task
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number, os.getpid()

def die_always(task):
    os.kill(os.getpid(), signal.SIGKILL)

def refuse(task):
    raise ValueError(f"task {task} is refused")

def fit_or_die(task):
    """A fit of a sweep, but the first worker that gets seed 1 is killed in the middle of it."""
    import threading
    from diffloom_scale.sweeps import fit_task
    mark = Path(os.environ["DIFFLOOM_TEST_MARK"])
    if task.case.seed == 1 and not mark.exists():
        mark.write_text(str(os.getpid()))
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return fit_task(task)
'''


@pytest.fixture
def work(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "engine_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    spec = importlib.util.spec_from_file_location("engine_work", folder / "engine_work.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "engine_work", module)
    spec.loader.exec_module(module)
    return module


def test_one_job_is_done_by_this_process(work):
    assert list(LocalPool(1).run(work.square, [1, 2, 3])) == [(0, 1), (1, 4), (2, 9)]


def test_a_worker_that_dies_is_replaced(work, tmp_path):
    found = dict(LocalPool(2).run(work.die_once, [(k, str(tmp_path)) for k in range(6)]))
    assert (tmp_path / "died").exists()
    assert {number: result[0] for number, result in found.items()} == {k: k * k for k in range(6)}
    assert found[3][1] != int((tmp_path / "died").read_text())


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_given_up(work):
    with pytest.raises(TaskError, match="4 times a worker process died; 2 of 2 tasks"):
        list(LocalPool(2).run(work.die_always, [0, 1]))


def test_errors_of_tasks_are_raised(work):
    with pytest.raises(ValueError, match="task 5 is refused"):
        list(LocalPool(2).run(work.refuse, [5]))
    with pytest.raises(InputError, match="engine: got 'cloud'; expected one of local, ray"):
        make_engine("cloud")
    with pytest.raises(InputError, match="add --engine ray"):
        make_engine("local", address="auto")


def without_clocks(outcome):
    """An outcome but for what the clock and the process say."""
    timed = ("seconds", "processor_seconds", "compile_seconds", "seconds_by_part", "peak_memory_bytes")
    return json.dumps({k: v for k, v in outcome.items() if k not in timed}, sort_keys=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_sweep_on_two_nodes_with_a_killed_worker(work, cluster, tmp_path, monkeypatch):
    """Every outcome is that of the local engine; the killed fit ran again; a second sweep runs nothing."""
    import ray

    from diffloom_scale import sweeps as running
    from diffloom_scale.sweeps import Case

    mark = tmp_path / "killed"
    monkeypatch.setenv("DIFFLOOM_TEST_MARK", str(mark))
    file = str(Path(__file__).parents[3] / "experiments" / "bounce.toml")
    cases = [Case(file, seed, quick=True) for seed in range(3)]
    local = dict(running.collect_outcomes(cases, str(tmp_path / "local"), LocalPool(1)))
    monkeypatch.setattr(running, "fit_task", work.fit_or_die)
    engine = make_engine("ray", address=cluster)
    ray.init(address=cluster, log_to_driver=False, runtime_env={"env_vars": {
        "DIFFLOOM_TEST_MARK": str(mark), "PYTHONPATH": os.environ["PYTHONPATH"]}})  # fmt: skip
    try:
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        far = dict(running.collect_outcomes(cases, str(tmp_path / "ray"), engine))
    finally:
        ray.shutdown()
    assert mark.exists(), "a worker was killed on the way"
    assert sorted(far) == sorted(local) == [0, 1, 2]
    for number, outcome in local.items():
        assert without_clocks(outcome) == without_clocks(far[number])

    def nothing(task):
        raise AssertionError("a finished case was run again")

    monkeypatch.setattr(running, "fit_task", nothing)
    again = dict(running.collect_outcomes(cases, str(tmp_path / "ray"), LocalPool(1)))
    assert again == far
