from types import ModuleType

import pytest

from diffloom.plugins import PLUGIN_API, RegistrationError, hookimpl
from diffloom.plugins.collect import collect
from diffloom.plugins.entry import Origin

ORIGIN = Origin("toy", "toy-dist", "1.2")


def test_objects_with_hooks_as_methods_are_plugins_too():
    class Plugin:
        @hookimpl
        def diffloom_register_losses(self, register):
            register("mean", "toy:mean", summary="Mean")

    assert [entry.name for entry in collect(Plugin(), ORIGIN).offers] == ["mean"]


def test_a_plugin_may_offer_one_name_in_two_kinds(toy):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_terms = module.diffloom_register_models
    assert [(entry.kind.singular, entry.name) for entry in collect(module, ORIGIN).offers] == [
        ("model", "thing"),
        ("term", "thing"),
    ]


def test_a_plugin_may_not_offer_one_name_twice(toy):
    with pytest.raises(RegistrationError, match="it registers the model 'thing' twice"):
        collect(toy("diffloom_register_models", "thing", "thing"), ORIGIN)


@pytest.mark.parametrize(
    ("api", "message"),
    [
        (
            PLUGIN_API + 1,
            f"it needs plugin API {PLUGIN_API + 1}, and this diffloom-core offers {PLUGIN_API}: upgrade diffloom-core",
        ),
        (0, "it was written for plugin API 0, and the oldest served is 1: upgrade the plugin"),
        ("1", "its DIFFLOOM_PLUGIN_API is '1': give a whole number"),
        (True, "its DIFFLOOM_PLUGIN_API is True: give a whole number"),
    ],
)
def test_a_plugin_that_needs_another_api_is_refused(toy, api, message):
    module = toy("diffloom_register_models", "thing")
    module.DIFFLOOM_PLUGIN_API = api
    with pytest.raises(RegistrationError, match=message):
        collect(module, ORIGIN)


def test_a_wrong_argument_is_named():
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(registre):
        pass

    module.diffloom_register_models = diffloom_register_models
    with pytest.raises(RegistrationError, match="it implements a hook wrongly: .*registre"):
        collect(module, ORIGIN)


def test_a_plugin_of_the_api_before_is_served_with_one_line(toy):
    module = toy("diffloom_register_models", "thing")
    module.DIFFLOOM_PLUGIN_API = 1
    found = collect(module, ORIGIN)
    assert [entry.name for entry in found.offers] == ["thing"]
    (line,) = found.warnings
    assert "written for plugin API 1" in line
    assert "Plugin API 2" in line
    for quiet in (None, PLUGIN_API):
        module.DIFFLOOM_PLUGIN_API = quiet
        assert not collect(module, ORIGIN).warnings


def test_an_unknown_hook_is_left_out_with_a_warning(toy):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_sounds = hookimpl(lambda register: register("bang", "toy:Bang", summary="A bang"))
    found = collect(module, ORIGIN)
    assert [entry.name for entry in found.offers] == ["thing"]
    (line,) = found.warnings
    assert "its hook diffloom_register_sounds is unknown to this diffloom-core and left out" in line
    assert "upgrade diffloom-core, or mark it @hookimpl(optionalhook=True)" in line


def test_an_optional_hook_that_is_unknown_is_left_out_without_a_word(toy):
    module = toy("diffloom_register_models", "thing")
    sounds = hookimpl(optionalhook=True)(lambda register: register("bang", "toy:Bang", summary="A bang"))
    module.diffloom_register_sounds = sounds
    found = collect(module, ORIGIN)
    assert [entry.name for entry in found.offers] == ["thing"]
    assert not found.warnings


def test_a_known_hook_that_is_marked_optional_is_called():
    module = ModuleType("toy_plugin")

    @hookimpl(optionalhook=True)
    def diffloom_register_optimisers(register):
        register("thing", "toy:Thing", summary="A thing")

    module.diffloom_register_optimisers = diffloom_register_optimisers
    assert [entry.kind.singular for entry in collect(module, ORIGIN).offers] == ["optimiser"]


def test_a_misspelt_hook_is_named(toy):
    (line,) = collect(toy("diffloom_register_modls", "thing"), ORIGIN).warnings
    assert "its hook diffloom_register_modls is unknown" in line
    assert line.endswith("did you mean diffloom_register_models?")


def test_a_forgotten_decorator_is_named():
    module = ModuleType("toy_plugin")
    module.diffloom_register_models = lambda register: None
    with pytest.raises(RegistrationError, match="diffloom_register_models lacks the decorator"):
        collect(module, ORIGIN)


def test_a_plugin_without_hooks_is_refused():
    with pytest.raises(RegistrationError, match="it implements no hook"):
        collect(ModuleType("toy_plugin"), ORIGIN)


def test_a_call_without_summary_is_reported_as_one_of_register():
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(register):
        register("thing", "toy:Thing")

    module.diffloom_register_models = diffloom_register_models
    with pytest.raises(TypeError, match=r"^register\(\) missing 1 required keyword-only argument: 'summary'"):
        collect(module, ORIGIN)
