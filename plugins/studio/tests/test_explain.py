"""``diffloom explain``: everything installed can be explained, near misses are suggested, and it is quick."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.plugins import get_model, installed_registry, models
from diffloom.plugins.kinds import KINDS
from diffloom_experiments.keys import file_keys


def explained(name, code=0):
    result = CliRunner().invoke(diffloom, ["explain", name])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def test_a_parameter_shows_its_spec():
    said = explained("springs.stiffness")
    assert said.startswith("springs.stiffness: parameter of the model springs (diffloom-physics-springs")
    for part in (
        "force per stretch",
        "unit N/m",
        "shape (springs,)",
        "bounds at least 0",
        "log space",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Surface", ("class of diffloom.interfaces", "from diffloom.interfaces import Surface", "vertices:", "takes")),
        ("NodeTerm", ("class of diffloom_mechanics", "force:", "update=None")),
        ("Model", ("to define axes, dynamics, initial_state, specs, surface",)),
        ("simulate", ("function of diffloom", "save_every=None")),
    ],
)
def test_an_interface_is_printed(name, parts):
    said = explained(name)
    for part in parts:
        assert part in said, said


@pytest.mark.parametrize("name", models())
def test_every_parameter_of_every_model_is_explained(name):
    for spec in get_model(name).example().specs:
        said = explained(f"{name}.{spec.name}")
        assert " ".join(spec.doc.split()) in said
        assert f"unit {spec.unit or 'none'}" in said


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_everything_registered_is_explained(kind):
    for entry in installed_registry().entries(kind):
        said = explained(entry.name)
        assert f"{entry.name}: {kind.singular} of the plugin {entry.origin.plugin}" in said
        assert entry.summary in said


def test_settings_come_with_their_own_sentences():
    said = explained("cma.population")
    assert "cma.population: setting of the optimiser cma" in said
    assert "Simulations per generation" in said
    assert "first standard deviation" not in said, "that is another setting's"
    assert "default 0" in said
    assert explained("renderer.softras.sigma") == explained("softras.sigma")
    assert "default 0.1" in explained("adam.rate")
    assert 'to be found: [unknowns."camera.distance"]' in explained("orbit.distance")


@pytest.mark.parametrize("place", file_keys())
def test_every_key_of_a_file_is_explained(place):
    key = file_keys()[place]
    assert key.text != place.rpartition(".")[2], "give it a description in the schema"
    said = explained(place)
    assert said.startswith(f"{key.place}: key of an experiment file {' '.join(key.text.split())}")


def test_keys_are_found_as_they_stand_in_a_file():
    assert explained("unknowns.mass.start") == explained("unknowns.start")
    assert explained("stages.0.optimiser") == explained("stages.optimiser")
    assert "default none: it must be given" in explained("unknowns.mass.start")
    assert "default auto" in explained("time.dt")
    assert "more than 0" in explained("time.dt")
    assert "keys dt, steps, duration, integrator, windows, gradient" in explained("time")


def test_a_bare_name_is_looked_up_everywhere():
    said = explained("shear_modulus")
    assert "fem.shear_modulus: parameter" in said
    assert "cloth.shear_modulus: parameter" in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("springs.stifness", "did you mean 'springs.stiffness'"),
        ("unknown.strat", "did you mean 'unknowns.start'"),
        ("gaus_newton", "did you mean 'gauss_newton'"),
        ("shear_modulu", "'fem.shear_modulus'"),
        ("adam.speed", "nothing is called 'adam.speed'. The optimiser 'adam' has: rate, betas, floor"),
        ("qqqq.xxxx", "`diffloom plugins` lists what is installed"),
    ],
)
def test_near_misses_are_suggested(name, message):
    assert message in explained(name, code=1)


def test_a_key_is_explained_without_torch_and_soon():
    code = (
        "import sys; from diffloom_studio.explain import find_explanations; "
        "assert find_explanations('unknowns.start'); print('torch' in sys.modules or 'numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert result.stdout.strip() == "False"


def test_a_word_of_a_name_finds_the_name():
    assert "fem.shear_modulus" in explained("shear", code=1)
