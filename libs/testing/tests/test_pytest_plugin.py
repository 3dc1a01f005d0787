"""The pytest plugin in a run of its own."""

import subprocess
import sys

TESTS = """
import pytest
import torch
from diffloom.plugins import models, integrators
from diffloom_testing import parametrize_with_checks
from diffloom_testing.systems import ToyChain

class Leaky(ToyChain):
    def surface(self, trajectory, params):
        found = super().surface(trajectory, params)
        return type(found)(found.vertices.detach(), found.faces)

@parametrize_with_checks([ToyChain], families=["rest", "surface"])
def test_sound(subject, check):
    assert subject == "ToyChain"
    check()

@parametrize_with_checks([Leaky], families=["surface"], expected_failures={"surface.gradient": "cut off on purpose"})
def test_expected(subject, check):
    check()

@parametrize_with_checks([Leaky], families=["surface"])
def test_leaky(subject, check):
    check()

def test_the_registry_is_hermetic(hermetic_registry):
    assert models() == ()
    assert "semi_implicit" in integrators()

def test_toys(toy_model, toy_surface, toy_camera):
    assert toy_model.params(torch.float64)["mass"] == 0.2
    assert len(toy_surface(2)) == 2
    assert toy_camera(size=(8, 9)).width == 9
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-p", "diffloom_testing.pytest_plugin", "-v", "-rsx", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_one_item_per_check_with_counts_at_the_end(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    result = run(tmp_path)
    assert "test_sound[ToyChain-rest.stays] PASSED" in result.stdout
    assert "test_expected[Leaky-surface.gradient] XFAIL" in result.stdout
    assert "cut off on purpose" in result.stdout
    assert "test_leaky[Leaky-surface.gradient] FAILED" in result.stdout
    assert "test_the_registry_is_hermetic PASSED" in result.stdout
    assert "test_toys PASSED" in result.stdout
    assert "model ToyChain: 4 checks ran: 4 passed, 0 failed, 0 skipped" in result.stdout
    assert "model Leaky: 6 checks ran: 4 passed, 1 failed, 0 skipped, 1 failed as expected" in result.stdout
    assert result.stdout.count("FAILED") == 1, result.stdout


def test_the_plugin_brings_nothing_heavy_into_a_run(tmp_path):
    (tmp_path / "test_light.py").write_text(
        "import sys\n\ndef test_light():\n    assert not {'torch', 'numba', 'rich'} & set(sys.modules)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    result = run(tmp_path, "-p", "no:hypothesispytest")
    assert result.returncode == 0, result.stdout + result.stderr


def test_without_pytest_it_says_what_is_missing():
    code = "import sys; sys.modules['pytest'] = None\nimport diffloom_testing\nimport diffloom_testing.pytest_plugin"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "this is a plugin of pytest, which is not installed: pip install pytest" in result.stderr
