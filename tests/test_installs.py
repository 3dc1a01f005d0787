"""Real installs from wheels into a fresh environment: each plugin alone beside the core, then everything."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def distribution(plugin: str) -> str:
    return "diffloom-" + plugin.replace("_", "-")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """Wheels of all distributions, built from a copy so that nothing is left behind in the repository."""
    copy, built = tmp_path_factory.mktemp("source") / "diffloom", tmp_path_factory.mktemp("wheels")
    leave = shutil.ignore_patterns(".*", "build", "dist", "wheels", "site", "tests", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=leave)
    sources = [copy, copy / "core", *(copy / "plugins" / plugin for plugin in PLUGINS)]
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(built)]
    subprocess.run([*pip, *map(str, sources)], check=True)
    return built


class Fresh:
    """An environment that sees nothing but what is installed into it."""

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


def test_wheels_hold_their_package_and_no_tests(wheels):
    files = sorted(wheels.glob("*.whl"))
    assert len(files) == len(PLUGINS) + 2
    for file in files:
        names = zipfile.ZipFile(file).namelist()
        package = file.name.split("-")[0].replace("diffloom_core", "diffloom")
        meta = file.name.startswith("diffloom-")
        assert meta or f"{package}/py.typed" in names
        stray = [name for name in names if not name.startswith((f"{package}/", f"{file.name.split('-')[0]}-"))]
        assert not stray, f"{file.name} holds {stray}"


def test_the_core_works_alone(fresh):
    assert set(fresh.plugins()) == {"diffloom-core"}
    assert "PyTorch" in fresh.run("diffloom", "doctor")
    fresh.pip("check")


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_installs_alone_beside_the_core(fresh, plugin):
    before = fresh.installed()
    fresh.install(fresh.wheel(distribution(plugin)))
    try:
        fresh.pip("check")
        found = fresh.plugins()
        assert set(found) == {"diffloom-core", distribution(plugin)}
        name = found[distribution(plugin)]["name"]
        assert " 0 failed" in fresh.run("diffloom", "plugins", "check", name)
    finally:
        fresh.pip("uninstall", "-q", "-y", *(fresh.installed() - before))
    assert set(fresh.plugins()) == {"diffloom-core"}


def test_everything_installs_together(fresh):
    fresh.install("--find-links", str(fresh.wheels), "diffloom[all]", *map(str, fresh.wheels.glob("*.whl")))
    fresh.pip("check")
    assert set(fresh.plugins()) == {"diffloom-core", *map(distribution, PLUGINS)}
