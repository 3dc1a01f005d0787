"""Every hook hands over what a plugin registers, and the registry gives it back. New kinds are picked up here too."""

import inspect

import pytest

from diffloom.plugins import Registry, hookimpl
from diffloom.plugins.hookspecs import hook_manager
from diffloom.plugins.kinds import KINDS, Kind

SOUNDS = Kind("sounds", "sound", doc="Functions that return a sound.")
ALL = (*KINDS, SOUNDS)


@pytest.fixture
def registry(toy):
    """A registry with the kinds of the core and one that a plugin defines."""
    definer = toy("diffloom_register_models")
    definer.diffloom_define_kinds = hookimpl(lambda: [SOUNDS])
    registry = Registry()
    registry.install(definer, "definer")
    return registry


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.plural)
def test_a_hook_registers_things_of_its_kind_only(kind, registry, toy):
    registry.install(toy(kind.hook, "beta", "alpha"), "toy")
    assert registry.kinds == ALL
    for other in ALL:
        assert registry.names(other) == (("alpha", "beta") if other == kind else ())
        if hasattr(registry, other.plural):
            assert getattr(registry, other.plural)() == registry.names(other)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.plural)
def test_every_hook_takes_only_register_and_says_what_it_is_for(kind):
    specification = getattr(hook_manager(ALL).hook, kind.hook).spec
    assert list(inspect.signature(specification.function).parameters) == ["register"]
    assert specification.function.__doc__ == f"Register {kind.plural}. {kind.doc}"
    assert kind.doc


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.plural)
def test_what_was_registered_can_be_had_by_name(kind, registry, toy):
    def factory() -> str:
        return "made"

    registry.install(toy(kind.hook, "thing", factory=factory), "toy")
    assert registry.get(kind, "thing")() == "made"
    if hasattr(registry, f"get_{kind.singular}"):
        assert getattr(registry, f"get_{kind.singular}")("thing") is factory
