"""The loader against every way in which a plugin can fail; separately installed plugins are in the root's tests."""

from types import ModuleType

import pytest

from diffloom.plugins import (
    MODELS,
    BrokenPluginsError,
    UnavailableError,
    UnknownNameError,
    current_registry,
    hookimpl,
    installed_registry,
)
from diffloom.plugins.entry import PluginState
from diffloom.plugins.loader import discover, load_plugins
from diffloom.plugins.selection import Selection

ALL = Selection()


def report_on(registry, plugin):
    (report,) = [report for report in registry.plugins if report.origin.plugin == plugin]
    return report


def raising(error):
    """A plugin that offers a model and then fails in a later hook."""
    module = ModuleType("raising_plugin")

    @hookimpl
    def diffloom_register_models(register):
        register("half", "toy:Half", summary="Half")

    @hookimpl
    def diffloom_register_renderers(register):
        raise error

    module.diffloom_register_models = diffloom_register_models
    module.diffloom_register_renderers = diffloom_register_renderers
    return module


@pytest.mark.parametrize(
    "error",
    [
        ImportError("no module named numpi"),
        SyntaxError("bad"),
        SystemExit(3),
        GeneratorExit(),
        RecursionError("deep"),
        type("Panic", (BaseException,), {})("compiled code panicked"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_plugin_that_fails_at_import_or_in_a_hook_is_named_and_the_rest_works(error, toy, candidate, capsys):
    good = toy("diffloom_register_models", "good")
    candidates = [
        candidate(error, "at_import", "import-dist"),
        candidate(raising(error), "in_hook", "hook-dist"),
        candidate(good, "good", "good-dist"),
    ]
    registry = load_plugins(ALL, candidates)
    assert registry.models() == ("good",), "the model that was offered before the failure is rolled back"
    told = capsys.readouterr().err.splitlines()
    cause = f"{type(error).__name__}: {error}".strip()
    assert told == [
        f"diffloom: plugin 'at_import' of import-dist 1.2 is broken: {cause}",
        f"diffloom: plugin 'in_hook' of hook-dist 1.2 is broken: {cause}",
    ]
    assert report_on(registry, "at_import").state is PluginState.BROKEN
    assert report_on(registry, "in_hook").offers == ()


def test_an_interrupt_is_not_swallowed(candidate):
    with pytest.raises(KeyboardInterrupt):
        load_plugins(ALL, [candidate(KeyboardInterrupt())])


def test_unavailable_is_not_broken(candidate, capsys):
    registry = load_plugins(ALL, [candidate(UnavailableError("kaolin is not installed"), "dibr-kaolin")])
    report = report_on(registry, "dibr-kaolin")
    assert (report.state, report.reason) == (PluginState.UNAVAILABLE, "kaolin is not installed")
    assert not report.is_faulty
    assert capsys.readouterr().err == ""


def test_of_two_that_offer_one_name_the_first_stays_and_both_are_named(toy, candidate, capsys):
    first = candidate(toy("diffloom_register_models", "same"), "first", "first-dist")
    second = candidate(toy("diffloom_register_models", "extra", "same"), "second", "second-dist")
    registry = load_plugins(ALL, [first, second])
    assert registry.models() == ("same",)
    assert registry.entry(MODELS, "same").origin.distribution == "first-dist"
    told = capsys.readouterr().err
    assert "'second' of second-dist 1.2 is broken: both first-dist 1.2 and second-dist 1.2 register" in told


def test_two_plugins_of_one_name_are_refused_too(toy, candidate):
    first = candidate(toy("diffloom_register_models", "one"), "double", "first-dist")
    second = candidate(toy("diffloom_register_models", "two"), "double", "second-dist")
    registry = load_plugins(ALL, [first, second])
    assert registry.models() == ("one",)
    assert "both first-dist 1.2 and second-dist 1.2 call their plugin 'double'" in registry.plugins[-1].reason


def test_the_core_comes_first_and_cannot_be_displaced_or_switched_off(toy, candidate, capsys):
    thief = candidate(toy("diffloom_register_commands", "doctor"), "aaa", "aaa-dist")
    registry = load_plugins(Selection(only=frozenset(), without=frozenset({"core"})), [thief])
    assert {"doctor", "plugins"} <= set(registry.commands())
    assert "plugin 'core' is not there: the core cannot be switched off" in capsys.readouterr().err
    registry = load_plugins(ALL, [thief])
    assert "both diffloom-core" in report_on(registry, "aaa").reason


def test_the_projects_own_plugins_load_before_all_others():
    own = [candidate.origin.distribution.startswith("diffloom-") for candidate in discover()]
    assert own == sorted(own, reverse=True)


def test_disabled_plugins_are_not_even_imported(candidate):
    registry = load_plugins(Selection(without=frozenset({"toy"})), [candidate(AssertionError("was imported"))])
    assert report_on(registry, "toy").state is PluginState.DISABLED


def test_a_selected_plugin_that_is_not_installed_is_named(toy, candidate, capsys):
    installed = candidate(toy("diffloom_register_models", "thing"))
    registry = load_plugins(Selection(only=frozenset({"toy", "tyo"})), [installed])
    assert registry.models() == ("thing",)
    assert report_on(registry, "tyo").state is PluginState.MISSING
    assert "plugin 'tyo' is not there: no plugin of this name is installed; installed: toy" in capsys.readouterr().err


def test_what_a_plugin_prints_stays_out_of_stdout(candidate, capsys):
    class Chatty:
        @hookimpl
        def diffloom_register_models(self, register):
            print("hello from a hook")
            register("thing", "toy:Thing", summary="Thing")

    load_plugins(ALL, [candidate(Chatty())])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hello from a hook\n"


def test_tracing_says_what_is_loaded_and_shows_tracebacks(toy, candidate, capsys):
    candidates = [candidate(toy("diffloom_register_models", "thing")), candidate(raising(ValueError("oh")), "bad")]
    load_plugins(Selection(trace=True), candidates)
    told = capsys.readouterr().err
    assert "diffloom trace: diffloom_register_models: toy offers 'thing' from toy.module:Thing" in told
    assert "diffloom trace: plugin 'toy' of toy-dist 1.2 is loaded" in told
    assert "Traceback (most recent call last)" in told


def test_strict_mode_refuses_to_go_on_but_the_installed_registry_still_answers(monkeypatch):
    monkeypatch.setenv("DIFFLOOM_PLUGINS", "no-such-plugin")
    assert current_registry() is installed_registry(), "loaded once, and not an error without strict mode"
    monkeypatch.setenv("DIFFLOOM_STRICT_PLUGINS", "1")
    assert installed_registry().models() == ()
    with pytest.raises(BrokenPluginsError, match="plugin 'no-such-plugin' is not there"):
        current_registry()


def lost(registry, name):
    with pytest.raises(UnknownNameError) as caught:
        registry.get_model(name)
    return str(caught.value)


def test_a_name_that_a_broken_plugin_had_offered_names_the_plugin_and_the_cause(candidate):
    registry = load_plugins(ALL, [candidate(raising(ImportError("no numpi")), "in_hook", "hook-dist")])
    (offered,) = report_on(registry, "in_hook").withheld
    told = lost(registry, offered.name)
    assert f"the model {offered.name!r} comes with the plugin 'in_hook' of hook-dist 1.2, which is broken" in told
    assert "ImportError: no numpi" in told


def test_a_name_that_a_broken_plugin_bears_names_it_too(candidate):
    broken = [candidate(ImportError("no numpi"), "ropes", "loom-ropes"), candidate(OSError("bad"), "x", "loom-sails")]
    registry = load_plugins(ALL, broken)
    assert "the model 'ropes' comes with the plugin 'ropes' of loom-ropes 1.2, which is broken: Imp" in lost(
        registry, "ropes"
    )
    assert "comes with the plugin 'x' of loom-sails 1.2, which is broken: OSError: bad" in lost(registry, "sails")
    told = lost(registry, "anchors")
    assert "there is no model 'anchors'" in told
    assert "failed to load: plugin 'ropes' of loom-ropes 1.2 is broken: ImportError: no numpi" in told


def test_a_plugin_with_a_hook_the_core_does_not_know_loads_with_a_warning(toy, candidate, capsys):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_sounds = hookimpl(lambda register: None)
    registry = load_plugins(ALL, [candidate(module)])
    assert registry.models() == ("thing",)
    assert not report_on(registry, "toy").is_faulty
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("diffloom: plugin 'toy' of toy-dist 1.2: its hook diffloom_register_sounds is unknown here")


def test_a_plugin_of_an_older_api_is_refused_with_one_line(toy, candidate, capsys):
    module = toy("diffloom_register_models", "thing")
    module.DIFFLOOM_PLUGIN_API = 2
    assert load_plugins(ALL, [candidate(module)]).models() == ()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("diffloom: plugin 'toy' of toy-dist 1.2 is broken: it was written for plugin API 2")
