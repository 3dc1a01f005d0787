"""Packages that ``diffloom plugins new`` writes: each installs, passes its tests and the suite, and keeps our style."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diffloom.cli.group import diffloom

FORMS = {
    "physics": (["new", "physics", "compiled_tether"], "diffloom-physics-compiled-tether", "compiled_tether"),
    "physics --torch": (["new", "physics", "torch-tether", "--torch"], "diffloom-physics-torch-tether", "torch_tether"),
    "render": (["new", "render", "triangles"], "diffloom-render-triangles", "triangles"),
    "integrator": (["new", "integrator", "halved-drift"], "diffloom-integrator-halved-drift", "halved_drift"),
    "term": (["new", "term", "breeze"], "diffloom-term-breeze", "breeze"),
    "loss": (["new", "loss", "absolute"], "diffloom-loss-absolute", "absolute"),
    "optimiser": (["new", "optimiser", "resilient"], "diffloom-optimiser-resilient", "resilient"),
    "command": (["new", "command", "list_parameters"], "diffloom-command-list-parameters", "list_parameters"),
}
#: Families that the command runs, and how many of their checks must compare something at least; its own tests run all.
FAMILIES = {
    "integrator": (("gradients", "trouble"), 8),
    "term": (("declarations", "fits", "force"), 8),
    "loss": (("value", "gradients", "bad_input"), 5),
    "optimiser": (("descent", "resuming", "trouble"), 6),
    "command": ((), 0),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for arguments, _, _ in FORMS.values():
        result = CliRunner().invoke(diffloom, ["plugins", *arguments, "--into", str(folder)])
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def installed(environment, written):
    """An environment with all of them installed from their folders, as a user would, but without a network."""
    environment.pip("install", "--no-index", "--no-build-isolation", "--no-deps", *(str(p) for p in written.iterdir()))
    return environment


@pytest.mark.parametrize("form", FORMS)
def test_a_generated_package_is_listed_and_passes_its_tests(form, installed, written):
    _, distribution, name = FORMS[form]
    listing = json.loads(installed.diffloom("plugins", "--json").stdout)["plugins"]
    (found,) = [plugin for plugin in listing if plugin["distribution"] == distribution]
    assert (found["state"], [offer["name"] for offer in found["offers"]]) == ("loaded", [name])
    result = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(written / distribution))
    assert result.returncode == 0, result.stdout[-4000:]
    assert re.search(r"^[1-9]\d* passed", result.stdout, flags=re.MULTILINE), result.stdout[-4000:]


@pytest.mark.parametrize("form", FORMS)
def test_the_check_command_counts_and_passes(form, installed):
    families, least = FAMILIES.get(form, (("gradients", "bad_input"), 9))
    options = [word for family in families for word in ("--family", family)]
    result = installed.diffloom("plugins", "check", FORMS[form][2], *options)
    assert result.returncode == 0, result.stdout[-4000:]
    assert " 0 failed" in result.stdout
    assert int(result.stdout.split(" compared something")[0].split()[-1]) >= least


COMPARE = """
import torch
from diffloom import get_model, simulate
ends = []
for name in ("compiled_tether", "torch_tether"):
    model = get_model(name)(count=2)
    stiffness = torch.tensor([8.0, 12.0], dtype=torch.float64, requires_grad=True)
    motion = simulate(model, model.params(torch.float64, stiffness=stiffness), dt=1e-2, steps=40, save=(40,))
    motion.q.square().sum().backward()
    ends.append((motion.q.detach(), stiffness.grad))
print(all(torch.allclose(a, b, rtol=1e-10) for a, b in zip(*ends)))
"""


def test_both_forms_of_the_model_move_alike(installed):
    result = installed.run("-c", COMPARE)
    assert result.stdout == "True\n", result.stderr


@pytest.mark.parametrize("form", FORMS)
def test_a_generated_package_passes_ruff(form, written):
    folder = written / FORMS[form][1]
    ruff = [sys.executable, "-m", "ruff"]
    rules = ["--isolated", "--line-length", "120"]
    selected = ["--select", "E,F,I,B,UP,C4,SIM,PIE,RET", "--ignore", "RET504"]
    checked = subprocess.run([*ruff, "check", *rules, *selected, "."], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    shaped = subprocess.run([*ruff, "format", "--check", *rules, "."], cwd=folder, capture_output=True, text=True)
    assert shaped.returncode == 0, shaped.stdout
    words = ("__NAME__", "__CLASS__", "__PACKAGE__", "__DISTRIBUTION__", "__FILES__", "__KERNELS__", "__TESTS__")
    assert len(list((folder / "tests").glob("*.*"))) == 1  # and a __pycache__, where Python writes it
    texts = [path.read_text() for path in folder.rglob("*") if path.suffix in (".py", ".toml", ".md")]
    assert not [word for word in words for text in texts if word in text]


def test_invalid_names_of_packages_are_refused(tmp_path):
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(diffloom, ["plugins", "new", *arguments, "--into", str(tmp_path)])
        assert result.exit_code == 1, result.output
        return result.output

    assert "cannot be a name: use lower case letters" in run("physics", "My Model")
    assert "cannot be a name" in run("render", "class")
    assert "a model 'springs' is registered already, by diffloom-physics-springs" in run("physics", "springs")
    assert "an integrator 'leapfrog' is registered already, by diffloom-mechanics" in run("integrator", "leapfrog")
    assert "an optimiser 'adam' is registered already, by diffloom-fitting" in run("optimiser", "adam")
    assert "has 300 letters; expected a name of at most 64" in run("render", "a" * 300)
    (tmp_path / "a-file").write_text("")
    result = CliRunner().invoke(diffloom, ["plugins", "new", "render", "mine", "--into", str(tmp_path / "a-file/b")])
    assert "choose another folder with --into" in result.output
    (tmp_path / "diffloom-render-mine").mkdir()
    assert "exists already; move it away" in run("render", "mine")
