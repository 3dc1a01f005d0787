"""Kinds that plugins bring: who may define one, and what becomes of it when its plugin fails."""

import pytest

from diffloom.plugins import (
    MODELS,
    Kind,
    RegistrationError,
    Registry,
    UnavailableError,
    UnknownNameError,
    hookimpl,
    use_registry,
)
from diffloom.plugins.entry import PluginState
from diffloom.plugins.loader import load_plugins
from diffloom.plugins.selection import Selection

SOUNDS = Kind("sounds", "sound", "json:JSONEncoder")


def defining(toy, *kinds, models=()):
    """A plugin that defines kinds and registers models."""
    module = toy("diffloom_register_models", *models)
    module.diffloom_define_kinds = hookimpl(lambda: list(kinds))
    return module


def report_on(registry, plugin):
    (report,) = [report for report in registry.plugins if report.origin.plugin == plugin]
    return report


@pytest.mark.parametrize("order", [("band", "drum"), ("drum", "band")])
def test_a_plugin_registers_for_the_kind_of_another_in_any_order(toy, candidate, capsys, order):
    modules = {
        "band": defining(toy, SOUNDS),
        "drum": toy("diffloom_register_sounds", "bang", factory="json:JSONEncoder"),
    }
    registry = load_plugins(Selection(), [candidate(modules[name], name, f"{name}-dist") for name in order])
    assert registry.names(SOUNDS) == ("bang",)
    assert registry.definer(SOUNDS).distribution == "band-dist"
    assert registry.definer(MODELS) is None
    assert registry.kind("sound") == registry.kind("sounds") == SOUNDS
    assert registry.kind("smell") is None
    assert capsys.readouterr().err == ""
    with use_registry(registry):
        assert SOUNDS.names() == ("bang",)
        assert SOUNDS.get("bang").__name__ == "JSONEncoder"
        with pytest.raises(UnknownNameError, match="there is no sound 'bong'. Did you mean 'bang'"):
            SOUNDS.get("bong")


def test_a_kind_is_defined_once_and_the_first_stays(toy, candidate):
    first = candidate(defining(toy, SOUNDS), "first", "first-dist")
    second = candidate(defining(toy, Kind("sounds", "noise"), models=("thing",)), "second", "second-dist")
    registry = load_plugins(Selection(), [first, second])
    assert registry.definer(SOUNDS).distribution == "first-dist"
    assert registry.models() == (), "nothing of the second is registered"
    report = report_on(registry, "second")
    assert report.state is PluginState.BROKEN
    assert report.reason == "it defines the kind 'noise', which first-dist 1.2 defines already"


@pytest.mark.parametrize(
    ("kinds", "owner"),
    [([Kind("models", "mannequin")], "the core"), ([Kind("x", "model")], "the core"), ([SOUNDS] * 2, "it")],
)
def test_a_kind_of_the_core_or_twice_the_same_is_refused(toy, kinds, owner):
    registry = Registry()
    with pytest.raises(RegistrationError, match=f"it defines the kind '.*', which {owner} defines already"):
        registry.install(defining(toy, *kinds), "toy")
    assert registry.kinds == Registry().kinds


@pytest.mark.parametrize("plural", ["Sounds", "loud sounds", "", "sounds_", 3])
def test_the_plural_of_a_kind_ends_the_name_of_a_hook(plural):
    with pytest.raises(RegistrationError, match="use lower case letters, with '_' between words"):
        Kind(plural, "sound")


@pytest.mark.parametrize("order", [("band", "drum"), ("drum", "band")])
@pytest.mark.parametrize("error", [ValueError("out of tune"), UnavailableError("no loudspeaker")])
def test_kinds_of_a_plugin_that_fails_later_are_withdrawn_with_what_others_registered(
    toy, candidate, capsys, order, error
):
    band = defining(toy, SOUNDS)

    @hookimpl
    def diffloom_register_renderers(register):
        raise error

    band.diffloom_register_renderers = diffloom_register_renderers
    drum = toy("diffloom_register_sounds", "bang")
    drum.diffloom_register_models = toy("diffloom_register_models", "skin").diffloom_register_models
    modules = {"band": band, "drum": drum}
    registry = load_plugins(Selection(), [candidate(modules[name], name, f"{name}-dist") for name in order])
    assert SOUNDS not in registry.kinds
    assert registry.names(SOUNDS) == ()
    assert registry.models() == ("skin",), "what is of other kinds stays"
    report = report_on(registry, "drum")
    assert [offer.name for offer in report.offers] == ["skin"]
    line = "its sounds are left out: the plugin 'band' of band-dist 1.2, which defines them, is not loaded"
    assert report.warnings == (line,)
    assert f"diffloom: plugin 'drum' of drum-dist 1.2: {line}" in capsys.readouterr().err


def test_a_kind_whose_plugin_is_switched_off_or_cannot_be_imported_is_unknown(toy, candidate, capsys):
    drum = candidate(toy("diffloom_register_sounds", "bang"), "drum", "drum-dist")
    band = candidate(defining(toy, SOUNDS), "band", "band-dist")
    broken = candidate(ImportError("no strings"), "band", "band-dist")
    for selection, definer in ((Selection(without=frozenset({"band"})), band), (Selection(), broken)):
        registry = load_plugins(selection, [definer, drum])
        assert report_on(registry, "drum").state is PluginState.LOADED
        assert "its hook diffloom_register_sounds is unknown here and left out" in capsys.readouterr().err
        assert SOUNDS not in registry.kinds


def test_install_of_a_plugin_that_fails_leaves_no_kind_behind(toy):
    registry = Registry()
    with pytest.raises(RegistrationError, match="twice"):
        registry.install(defining(toy, SOUNDS, models=("thing", "thing")), "toy")
    assert registry.kinds == Registry().kinds
