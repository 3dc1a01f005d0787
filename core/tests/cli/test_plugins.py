import json

from diffloom.plugins.entry import Origin
from diffloom.plugins.report import PluginReport, PluginState


def test_the_tables_show_offers_and_plugins(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    registry.record(PluginReport(Origin("off", "off-dist", "4"), PluginState.DISABLED, "switched off"))
    lines = [" ".join(line.split()) for line in run("plugins").output.splitlines()]
    assert "model toy toy A toy [model]" in lines
    assert "model shy toy A shy model; unavailable: no GPU here" in lines
    assert "toy toy-dist 1.2 loaded" in lines
    assert "bad bad-dist 3 broken: it hurts" in lines
    assert "off off-dist 4 disabled: switched off" in lines


def test_json_holds_the_same(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    data = json.loads(run("plugins", "--json").output)
    found = {plugin["name"]: plugin for plugin in data["plugins"]}
    assert data["plugin_api"] == 2
    assert list(found) == ["bad", "core", "toy"]
    assert (found["bad"]["state"], found["bad"]["reason"], found["bad"]["offers"]) == ("broken", "it hurts", [])
    assert found["toy"]["offers"][1] == {
        "kind": "model",
        "name": "shy",
        "summary": "A shy model",
        "factory": "no_such_module:Shy",
        "unavailable": "no GPU here",
    }


def test_json_belongs_to_the_list(run):
    result = run("plugins", "--json", "check", "toy")
    assert result.exit_code == 2
    assert "--json belongs to the list" in result.output


def test_check_of_nothing_names_what_is_installed(run):
    result = run("plugins", "check", "nothing")
    assert result.exit_code == 1
    assert "nothing called 'nothing' is installed. Installed plugins: core, toy" in result.output


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
    assert "there is no family beauty of integrator checks; there are interface" in wrong.output


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


def test_the_list_shows_what_an_author_should_know(run, registry):
    report = PluginReport(Origin("old", "old-dist", "3"), PluginState.LOADED, warnings=("it uses an old hook",))
    registry.record(report)
    assert "old-dist 3 loaded; it uses an old hook" in " ".join(run("plugins").output.split())
    found = {plugin["name"]: plugin for plugin in json.loads(run("plugins", "--json").output)["plugins"]}
    assert found["old"]["warnings"] == ["it uses an old hook"]
    assert found["toy"]["warnings"] == []
