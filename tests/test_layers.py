"""The layers of the repository: who may import whom, drawn from the syntax trees by tools/import_graph.py."""

import subprocess
import sys
from pathlib import Path

import import_graph
import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES_OF_CORE = 6000


@pytest.fixture(scope="module")
def graph():
    return import_graph.Repository(ROOT)


def told(lines):
    return f"{len(lines)} of them:\n" + "\n".join(lines)


def test_every_distribution_stands_in_a_layer(graph):
    here = {each.name for each in graph.distributions.values()}
    assert here >= {"core", "kernels", "geometry", "raster", "mechanics", "testing", "fitting", "studio"}
    for each in graph.distributions.values():
        assert each.layer >= 0
    named = {name for layer in import_graph.LAYERS for name in layer if "*" not in name}
    assert named <= here, "a layer names a distribution that is not there"


def test_nothing_is_imported_from_a_layer_above(graph):
    lines = graph.upward()
    assert not lines, told(lines)


def test_only_public_names_are_imported_from_another_distribution(graph):
    lines = graph.private()
    assert not lines, told(lines)


def test_public_modules_exist_and_export_their_names(graph):
    for each in graph.distributions.values():
        for module in each.public:
            assert module in each.modules, f"{each.name} lists {module} as public, and there is none"
            assert graph.exports(module) or module == each.package, f"{module} is public and exports nothing"


def test_no_modules_import_each_other_at_import_time(graph):
    lines = graph.cycles()
    assert not lines, told(lines)


def test_every_distribution_requires_what_it_imports_and_nothing_else(graph):
    lines = graph.wrong_dependencies()
    assert not lines, told(lines)


def test_the_core_stays_small():
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "core/src").rglob("*.py"))
    assert lines <= MOST_LINES_OF_CORE


def test_the_core_works_without_numba():
    """Block numba: everything of the core can be imported and a model of plain PyTorch is simulated."""
    probe = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "scipy", "trimesh") or name.startswith("diffloom_"):
            raise ModuleNotFoundError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import diffloom
import diffloom.cli, diffloom.cli.doctor, diffloom.cli.group, diffloom.cli.plugins
import diffloom.interfaces, diffloom.notebook, diffloom.plugins
import torch
from diffloom.interfaces import CustomStep, Integrator, Model, ParamSpec, State, Trajectory

class Halving(Model):
    specs = (ParamSpec("rate", 0.5, "", "factor of each step"),)
    axes = {}

    def initial_state(self, params):
        return State(torch.ones(1, 1), torch.zeros(1, 1))

    def dynamics(self, params, control):
        step = lambda k, dt, state: State(state.q * params["rate"], state.u, state.time + dt)
        return CustomStep(step, (params["rate"],))

    def surface(self, trajectory, params):
        raise NotImplementedError

class Steps(Integrator):
    def refuses(self, dynamics):
        return None

    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        states = [state]
        for k in range(steps):
            states.append(dynamics.step(k, dt, states[-1]))
        q, u = (torch.stack([getattr(states[k], name) for k in save]) for name in "qu")
        return Trajectory(q, u, torch.tensor([states[k].time for k in save]))

rate = torch.tensor(0.5, requires_grad=True)
model = Halving()
path = diffloom.simulate(model, model.params(rate=rate), dt=0.1, steps=3, integrator=Steps())
path.q[-1].sum().backward()
assert float(rate.grad) == 0.75
assert not {"numba", "llvmlite"} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


SAMPLE = {
    "core/pyproject.toml": '[project]\nname = "diffloom-core"\ndependencies = ["numpy>=1"]\n'
    '[tool.diffloom]\npublic = ["diffloom.errors"]\n',
    "core/src/diffloom/__init__.py": "",
    "core/src/diffloom/__init__.pyi": "from diffloom.a import one as one\n",
    "core/src/diffloom/errors.py": '__all__ = ["InputError"]\nInputError = 1\n_Hidden = 2\n',
    "core/src/diffloom/a.py": "import torch\nfrom diffloom.b import two\none = 1\n",
    "core/src/diffloom/b.py": "from diffloom import one\ntwo = 2\n",
    "core/src/diffloom/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from diffloom.d import x\n"
    "def f():\n    from diffloom.d import x\n",
    "core/src/diffloom/d.py": 'from diffloom import c\nx = 1\npath = "diffloom_kernels.low:thing"\n',
    "libs/kernels/pyproject.toml": '[project]\nname = "diffloom-kernels"\ndependencies = ["diffloom-core"]\n',
    "libs/kernels/src/diffloom_kernels/__init__.py": "",
    "libs/kernels/src/diffloom_kernels/low.py": "from diffloom import one\n"
    "from diffloom.errors import InputError, _Hidden\nfrom diffloom.a import one as again\nthing = 1\n",
}


@pytest.fixture
def sample(tmp_path):
    for name, text in SAMPLE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return import_graph.Repository(tmp_path)


def test_the_graph_finds_what_breaks_the_layers(sample):
    assert sample.upward() == ["diffloom.d:3 imports diffloom_kernels.low of a higher or equal layer"]
    assert sample.private() == [
        "diffloom.d:3 imports diffloom_kernels.low, which is not public",
        "diffloom_kernels.low:2 imports _Hidden, which diffloom.errors does not export",
        "diffloom_kernels.low:3 imports diffloom.a, which is not public",
    ]
    assert sample.cycles() == ["diffloom.a <-> diffloom.b"], "through the stub; c and d only in a function"
    assert sample.wrong_dependencies() == [
        "core imports diffloom_kernels (diffloom.d:3) and does not require it",
        "core imports torch (diffloom.a:1) and does not require it",
        "core requires numpy and does not import it",
    ]
