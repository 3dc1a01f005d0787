"""Calls to other services, with stand-ins for those that are not installed here: each call is written down."""

import sys
import types

import pytest
from toy_results import result

from diffloom.interfaces import InputError
from diffloom_fitting.loop import Record
from diffloom_scale.engines import RETRIES, RayCluster, TaskError
from diffloom_scale.loggers import MlFlow, TensorBoard


def record(total, loss):
    return Record(total, 0, 0, "GaussNewton", total, loss, {"mass": 2.0, "velocity": [1.0, 3.0]}, 0.5, 0.1, 4, 0, 1.0)


class Calls:
    """Records the calls it gets."""

    def __init__(self):
        self.made = []

    def __getattr__(self, name):
        return lambda *args, **named: self.made.append((name, *args, *sorted(named.items())))


@pytest.fixture
def mlflow(monkeypatch):
    class Client(Calls):
        places = []  # noqa: RUF012

        def __init__(self, tracking_uri):
            super().__init__()
            self.places.append(tracking_uri)
            Client.last = self

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            self.made.append(("create_experiment", name))
            return "7"

        def create_run(self, number, run_name, tags):
            self.made.append(("create_run", number, run_name))
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))

    tracking = types.ModuleType("mlflow.tracking")
    tracking.MlflowClient = Client
    monkeypatch.setitem(sys.modules, "mlflow", types.ModuleType("mlflow"))
    monkeypatch.setitem(sys.modules, "mlflow.tracking", tracking)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Client


def test_mlflow_gets_every_iteration_and_the_end(mlflow, tmp_path):
    logger = MlFlow()
    logger.begin(tmp_path, "A throw", {"title": "A throw", "seed": 3})
    logger.record(record(1, 0.5))
    logger.record(record(2, 0.25))
    logger.end(result())
    logger.close()
    made = mlflow.last.made
    assert mlflow.places == [f"sqlite:///{tmp_path / 'mlflow.db'}"]
    assert ("create_run", "7", "A throw") in made
    assert ("log_param", "r", "seed", 3) in made
    assert [call for call in made if call[:3] == ("log_metric", "r", "loss")] == [
        ("log_metric", "r", "loss", 0.5, ("step", 1)),
        ("log_metric", "r", "loss", 0.25, ("step", 2)),
    ]
    assert made[-2:] == [("set_tag", "r", "verdict", "green"), ("set_terminated", "r", "FINISHED")]


def test_a_fit_that_fails_is_a_failed_run(mlflow, tmp_path):
    logger = MlFlow()
    logger.close()  # before it began
    logger.begin(tmp_path, "A throw", {})
    logger.close()
    assert mlflow.last.made[-1] == ("set_terminated", "r", "FAILED")


def test_tensorboard_has_a_scalar_for_every_number(monkeypatch, tmp_path):
    writers = []

    class Writer(Calls):
        def __init__(self, place):
            super().__init__()
            self.place = place
            writers.append(self)

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    logger = TensorBoard()
    logger.close()
    logger.begin(tmp_path, "A throw", {})
    logger.record(record(5, 0.5))
    logger.end(result())
    logger.close()
    (writer,) = writers
    assert writer.place == str(tmp_path / "tensorboard")
    assert ("add_scalar", "loss", 0.5, 5) in writer.made
    assert ("add_scalar", "velocity.1", 3.0, 5) in writer.made
    assert writer.made[-2:] == [("add_text", "verdict", "green"), ("close",)]


class FakeRay(types.ModuleType):
    """Ray in one process: the last task that waits is done first; tasks that say so fail or lose their worker."""

    def __init__(self, running=False):
        super().__init__("ray")
        self.running, self.log = running, []
        self.exceptions = types.SimpleNamespace(
            RayError=RuntimeError, RayTaskError=type("RayTaskError", (RuntimeError,), {})
        )

    def is_initialized(self):
        return self.running

    def init(self, address, **how):
        if address == "nowhere:1":
            raise ConnectionError("refused")
        self.log.append(("init", address, how.get("include_dashboard")))
        self.running = True

    def shutdown(self):
        self.log.append("shutdown")
        self.running = False

    def remote(self, **how):
        self.log.append(("remote", how["max_retries"]))
        return lambda work: types.SimpleNamespace(remote=lambda task: (work, task))

    def wait(self, waiting, num_returns):
        return [waiting[-1]], waiting[:-1]

    def get(self, done):
        work, task = done
        if task == "lost":
            raise RuntimeError("the node died")
        try:
            return work(task)
        except ValueError as error:
            wrong = self.exceptions.RayTaskError("a task failed")
            wrong.cause = error
            raise wrong from error


def double(task):
    if task == "bad":
        raise ValueError("bad task")
    return 2 * task


def test_ray_hands_back_results_with_their_numbers(monkeypatch):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert dict(RayCluster().run(double, [1, 2, 3])) == {0: 2, 1: 4, 2: 6}
    assert ray.log == [("init", None, False), ("remote", RETRIES), "shutdown"]


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8265", "https://cluster/dashboard", "127.0.0.1:6379/x", "", "a b:1", "user@host:1"]
)
def test_a_dashboard_is_no_cluster(monkeypatch, address):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(InputError, match="expected HOST:PORT of the cluster's head.*dashboard"):
        list(RayCluster(address).run(double, [1]))
    assert ray.log == []


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "head.example:6379", "ray://head:10001", "[::1]:6379", "auto"])
def test_addresses_of_clusters_are_taken(monkeypatch, address):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert list(RayCluster(address).run(double, [5])) == [(0, 10)]
    assert ("init", address, None) in ray.log


def test_a_ray_that_runs_already_is_left_running(monkeypatch):
    ray = FakeRay(running=True)
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert list(RayCluster("auto").run(double, [5])) == [(0, 10)]
    assert ray.log == [("remote", RETRIES)]


@pytest.mark.parametrize(
    ("task", "kind", "words"), [("bad", ValueError, "bad task"), ("lost", TaskError, "task 1 was")]
)
def test_errors_on_ray_are_those_of_this_process(monkeypatch, task, kind, words):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(kind, match=words):
        list(RayCluster().run(double, [1, task]))
    assert ray.log[-1] == "shutdown"


def test_missing_ray_and_missing_cluster_are_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    with pytest.raises(InputError, match="no cluster answers at 'nowhere:1'"):
        list(RayCluster("nowhere:1").run(double, [1]))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"diffloom-scale\[ray\]"):
        list(RayCluster().run(double, [1]))
