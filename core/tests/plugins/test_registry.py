import threading

import pytest

import diffloom.plugins as plugins
from diffloom.plugins import COMMANDS, DIAGNOSTICS, Kind, RegistrationError, Registry, UnknownNameError, use_registry
from diffloom.plugins.entry import Origin, PluginReport, PluginState
from diffloom.plugins.kinds import KINDS


def test_a_fresh_registry_is_empty():
    assert all(Registry().names(kind) == () for kind in KINDS)
    assert Registry().plugins == ()


def test_a_taken_name_is_refused_naming_both_distributions_and_nothing_is_added(toy):
    registry = Registry()
    registry.install(toy("diffloom_register_models", "alpha"), "first", "first-dist", "1.0")
    with pytest.raises(
        RegistrationError, match=r"both first-dist 1\.0 and second-dist 2\.0 register the model 'alpha'"
    ):
        registry.install(toy("diffloom_register_models", "aaa", "alpha"), "second", "second-dist", "2.0")
    assert registry.models() == ("alpha",)
    assert [report.origin.plugin for report in registry.plugins] == ["first"]


def test_an_unknown_name_lists_what_there_is_and_the_nearest(toy):
    registry = Registry()
    registry.install(toy("diffloom_register_models", "beta", "alpha"), "toy")
    with pytest.raises(UnknownNameError) as caught:
        registry.get_model("alhpa")
    message = "there is no model 'alhpa'. Did you mean 'alpha'? Installed models: alpha, beta."
    assert str(caught.value) == message


def test_a_name_like_no_other_gets_no_guess(toy):
    with pytest.raises(UnknownNameError, match=r"^there is no renderer 'zzz'\. Installed renderers: none\.$"):
        Registry().get_renderer("zzz")


def test_a_published_name_says_what_to_install():
    with pytest.raises(
        UnknownNameError, match="'fem' comes with diffloom-physics-fem, which is not installed: pip ins"
    ):
        Registry().get_model("fem")
    with pytest.raises(UnknownNameError, match="Did you mean 'softras'. It comes with diffloom-render-softras"):
        Registry().get_renderer("softrass")


@pytest.mark.parametrize("state", [PluginState.BROKEN, PluginState.DISABLED, PluginState.UNAVAILABLE])
def test_a_published_name_whose_plugin_did_not_load_says_why(state):
    registry = Registry()
    registry.record(PluginReport(Origin("fem", "diffloom-physics-fem", "0.1.0"), state, "the dog ate it"))
    with pytest.raises(UnknownNameError, match=f"diffloom-physics-fem, which is {state}: the dog ate it"):
        registry.get_model("fem")


@pytest.mark.parametrize("name", [None, 3, ["fem"], object])
def test_names_are_strings(name):
    with pytest.raises(UnknownNameError, match="a model is looked up by its name: got"):
        Registry().get_model(name)


@pytest.mark.parametrize(
    ("kind", "name", "distribution"),
    [
        (COMMANDS, "run", "diffloom-studio"),
        (COMMANDS, "plugins check", "diffloom-testing"),
        (Kind("losses", "loss"), "mse", "diffloom-fitting"),
        (Kind("video_readers", "video reader"), "folder", "diffloom-video"),
    ],
)
def test_published_names_of_every_kind_say_what_to_install(kind, name, distribution):
    with pytest.raises(
        UnknownNameError, match=f"comes with {distribution}, which is not installed: pip install {distribution}"
    ):
        Registry().get(kind, name)


def test_a_replacement_is_in_force_in_all_threads_and_only_for_a_while(toy):
    before = plugins.models()
    registry = Registry()
    registry.install(toy("diffloom_register_models", "only"), "toy")
    seen = []
    with use_registry(registry):
        thread = threading.Thread(target=lambda: seen.append(plugins.models()))
        thread.start()
        thread.join()
        with use_registry(Registry()):
            assert plugins.models() == ()
        assert plugins.models() == ("only",)
    assert seen == [("only",)]
    assert plugins.models() == before


def test_module_functions_ask_the_registry_in_force(toy):
    def factory():
        return "made"

    registry = Registry()
    for kind in KINDS:
        registry.install(toy(kind.hook, "thing", factory=factory), kind.plural)
    with use_registry(registry):
        for kind in KINDS:
            if kind not in (COMMANDS, DIAGNOSTICS):
                assert getattr(plugins, kind.plural)() == ("thing",)
                assert getattr(plugins, f"get_{kind.singular}")("thing") is factory
            assert kind.names() == ("thing",)
            assert kind.get("thing") is factory


def test_a_registry_of_the_core_and_named_plugins_has_nothing_else():
    alone = plugins.core_registry()
    assert [report.origin.plugin for report in alone.plugins] == ["core"]
    some = plugins.core_registry("mechanics")
    assert [report.origin.plugin for report in some.plugins] == ["core", "mechanics"]
    assert "semi_implicit" in some.integrators()
    assert some.models() == ()
    with pytest.raises(plugins.BrokenPluginsError, match="plugin 'mechanix' is not there"):
        plugins.core_registry("mechanix")
