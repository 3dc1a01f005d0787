from types import ModuleType

import pytest

from diffloom.plugins import PLUGIN_API, RegistrationError, hookimpl
from diffloom.plugins.collect import collect, collect_kinds
from diffloom.plugins.entry import Origin
from diffloom.plugins.kinds import KINDS, Kind

ORIGIN = Origin("toy", "toy-dist", "1.2")
SOUNDS = Kind("sounds", "sound")


def test_objects_with_hooks_as_methods_are_plugins_too():
    class Plugin:
        @hookimpl
        def diffloom_register_renderers(self, register):
            register("mean", "toy:mean", summary="Mean")

    assert [entry.name for entry in collect(Plugin(), ORIGIN, KINDS).offers] == ["mean"]


def test_a_plugin_may_offer_one_name_in_two_kinds(toy):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_renderers = module.diffloom_register_models
    assert [(entry.kind.singular, entry.name) for entry in collect(module, ORIGIN, KINDS).offers] == [
        ("model", "thing"),
        ("renderer", "thing"),
    ]


def test_a_plugin_may_not_offer_one_name_twice(toy):
    with pytest.raises(RegistrationError, match="it registers the model 'thing' twice"):
        collect(toy("diffloom_register_models", "thing", "thing"), ORIGIN, KINDS)


@pytest.mark.parametrize(
    ("api", "message"),
    [
        (
            PLUGIN_API + 1,
            f"it needs plugin API {PLUGIN_API + 1}, and this diffloom-core has {PLUGIN_API}: upgrade diffloom-core",
        ),
        (0, "it was written for plugin API 0, and the oldest served is 3: upgrade the plugin"),
        (2, "it was written for plugin API 2, .*the guide's page 'Versions' says what to change"),
        ("1", "its DIFFLOOM_PLUGIN_API is '1': give a whole number"),
        (True, "its DIFFLOOM_PLUGIN_API is True: give a whole number"),
    ],
)
def test_a_plugin_that_needs_another_api_is_refused(toy, api, message):
    module = toy("diffloom_register_models", "thing")
    module.DIFFLOOM_PLUGIN_API = api
    with pytest.raises(RegistrationError, match=message):
        collect(module, ORIGIN, KINDS)


def test_a_wrong_argument_is_named():
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(registre):
        pass

    module.diffloom_register_models = diffloom_register_models
    with pytest.raises(RegistrationError, match="it implements a hook wrongly: .*registre"):
        collect(module, ORIGIN, KINDS)


@pytest.mark.parametrize("api", [None, PLUGIN_API])
def test_a_plugin_of_this_api_or_of_none_loads_without_a_word(toy, api):
    module = toy("diffloom_register_models", "thing")
    module.DIFFLOOM_PLUGIN_API = api
    assert not collect(module, ORIGIN, KINDS).warnings


def test_a_hook_of_a_published_plugin_that_is_not_there_names_its_distribution(toy):
    (line,) = collect(toy("diffloom_register_losses", "mean"), ORIGIN, KINDS).warnings
    assert "its hook diffloom_register_losses is unknown here and left out: diffloom-fitting, which defines it" in line


def test_a_hook_of_a_kind_that_a_plugin_brought_is_called(toy):
    (entry,) = collect(toy("diffloom_register_sounds", "bang"), ORIGIN, (*KINDS, SOUNDS)).offers
    assert (entry.kind, entry.name) == (SOUNDS, "bang")


def test_kinds_are_collected_from_the_plugin_that_defines_them(toy):
    module = toy("diffloom_register_models", "thing")
    assert collect_kinds(module, ORIGIN) == ()
    module.diffloom_define_kinds = hookimpl(lambda: [SOUNDS])
    assert collect_kinds(module, ORIGIN) == (SOUNDS,)
    module.diffloom_define_kinds = hookimpl(lambda: ["sounds"])
    with pytest.raises(RegistrationError, match=r"its diffloom_define_kinds returned 'sounds': return a list"):
        collect_kinds(module, ORIGIN)


def test_an_unknown_hook_is_left_out_with_a_warning(toy):
    module = toy("diffloom_register_models", "thing")
    module.diffloom_register_sounds = hookimpl(lambda register: register("bang", "toy:Bang", summary="A bang"))
    found = collect(module, ORIGIN, KINDS)
    assert [entry.name for entry in found.offers] == ["thing"]
    (line,) = found.warnings
    assert "its hook diffloom_register_sounds is unknown here and left out: install the plugin that defines it" in line
    assert "or mark it @hookimpl(optionalhook=True)" in line


def test_an_optional_hook_that_is_unknown_is_left_out_without_a_word(toy):
    module = toy("diffloom_register_models", "thing")
    sounds = hookimpl(optionalhook=True)(lambda register: register("bang", "toy:Bang", summary="A bang"))
    module.diffloom_register_sounds = sounds
    found = collect(module, ORIGIN, KINDS)
    assert [entry.name for entry in found.offers] == ["thing"]
    assert not found.warnings


def test_a_known_hook_that_is_marked_optional_is_called():
    module = ModuleType("toy_plugin")

    @hookimpl(optionalhook=True)
    def diffloom_register_diagnostics(register):
        register("thing", "toy:Thing", summary="A thing")

    module.diffloom_register_diagnostics = diffloom_register_diagnostics
    assert [entry.kind.singular for entry in collect(module, ORIGIN, KINDS).offers] == ["diagnostic"]


def test_a_misspelt_hook_is_named(toy):
    (line,) = collect(toy("diffloom_register_modls", "thing"), ORIGIN, KINDS).warnings
    assert "its hook diffloom_register_modls is unknown" in line
    assert line.endswith("did you mean diffloom_register_models?")


def test_a_forgotten_decorator_is_named():
    module = ModuleType("toy_plugin")
    module.diffloom_register_models = lambda register: None
    with pytest.raises(RegistrationError, match="diffloom_register_models lacks the decorator"):
        collect(module, ORIGIN, KINDS)


def test_a_plugin_without_hooks_is_refused():
    with pytest.raises(RegistrationError, match="it implements no hook"):
        collect(ModuleType("toy_plugin"), ORIGIN, KINDS)


def test_a_call_without_summary_is_reported_as_one_of_register():
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(register):
        register("thing", "toy:Thing")

    module.diffloom_register_models = diffloom_register_models
    with pytest.raises(TypeError, match=r"^register\(\) missing 1 required keyword-only argument: 'summary'"):
        collect(module, ORIGIN, KINDS)
