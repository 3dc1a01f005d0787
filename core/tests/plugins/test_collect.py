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

    assert [entry.name for entry in collect(Plugin(), ORIGIN)] == ["mean"]


def test_a_plugin_may_offer_one_name_in_two_kinds(toy):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_terms = module.diffloom_register_models
    assert [(entry.kind.singular, entry.name) for entry in collect(module, ORIGIN)] == [
        ("model", "thing"),
        ("term", "thing"),
    ]


def test_a_plugin_may_not_offer_one_name_twice(toy):
    with pytest.raises(RegistrationError, match="it registers the model 'thing' twice"):
        collect(toy("diffloom_register_models", "thing", "thing"), ORIGIN)


@pytest.mark.parametrize(
    ("api", "message"),
    [
        (PLUGIN_API + 1, "it needs plugin API 2, and this diffloom-core offers 1: upgrade diffloom-core"),
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


def test_a_misspelt_hook_is_named(toy):
    with pytest.raises(RegistrationError, match="it implements diffloom_register_modls; the hooks are diffloom_reg"):
        collect(toy("diffloom_register_modls", "thing"), ORIGIN)


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
