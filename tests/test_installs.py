"""Real installs from wheels into a fresh environment: a model and a renderer, each plugin alone, then everything."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import build_wheels
import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBS = sorted(path.parent.name for path in ROOT.glob("libs/*/pyproject.toml"))
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
FOLDERS = {"diffloom-core": "core"}
FOLDERS |= {f"diffloom-{name}": f"libs/{name}" for name in LIBS}
FOLDERS |= {f"diffloom-{name.replace('_', '-')}": f"plugins/{name}" for name in PLUGINS}


def distribution(plugin: str) -> str:
    return "diffloom-" + plugin.replace("_", "-")


def closure(*names: str) -> set[str]:
    """Distributions of this project that come along with the named ones."""
    found, rest = set(), list(names)
    while rest:
        name = rest.pop()
        if name in FOLDERS and name not in found:
            found.add(name)
            project = tomllib.loads((ROOT / FOLDERS[name] / "pyproject.toml").read_text())["project"]
            rest += [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]
    return found


def with_plugin(names: set[str]) -> set[str]:
    """Return the named distributions that register something."""
    texts = {name: (ROOT / FOLDERS[name] / "pyproject.toml").read_text() for name in names}
    return {
        name for name, text in texts.items() if name == "diffloom-core" or "[project.entry-points.diffloom]" in text
    }


def build(folders: list[Path], built: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(built)]
    subprocess.run([*pip, *map(str, folders)], check=True)


SIMULATE = """
import sys
import torch
from diffloom import Camera, get_model, get_renderer, simulate

model = get_model(sys.argv[1]).example()
settings = model.example_settings
value = model.params(torch.float64, **settings.values)[settings.fit].clone().requires_grad_()
params = model.params(torch.float64, **{**settings.values, settings.fit: value})
path = simulate(model, params, dt=settings.dt, steps=5, save=(0, 5))
camera = Camera.look_at((0.5, 1.0, 4.0), fov=50.0, size=(24, 32), dtype=torch.float64)
image = get_renderer("softras")().render(model.surface(path, params), camera)
assert image.rgba.shape == (2, 24, 32, 4)
assert float(image.rgba[..., 3].max()) > 0.1
image.rgba.square().sum().backward()
assert value.grad is not None and bool(value.grad.isfinite().all()) and bool(value.grad.any())
print("simulated, rendered and differentiated")
"""


def test_a_model_and_a_renderer_install_only_their_requirements(bare_environment, tmp_path):
    """Wheels by name, from a folder alone: the libraries come along, and nothing of the applications."""
    asked = ("diffloom-physics-springs", "diffloom-physics-fem", "diffloom-render-softras")
    expected = closure(*asked)
    assert not {"diffloom-fitting", "diffloom-studio", "diffloom-testing", "diffloom-video"} & expected
    copy = tmp_path / "source"
    for name in expected:
        shutil.copytree(ROOT / FOLDERS[name], copy / FOLDERS[name], ignore=build_wheels.LEFT_OUT)
    build([copy / FOLDERS[name] for name in sorted(expected)], tmp_path / "wheels")
    bare_environment.pip("install", "--no-index", "--find-links", str(tmp_path / "wheels"), *asked)
    names = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions() if 'diffloom' in d.name))"
    # -P: the folder that tests run in may hold the metadata of a build.
    assert set(bare_environment.run("-P", "-c", names).stdout.split()) == expected
    listing = json.loads(bare_environment.diffloom("plugins", "--json", DIFFLOOM_STRICT_PLUGINS="1").stdout)
    assert {plugin["distribution"] for plugin in listing["plugins"]} == with_plugin(expected)
    for model in ("springs", "fem"):
        result = bare_environment.run("-c", SIMULATE, model)
        assert result.stdout == "simulated, rendered and differentiated\n", result.stderr[-3000:]
    missing = bare_environment.diffloom("run", "x.toml")
    assert missing.returncode == 2
    assert "'run' comes with diffloom-studio, which is not installed: pip install diffloom-studio" in missing.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """Wheels of all distributions."""
    built = tmp_path_factory.mktemp("wheels")
    build_wheels.build(built)
    return built


class Fresh:
    """An environment that sees only packages installed into it."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        venv.create(folder, with_pip=True)
        self.bin, self.wheels = folder / "bin", wheels

    def run(self, *command: str, **variables: str) -> str:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DIFFLOOM_")}
        program = [str(self.bin / command[0]), *command[1:]]
        result = subprocess.run(program, capture_output=True, text=True, env=clean | variables, check=False)
        assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}\n{result.stderr}"
        return result.stdout

    def pip(self, *arguments: str) -> str:
        return self.run("python", "-m", "pip", *arguments)

    def install(self, *requirements: str) -> None:
        self.pip("install", "-q", "-c", str(ROOT / "constraints.txt"), *requirements)

    def wheel(self, name: str) -> str:
        (file,) = self.wheels.glob(f"{name.replace('-', '_')}-*.whl")
        return str(file)

    def installed(self) -> set[str]:
        return {item["name"] for item in json.loads(self.pip("list", "--format=json"))}

    def plugins(self) -> dict[str, dict]:
        listing = json.loads(self.run("diffloom", "plugins", "--json", DIFFLOOM_STRICT_PLUGINS="1"))
        return {plugin["distribution"]: plugin for plugin in listing["plugins"]}


@pytest.fixture(scope="module")
def fresh(wheels, tmp_path_factory) -> Fresh:
    """A fresh environment with the core and what it requires."""
    fresh = Fresh(tmp_path_factory.mktemp("fresh"), wheels)
    fresh.install(fresh.wheel("diffloom-core"))
    return fresh


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_wheels_hold_their_package_and_no_tests(wheels):
    files = sorted(wheels.glob("*.whl"))
    assert len(files) == len(FOLDERS) + 1
    for file in files:
        names = zipfile.ZipFile(file).namelist()
        package = file.name.split("-")[0].replace("diffloom_core", "diffloom")
        meta = file.name.startswith("diffloom-")
        assert meta or f"{package}/py.typed" in names
        stray = [name for name in names if not name.startswith((f"{package}/", f"{file.name.split('-')[0]}-"))]
        assert not stray, f"{file.name} holds {stray}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_core_works_alone(fresh):
    assert set(fresh.plugins()) == {"diffloom-core"}
    assert "PyTorch" in fresh.run("diffloom", "doctor")
    fresh.pip("check")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_installs_with_what_it_requires(fresh, plugin):
    before = fresh.installed()
    come = closure(distribution(plugin), "diffloom-testing")
    fresh.install("--find-links", str(fresh.wheels), distribution(plugin), "diffloom-testing")
    try:
        fresh.pip("check")
        found = fresh.plugins()
        assert set(found) == with_plugin(come)
        if distribution(plugin) in found:
            name = found[distribution(plugin)]["name"]
            assert " 0 failed" in fresh.run("diffloom", "plugins", "check", name)
    finally:
        fresh.pip("uninstall", "-q", "-y", *(fresh.installed() - before))
    assert set(fresh.plugins()) == {"diffloom-core"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_wheels_install_together(fresh):
    fresh.install("--find-links", str(fresh.wheels), "diffloom[plugins]")
    fresh.pip("check")
    assert set(fresh.plugins()) == with_plugin(set(FOLDERS))
