"""Plugins that live outside: installed from their own folders, checked by the suite, each fitting from pixels."""

import importlib
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from import_graph import Repository

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = {
    "third_party_magnets": {("model", "magnets"), ("term", "dipoles")},
    "third_party_buoyancy": {("model", "buoys"), ("term", "buoyancy")},
    "third_party_pendulum": {("model", "pendulum")},
    "third_party_yoshida": {("integrator", "yoshida")},
    "third_party_diffusion": {("model", "diffusion")},
    "third_party_edges": {("loss", "edges")},
    "third_party_rprop": {("optimiser", "rprop")},
    "third_party_sheet": {("command", "sheet")},
    "third_party_sphere": {("term", "ball")},
    "third_party_foam": {("contact law", "foam")},
}
SCRIPTS = {
    "third_party_magnets": "fit_magnets.py",
    "third_party_buoyancy": "fit_waves.py",
    "third_party_pendulum": "fit_length.py",
    "third_party_diffusion": "fit_diffusivity.py",
    "third_party_edges": "fit_in_haze.py",
    "third_party_sphere": "fit_radius.py",
}


@pytest.fixture(scope="module")
def installed(environment, tmp_path_factory):
    """An environment with all of them installed, from copies so that nothing is left behind in the repository."""
    copies = tmp_path_factory.mktemp("outside")
    for folder in PLUGINS:
        shutil.copytree(
            ROOT / "examples" / folder, copies / folder, ignore=shutil.ignore_patterns("*.egg-info", "build")
        )
    environment.pip(
        "install", "--no-index", "--no-build-isolation", "--no-deps", *(str(copies / name) for name in PLUGINS)
    )
    return environment


def test_every_outside_plugin_is_tested_here():
    assert set(PLUGINS) == {path.name for path in (ROOT / "examples").glob("third_party_*")}


@pytest.fixture(scope="module")
def graph():
    return Repository(ROOT)


def test_documented_public_packages_are_public_and_have_docstrings(graph):
    text = (ROOT / "docs" / "guide" / "versions.md").read_text()
    documented = set(re.findall(r"^\| `(diffloom[a-z_.]*)` \| [^`]", text, flags=re.MULTILINE))
    assert len(documented) >= 10
    for package in documented:
        assert package in graph.owner(package).public, f"{package} is documented as public; its pyproject.toml says not"
        assert importlib.import_module(package).__all__, f"{package} has no __all__"


@pytest.mark.parametrize("folder", PLUGINS)
def test_an_example_plugin_imports_public_names_only(folder, graph):
    private = []
    for path in sorted((ROOT / "examples" / folder / "src").rglob("*.py")):
        for found in graph.imports_of_file(path):
            owner = graph.owner(found.module)
            if owner is None:
                continue
            if found.module not in owner.public:
                private.append(found.module)
            elif found.name is not None and found.name not in graph.exports(found.module):
                private.append(f"{found.module}.{found.name}")
    assert not private, f"not public: {private}"


@pytest.mark.parametrize("folder", PLUGINS)
def test_an_example_plugin_requires_what_it_imports(folder, graph):
    """Import it with only the required distributions of this project."""
    project = tomllib.loads((ROOT / "examples" / folder / "pyproject.toml").read_text())["project"]
    required = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"] if line.startswith("diffloom")}
    owners = [
        graph.owner(found.module)
        for path in (ROOT / "examples" / folder / "src").rglob("*.py")
        for found in graph.imports_of_file(path)
    ]
    assert required == {owner.metadata["project"]["name"] for owner in owners if owner is not None}


@pytest.mark.parametrize("folder", PLUGINS)
def test_an_example_plugin_is_listed_with_its_registrations(folder, installed):
    listing = json.loads(installed.diffloom("plugins", "--json").stdout)["plugins"]
    (found,) = [plugin for plugin in listing if plugin["distribution"] == f"loom-{folder.split('_')[-1]}"]
    assert found["state"] == "loaded"
    assert {(offer["kind"], offer["name"]) for offer in found["offers"]} == PLUGINS[folder]


@pytest.mark.parametrize("folder", PLUGINS)
def test_an_example_plugin_passes_its_tests_and_the_suite(folder, installed):
    result = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "examples" / folder / "tests"))
    assert result.returncode == 0, result.stdout[-4000:]
    # A command and a contact law have no suite: their own tests are all there is.
    least = 5 if any(kind in ("command", "contact law") for kind, _ in PLUGINS[folder]) else 10
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) >= least


@pytest.mark.parametrize("folder", SCRIPTS)
def test_the_script_of_an_example_plugin_finds_the_truth_from_pixels(folder, installed, tmp_path):
    image = tmp_path / "image.png"
    script = ROOT / "examples" / folder / SCRIPTS[folder]
    assert len(script.read_text().splitlines()) <= 40
    result = installed.run(str(script), str(image))
    assert result.returncode == 0, result.stderr[-3000:]
    found, truth = (
        [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", part)]
        for part in result.stdout.splitlines()[-1].split("truth")
    )
    assert len(found) == len(truth) > 0
    for ours, true in zip(found, truth, strict=True):
        assert abs(ours - true) <= 0.01 * max(map(abs, truth)) if true == 0.0 else abs(ours - true) <= 0.01 * abs(true)
    assert image.stat().st_size > 1000


def test_an_experiment_file_names_an_optimiser_from_outside(installed, tmp_path):
    file = ROOT / "examples" / "third_party_rprop" / "springs.toml"
    result = installed.diffloom("run", str(file), "--out", str(tmp_path / "run"), "--no-report", "--no-check")
    assert result.returncode == 0, result.stderr[-3000:]
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert {each["name"] for each in found["estimates"]} == {"stiffness", "damping"}
    assert all(each["error"] < 0.01 for each in found["estimates"])
    wrong = installed.diffloom("run", str(file), "--set", "stages.0.optimiser={name='rprop', frist=0.1}")
    assert "'rprop' has no such setting; did you mean 'first'" in wrong.stderr


def test_a_command_from_outside_is_listed_and_draws(installed, tmp_path):
    assert "Draw frames of a scene side by side" in installed.diffloom("--help").stdout
    scene = ROOT / "examples" / "third_party_rprop" / "springs.toml"
    result = installed.diffloom("sheet", str(scene), "--out", str(tmp_path / "sheet.png"))
    assert result.returncode == 0, result.stderr[-3000:]
    assert (tmp_path / "sheet.png").stat().st_size > 500


def test_explain_covers_example_plugins(installed):
    assert "width of the box that both images are averaged over" in installed.diffloom("explain", "edges.blur").stdout
    assert "length of the first step" in installed.diffloom("explain", "rprop.first").stdout
