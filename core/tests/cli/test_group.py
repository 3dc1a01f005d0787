import os
import subprocess
import sys

import pytest

from diffloom.cli.start import report_user_errors
from diffloom.plugins import FactoryError, PluginError
from diffloom.plugins.entry import Origin, PluginReport, PluginState


def test_help_lists_every_command_by_its_summary_and_imports_none(run):
    result = run("--help")
    assert result.exit_code == 0
    for line in ("absent   Not there", "hello    Greet", "doctor   Report what runs here", "plugins  List, check"):
        assert line in result.output


def test_commands_of_plugins_run(run):
    assert run("hello").output == "hello\n"


def test_an_unknown_command_names_the_nearest(run):
    result = run("helo")
    assert result.exit_code == 2
    assert "there is no command 'helo'. Did you mean 'hello'? Installed commands: absent, doctor" in result.output


def test_a_published_command_that_is_missing_says_what_to_install(run):
    result = run("run")
    assert result.exit_code == 2
    assert (
        "the command 'run' comes with diffloom-studio, which is not installed: pip install diffloom-studio"
        in result.output
    )


def test_a_command_that_cannot_be_loaded_says_whose_it_is(run):
    error = run("absent").exception
    assert isinstance(error, FactoryError)
    assert "the command 'absent' of toy-dist 1.2 cannot be loaded from no_such_module:command" in str(error)
    assert "is not a click command" in str(run("odd").exception)


def test_user_errors_are_reported_without_a_traceback(capsys):
    from diffloom.interfaces import InputError

    for error in (PluginError("put it right"), InputError("put it right")):
        with pytest.raises(SystemExit) as stop, report_user_errors():
            raise error
        assert stop.value.code == 1
        assert capsys.readouterr().err == "Error: put it right\n"
    with pytest.raises(ZeroDivisionError), report_user_errors():
        raise ZeroDivisionError


def test_strict_mode_stops_commands_of_plugins_but_not_those_that_look_into_it(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    strict = {"DIFFLOOM_STRICT_PLUGINS": "1"}
    assert "plugin 'bad' of bad-dist 3 is broken: it hurts" in str(run("hello", **strict).exception)
    listing = run("plugins", **strict)
    assert listing.exit_code == 1
    assert "toy-dist" in listing.output
    assert run("plugins").exit_code == 0


def test_no_plugin_switches_off_for_one_command_only(monkeypatch):
    from click.testing import CliRunner

    from diffloom.cli.group import diffloom

    monkeypatch.setenv("DIFFLOOM_PLUGINS", "")
    monkeypatch.setenv("DIFFLOOM_NO_PLUGINS", "first")
    result = CliRunner().invoke(diffloom, ["--no-plugin", "second", "plugins"])
    assert "plugin 'first' is not there" in result.output
    assert "plugin 'second' is not there" in result.output
    assert os.environ["DIFFLOOM_NO_PLUGINS"] == "first"


def test_it_also_runs_as_a_module():
    result = subprocess.run([sys.executable, "-m", "diffloom", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("diffloom-core ")
