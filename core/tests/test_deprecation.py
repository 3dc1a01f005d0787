"""Old names work, and say the new one."""

import pytest
import torch

from diffloom import dynamics, interfaces, plugins
from diffloom.deprecation import renamed_arguments
from diffloom.interfaces import InputError, ParamSpec, Surface
from diffloom.interfaces.params import make_params
from diffloom.plugins import get_integrator
from diffloom.plugins.registry import Registry

MODULES = ((dynamics, "spread", "broadcast"), (interfaces, "OwnStep", "CustomStep"))


@pytest.mark.parametrize(("module", "old", "new"), [*MODULES, (plugins, "survey", "installed_registry")])
def test_names_of_modules(module, old, new):
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now called '{new}'"):
        assert getattr(module, old) is getattr(module, new)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense


def test_arguments_and_attributes():
    @renamed_arguments(colour="hue")
    class Paper:
        def __init__(self, size, hue=1):
            self.size, self.hue = size, hue

    with pytest.warns(DeprecationWarning, match="Paper: 'colour' is now called 'hue'"):
        sheet = Paper(3, colour=2)
    assert (sheet.size, sheet.hue) == (3, 2)
    with pytest.warns(DeprecationWarning, match="'colour' is now called 'hue'"):
        assert sheet.colour == 2


def test_methods():
    surface = Surface(torch.zeros(1, 3, 3), torch.tensor([[0, 1, 2]]))
    with pytest.warns(DeprecationWarning, match="with_appearance"):
        assert torch.equal(surface.with_look(colours=torch.ones(3)).colours, torch.ones(3))


def test_registered_names():
    with pytest.warns(DeprecationWarning, match="integrator: 'own_step' is now called 'custom_step'"):
        assert get_integrator("own_step") is get_integrator("custom_step")
    assert "own_step" not in plugins.integrators()


def test_a_plugin_may_rename_what_it_offers():
    class Renaming:
        @plugins.hookimpl
        def diffloom_register_losses(self, register):
            register("new", "package.module:New", summary="A loss", formerly=("old",))

    registry = Registry()
    registry.install(Renaming(), "renaming")
    with pytest.warns(DeprecationWarning, match="loss: 'old' is now called 'new'"):
        assert registry.entry(plugins.kinds.LOSSES, "old").name == "new"


def test_parameters():
    specs = (ParamSpec("angular_velocity", 0.0, "rad/s", "of a wheel", formerly=("spin",)),)
    with pytest.warns(DeprecationWarning, match="wheel: 'spin' is now called 'angular_velocity'"):
        params = make_params("wheel", specs, {}, {"spin": 2.0}, torch.float64)
    assert float(params["angular_velocity"]) == 2.0
    with (
        pytest.warns(DeprecationWarning, match="spin"),
        pytest.raises(InputError, match="wheel: got both 'spin' and 'angular_velocity'"),
    ):
        make_params("wheel", specs, {}, {"spin": 2.0, "angular_velocity": 1.0}, torch.float64)
