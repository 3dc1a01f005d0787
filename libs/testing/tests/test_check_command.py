"""``diffloom plugins check``, against a registry of the test's own."""

import json
from types import ModuleType

import pytest
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.plugins import Kind, Origin, PluginReport, PluginState, hookimpl
from diffloom_testing import Suite
from diffloom_testing.results import check, require


@pytest.fixture
def registry(hermetic_registry):
    """The core, mechanics, testing and a plugin whose offers cannot be loaded."""
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(register):
        register("toy", "no_such_module:Toy", summary="A toy [model]")
        register("shy", "no_such_module:Shy", summary="A shy model", available=lambda: "no GPU here")

    @hookimpl
    def diffloom_register_commands(register):
        register("absent", "no_such_module:command", summary="Not there")

    module.diffloom_register_models = diffloom_register_models
    module.diffloom_register_commands = diffloom_register_commands
    hermetic_registry.install(module, "toy", "toy-dist", "1.2")
    return hermetic_registry


@pytest.fixture
def run(registry):
    return lambda *arguments: CliRunner().invoke(diffloom, arguments)


def test_check_of_nothing_names_what_is_installed(run):
    result = run("plugins", "check", "nothing")
    assert result.exit_code == 1
    assert "'nothing' is neither an installed plugin nor a name that one registers." in result.output
    assert "Installed plugins: core, mechanics, testing, toy" in result.output


def test_check_of_a_broken_plugin_says_why(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    result = run("plugins", "check", "bad")
    assert result.exit_code == 1
    assert "plugin 'bad' of bad-dist 3 is broken: it hurts" in result.output


def test_check_runs_the_suite_and_counts(run):
    result = run("plugins", "check", "custom_step")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "integrator custom_step" in lines
    assert any(line.startswith("schedule 3 passed") for line in lines)
    assert any(line.startswith("SKIPPED all of accuracy: a step of its own is the model's affair") for line in lines)
    assert " checks ran: " in lines[-1] and " 0 failed" in lines[-1]


def test_check_lists_every_check_when_asked(run):
    result = run("plugins", "check", "custom_step", "-v", "--family", "schedule")
    assert "schedule.times[system with its own step]" in result.output
    assert "determinism" not in result.output
    wrong = run("plugins", "check", "custom_step", "--family", "beauty")
    assert wrong.exit_code == 1
    assert "beauty is no family of integrator checks; expected interface" in wrong.output


def test_check_fails_with_exit_code_1_and_says_what(run):
    result = run("plugins", "check", "toy")
    assert result.exit_code == 1
    assert (
        "FAILED   loading.from[no_such_module:Toy]: the model 'toy' of toy-dist 1.2 cannot be loaded" in result.output
    )
    assert "SKIPPED  all of loading: unavailable here: no GPU here" in result.output
    assert " 2 failed" in result.output.splitlines()[-1], "a model and a command"


def test_check_as_json(run):
    result = run("plugins", "check", "custom_step", "--family", "interface", "--json")
    data = json.loads(result.output)
    assert data["counts"]["failed"] == 0
    assert data["counts"]["ran"] == data["counts"]["passed"] > 3
    (subject,) = data["subjects"]
    assert (subject["kind"], subject["name"]) == ("integrator", "custom_step")
    assert {r["outcome"] for r in subject["results"]} == {"passed"}


class Sound:
    """A thing of a kind that a plugin brings, with a suite of its own."""

    kind, expected_failures = "sound", {}

    def __init__(self, name):
        self.name = name

    @property
    def sound(self):
        return self


@check("volume")
def loud(subject):
    """The name is loud."""
    require(subject.name == "bang", "too quiet")


class Band:
    """A plugin that defines a kind and registers two things of it, and a suite for the kind."""

    @hookimpl
    def diffloom_define_kinds(self):
        return [Kind("sounds", "sound")]

    @hookimpl
    def diffloom_register_sounds(self, register):
        register("bang", Sound, summary="Loud")
        register("hush", Sound, summary="Quiet")

    @hookimpl
    def diffloom_register_suites(self, register):
        register("sound", Suite(Sound, Sound, (loud,)), summary="Checks of a sound")


def test_a_kind_that_a_plugin_brings_has_the_suite_that_it_registers(run, registry):
    registry.install(Band(), "band")
    good, bad = run("plugins", "check", "bang"), run("plugins", "check", "hush")
    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert "2 checks ran: 2 passed" in good.output, "it loads, and it is loud"
    assert "FAILED   volume.loud" in bad.output


def test_a_kind_without_a_suite_is_loaded_and_reported(run):
    result = run("plugins", "check", "hunt_crossley")
    assert result.exit_code == 0
    assert "the kind 'contact law' has no suite; only loaded" in result.output
