"""Every hook hands over what a plugin offers, and the registry gives it back. New hooks are picked up by themselves."""

import inspect

import pytest

from diffloom.plugins import Registry
from diffloom.plugins.hookspecs import Hooks
from diffloom.plugins.kinds import KINDS

HOOKS = [name for name, _ in inspect.getmembers(Hooks, inspect.isfunction)]


def test_there_is_one_kind_for_each_hook():
    assert sorted(kind.hook for kind in KINDS) == sorted(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_offers_things_of_its_kind_only(hook, toy):
    registry = Registry()
    registry.install(toy(hook, "beta", "alpha"), "toy")
    for kind in KINDS:
        assert registry.names(kind) == (("alpha", "beta") if kind.hook == hook else ())
        assert getattr(registry, kind.plural)() == registry.names(kind)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_takes_only_register_and_says_what_it_is_for(hook):
    function = getattr(Hooks, hook)
    assert list(inspect.signature(function).parameters) == ["self", "register"]
    assert function.__doc__
    assert function.__doc__.startswith("Offer ")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_what_was_offered_can_be_had_by_name(kind, toy):
    def factory() -> str:
        return "made"

    registry = Registry()
    registry.install(toy(kind.hook, "thing", factory=factory), "toy")
    assert registry.get(kind, "thing")() == "made"
    if hasattr(registry, f"get_{kind.singular.replace(' ', '_')}"):
        assert getattr(registry, f"get_{kind.singular.replace(' ', '_')}")("thing") is factory
