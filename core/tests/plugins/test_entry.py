import pytest

from diffloom.plugins import COMMANDS, MODELS, FactoryError, Kind, RegistrationError
from diffloom.plugins.entry import Entry, Origin

ORIGIN = Origin("toy", "toy-dist", "1.2")
SOUNDS = Kind("sounds", "sound")


def entry(name="thing", factory="json:dumps", summary="A thing", available=None, kind=SOUNDS):
    return Entry(kind, name, factory, summary, ORIGIN, available)


@pytest.mark.parametrize("name", ["", "Thing", "9lives", "a thing", "a:b", None, 3])
def test_bad_names_are_refused(name):
    with pytest.raises(RegistrationError, match="bad name: use lower case letters"):
        entry(name)


def test_a_command_may_stand_in_the_group_of_another():
    assert entry("plugins check", kind=COMMANDS).name == "plugins check"
    for name in ("plugins  check", "a b c", "plugins Check"):
        with pytest.raises(RegistrationError, match="bad name"):
            entry(name, kind=COMMANDS)


@pytest.mark.parametrize("summary", ["", "  ", "two\nlines", None])
def test_a_summary_is_one_line(summary):
    with pytest.raises(RegistrationError, match="summary of one line"):
        entry(summary=summary)


@pytest.mark.parametrize("factory", ["json", "json.dumps", "json:", ":dumps", "json:dumps()", "a b:c", "json:1"])
def test_an_import_path_has_a_module_and_a_name(factory):
    with pytest.raises(RegistrationError, match="write an import path like 'package.module:name'"):
        entry(factory=factory)


@pytest.mark.parametrize("factory", [None, 3, ("json", "dumps")])
def test_a_factory_is_a_path_or_callable(factory):
    with pytest.raises(RegistrationError, match="give an import path or something callable"):
        entry(factory=factory)


def test_making_an_entry_imports_nothing():
    made = entry(factory="no_such_package.module:Thing", available="no_such_package.module:available")
    assert made.path == "no_such_package.module:Thing"


def test_loading_imports_nested_attributes():
    import json

    assert entry(factory="json:JSONEncoder.encode").load() is json.JSONEncoder.encode


def test_a_missing_module_names_distribution_path_and_cause():
    with pytest.raises(FactoryError, match=r"the sound 'thing' of toy-dist 1\.2 cannot be loaded from no_such:X: Mod"):
        entry(factory="no_such:X").load()


def test_a_missing_attribute_is_told():
    with pytest.raises(FactoryError, match="AttributeError"):
        entry(factory="json:no_such_name").load()


def test_what_is_loaded_must_be_callable():
    with pytest.raises(FactoryError, match="cannot be called"):
        entry(factory="json:__name__").load()


def test_a_class_must_derive_from_the_interface_of_its_kind():
    with pytest.raises(FactoryError, match=r"is not a subclass of diffloom\.interfaces\.Model"):
        entry(factory="json:JSONEncoder", kind=MODELS).load()
    assert entry(factory=lambda: None, kind=MODELS).load()() is None


@pytest.mark.parametrize(
    ("available", "reason"),
    [
        (None, None),
        (lambda: None, None),
        (lambda: "no GPU", "no GPU"),
        ("os.path:exists", "its availability check failed: TypeError"),
        ("no_such:x", "its availability check failed: ModuleNotFoundError"),
        (lambda: True, "its availability check returned True"),
        (lambda: "", "its availability check returned ''"),
    ],
)
def test_availability(available, reason):
    found = entry(available=available).unavailable()
    assert found is None if reason is None else found.startswith(reason)


def test_unavailable_things_refuse_to_load_with_the_reason():
    with pytest.raises(FactoryError, match="the sound 'thing' of toy-dist 1.2 is unavailable here: no GPU"):
        entry(available=lambda: "no GPU").load()
