"""Contact laws: their choice, their parameters, restitution in closed form, and gradients against wide differences."""

from dataclasses import dataclass, field

import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_mechanics import CONTACT_LAWS
from diffloom_mechanics.contact import (
    ContactLaw,
    Coulomb,
    HuntCrossley,
    LinearContact,
    Stribeck,
    damping_ratio,
    dissipation,
    ground,
    linear_rebound,
    make_contact_specs,
    rebound,
    resolve_contact_law,
    solve_dissipation,
)
from diffloom_testing import check_gradient, compare_wide


def test_laws_are_chosen_by_name_table_or_object():
    assert {"hunt_crossley", "linear"} <= set(CONTACT_LAWS.names())
    assert resolve_contact_law("hunt_crossley") == HuntCrossley()
    assert resolve_contact_law("linear") == LinearContact()
    assert resolve_contact_law({"law": "hunt_crossley", "toe": 1e-3, "friction": "stribeck"}) == HuntCrossley(
        Stribeck(), 1e-3
    )
    assert resolve_contact_law(LinearContact(Stribeck())).names == (
        "contact_stiffness", "contact_damping", "friction_stiffness", "friction", "static_friction", "stribeck_speed",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [("hertz", ["'hertz'", "hunt_crossley", "linear"]), (3.0, ["3.0", "name"]), ({"law": "linear", "toe": 1}, ["toe"]),
     ({"friction": "ice"}, ["'ice'", "coulomb"]), ({"toe": 0.0}, ["toe", "above 0"])],
)  # fmt: skip
def test_unknown_laws_are_refused(given, words):
    with pytest.raises(InputError) as error:
        resolve_contact_law(given)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_specs_follow_the_law():
    specs = {spec.name: spec for spec in make_contact_specs(contact_stiffness=5e3)}
    assert specs["contact_stiffness"].default == 5e3
    assert specs["contact_dissipation"].unit == "s/m"
    assert specs["restitution"].replaces == "contact_dissipation"
    assert {spec.name: spec.unit for spec in make_contact_specs("linear")}["contact_damping"] == "N s/m"
    with pytest.raises(
        InputError, match=r"got contact_damping; expected parameters of the law HuntCrossley: contact_stiffness"
    ):
        make_contact_specs(contact_damping=3.0)
    given = {spec.name: torch.as_tensor(spec.default) for spec in make_contact_specs("linear")}
    with pytest.raises(InputError, match="needs contact_dissipation"):
        ground(given, 2)


@dataclass(frozen=True)
class Mine(ContactLaw):
    """Another law, as a plugin brings it."""

    friction: Coulomb = field(default_factory=Coulomb)

    @property
    def normal_specs(self):
        return HuntCrossley().normal_specs

    def normal(self):
        return HuntCrossley().normal()

    def damping(self, restitution, reference_speed, stiffness, mass):
        return 0.0

    def rate(self, values, mobility, speed):
        return 1.0


class Offering:
    """A plugin."""

    from diffloom.plugins import hookimpl

    DIFFLOOM_PLUGIN_API = 3

    @hookimpl
    def diffloom_register_contact_laws(self, register):
        register("mine", Mine, summary="A law of one's own")


def test_a_plugin_brings_a_law(hermetic_registry):
    hermetic_registry.install(Offering(), "offering")
    assert CONTACT_LAWS.names() == ("hunt_crossley", "hysteresis", "linear", "mine")
    assert resolve_contact_law("mine") == Mine()


def test_restitution_is_that_of_the_closed_form():
    for e, x in ((0.75, 0.4959), (0.6, 0.9749), (0.5, 1.4328), (0.4, 2.0825), (0.125, 7.9910)):
        assert dissipation(e, 2.0) == pytest.approx(x / 2.0, rel=1e-4)
    for e in (1.0, 0.999, 0.6, 0.2, 0.03):
        assert rebound(dissipation(e, 1.5), 1.5) == pytest.approx(e, rel=1e-6)
    assert rebound(dissipation(0.6, 1.5), 0.5) == pytest.approx(0.82, abs=0.005)
    assert rebound(dissipation(0.6, 1.5), 4.0) == pytest.approx(0.34, abs=0.005)
    assert linear_rebound(damping_ratio(0.6)) == pytest.approx(0.6, rel=1e-6)
    with pytest.raises(InputError, match="at most 1"):
        dissipation(1.5, 1.0)
    with pytest.raises(InputError, match="positive speed"):
        dissipation(0.5, 0.0)


def test_the_dissipation_of_a_restitution_is_differentiable():
    inputs = {"restitution": torch.tensor([0.95, 0.6, 0.1]).double(), "reference_speed": torch.tensor(1.3).double()}
    check_gradient(solve_dissipation, inputs, tolerance=1e-6)


def test_wide_differences_see_what_an_exact_gradient_misses():
    x = {"a": torch.tensor(2.0).double(), "b": torch.tensor(3.0).double()}
    smooth = compare_wide(lambda a, b: a * b + a**2, x)
    assert smooth.cosine == pytest.approx(1.0, abs=1e-6)
    assert smooth.ratio == pytest.approx(1.0, abs=1e-3)
    assert smooth.agrees()
    # A staircase down with treads that rise: exact gradients point the wrong way.
    stairs = compare_wide(lambda a, b: (a + b) - 2.0 * torch.floor(a * 1e4) / 1e4 - 2.0 * torch.floor(b * 1e4) / 1e4, x)
    assert stairs.cosine == pytest.approx(-1.0, abs=1e-2)
    assert not stairs.agrees()
