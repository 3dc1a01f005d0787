import json
from types import ModuleType

from diffloom.plugins import Kind, hookimpl
from diffloom.plugins.entry import Origin, PluginReport, PluginState


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
    assert data["plugin_api"] == 3
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
    result = run("plugins", "--json", "wave")
    assert result.exit_code == 2
    assert "--json belongs to the list" in result.output


def test_the_list_shows_what_an_author_should_know(run, registry):
    report = PluginReport(Origin("old", "old-dist", "3"), PluginState.LOADED, warnings=("it uses an old hook",))
    registry.record(report)
    assert "old-dist 3 loaded; it uses an old hook" in " ".join(run("plugins").output.split())
    found = {plugin["name"]: plugin for plugin in json.loads(run("plugins", "--json").output)["plugins"]}
    assert found["old"]["warnings"] == ["it uses an old hook"]
    assert found["toy"]["warnings"] == []


def test_the_list_shows_who_defined_each_hook(run, registry):
    @hookimpl
    def diffloom_define_kinds():
        return [Kind("sounds", "sound")]

    band = ModuleType("band")
    band.diffloom_define_kinds = diffloom_define_kinds
    registry.install(band, "band", "band-dist", "1.0")
    lines = [" ".join(line.split()) for line in run("plugins").output.splitlines()]
    assert "diffloom_register_models diffloom-core" in lines
    assert "diffloom_register_sounds band-dist" in lines
    hooks = json.loads(run("plugins", "--json").output)["hooks"]
    assert {"hook": "diffloom_register_sounds", "kind": "sound", "defined_by": "band-dist"} in hooks


def test_subcommands_of_plugins_stand_in_the_group(run):
    assert "wave  Wave" in run("plugins", "--help").output
    assert run("plugins", "wave").output == "hello\n"
    assert "plugins wave" not in run("--help").output


def test_a_subcommand_that_is_missing_says_what_to_install(run):
    result = run("plugins", "check")
    assert result.exit_code == 2
    assert "the command 'plugins check' comes with diffloom-testing, which is not installed: pip ins" in result.output
