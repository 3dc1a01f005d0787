"""Plugins that live outside: installed from their own folders, checked by the suite, each fitting from pixels."""

import json
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = {
    "third_party_magnets": ("magnets", "dipoles", "fit_magnets.py"),
    "third_party_buoyancy": ("buoys", "buoyancy", "fit_waves.py"),
}


@pytest.fixture(scope="module")
def installed(environment, tmp_path_factory):
    """An environment with both installed, from copies so that nothing is left behind in the repository."""
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


@pytest.mark.parametrize("folder", PLUGINS)
def test_it_is_listed_with_its_model_and_its_term(folder, installed):
    model, term, _ = PLUGINS[folder]
    listing = json.loads(installed.diffloom("plugins", "--json").stdout)["plugins"]
    (found,) = [plugin for plugin in listing if plugin["distribution"] == f"loom-{folder.split('_')[-1]}"]
    assert found["state"] == "loaded"
    assert {(offer["kind"], offer["name"]) for offer in found["offers"]} == {("model", model), ("term", term)}


@pytest.mark.parametrize("folder", PLUGINS)
def test_it_passes_its_own_tests_and_the_suite(folder, installed):
    result = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "examples" / folder / "tests"))
    assert result.returncode == 0, result.stdout[-4000:]
    assert re.search(r"\d\d+ passed", result.stdout)


@pytest.mark.parametrize("folder", PLUGINS)
def test_its_example_finds_the_truth_from_pixels(folder, installed, tmp_path):
    picture = tmp_path / "picture.png"
    script = ROOT / "examples" / folder / PLUGINS[folder][2]
    assert len(script.read_text().splitlines()) <= 40
    result = installed.run(str(script), str(picture))
    assert result.returncode == 0, result.stderr[-3000:]
    found, truth = (
        [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", part)]
        for part in result.stdout.splitlines()[-1].split("truth")
    )
    assert len(found) == len(truth) > 0
    for ours, true in zip(found, truth, strict=True):
        assert abs(ours - true) <= 0.01 * max(map(abs, truth)) if true == 0.0 else abs(ours - true) <= 0.01 * abs(true)
    assert picture.stat().st_size > 1000
