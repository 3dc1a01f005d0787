"""Deliberately broken terms: each is caught by the check meant for it, and the sound original passes all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_kernels import Program
from diffloom_mechanics import ForceTerm, NodeTerm, TermContext, TorchTerm
from diffloom_testing import CheckOutcome, check_term
from diffloom_testing.suites import run_suite
from diffloom_testing.term_hosts import term_subject


@pytest.fixture(autouse=True)
def _hermetic(hermetic_registry):
    """Registry with the integrators of diffloom-mechanics alone, so that terms run on the particles of the suite."""


def tied(clock, q, u, stiffness, drag):
    """Springs from each particle to the mean of all, and drag."""
    return -stiffness[:, None] * (q - q.mean(dim=0)) - drag[:, None] * u


@dataclass(frozen=True)
class Sound(ForceTerm):
    """A term in plain PyTorch, where it is easily broken."""

    stiffness: float = 3.0
    drag: float = 0.5

    force = staticmethod(tied)
    claims: ClassVar[tuple[str, ...]] = ("conservative", "dissipative")

    @classmethod
    def example(cls, context: TermContext) -> Sound:
        return cls()

    @property
    def specs(self):
        return (
            ParamSpec("stiffness", self.stiffness, "N/m", "of the springs", ("nodes",), (0.0, None)),
            ParamSpec("drag", self.drag, "N s/m", "per speed", ("nodes",), (0.0, None)),
        )

    @classmethod
    def refuses(cls, nodes):
        return None if nodes.name == "particles" else f"springs tie particles together; these nodes are {nodes.name!r}"

    def term(self, name, params, context):
        made = {key: broadcast(params[key], (context.count,)) for key in ("stiffness", "drag")}
        return TorchTerm(name, self.force, tuple(made.items()), context.on)


class Negated(torch.autograd.Function):
    """The identity with an adjoint of the wrong sign."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, adj):
        return -adj


class WrongState(Sound):
    force = staticmethod(lambda clock, q, u, k, c: tied(clock, Negated.apply(q), u, k, c))


class WrongParameter(Sound):
    force = staticmethod(lambda clock, q, u, k, c: tied(clock, q, u, Negated.apply(k), c))


class Idle(Sound):
    force = staticmethod(lambda clock, q, u, k, c: 0.0 * tied(clock, q, u, k, c))


class Driving(Sound):
    force = staticmethod(lambda clock, q, u, k, c: tied(clock, q, u, k, -c))


class Swirling(Sound):
    force = staticmethod(lambda clock, q, u, k, c: tied(clock, q, u, k, c) + q.roll(1, dims=1))


class Adrift(Sound):
    claims: ClassVar[tuple[str, ...]] = ("momentum",)


class Boastful(Sound):
    claims: ClassVar[tuple[str, ...]] = ("beauty",)


class Unitless(Sound):
    @property
    def specs(self):
        return (ParamSpec("stiffness", 3.0, "stones", "of the springs", ("nodes",)), *super().specs[1:])


class Shapeless(Sound):
    @property
    def specs(self):
        return (ParamSpec("stiffness", 3.0, "N/m", "of the springs", ("nodes",), (5.0, None)), *super().specs[1:])


class Curt(Sound):
    @classmethod
    def refuses(cls, nodes):
        return None if nodes.name == "particles" else "no"


class Noisy(Sound):
    force = staticmethod(lambda clock, q, u, k, c: tied(clock, q, u, k, c) + 1e-9 * torch.randn(1, dtype=q.dtype))


BROKEN: Mapping[type, str] = {
    WrongState: "gradients.state[particles]",
    WrongParameter: "gradients.parameter[particles: stiffness]",
    Idle: "force.acts[particles]",
    Driving: "claims.keeps[particles: dissipative]",
    Swirling: "claims.keeps[particles: conservative]",
    Adrift: "claims.keeps[particles: momentum]",
    Boastful: "declarations.interface",
    Unitless: "declarations.units[stiffness]",
    Shapeless: "declarations.shape_and_bounds[stiffness]",
    Curt: "fits.refuses_others",
    Noisy: "determinism.repeats[particles]",
}


def test_the_intact_term_passes_and_counts_its_comparisons():
    report = check_term(Sound)
    assert report.count(CheckOutcome.PASSED) > 15
    skipped = {r.check for r in report.results if r.outcome is CheckOutcome.SKIPPED}
    assert skipped == {"integrators.runs[custom_step]", "adjoints.against_derived[particles]"}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_each_fault_fails_its_check(broken):
    families = ("declarations", "fits", "force", "gradients", "claims", "determinism")
    report = run_suite(term_subject(broken), families=families)
    assert BROKEN[broken] in [result.check for result in report.failures], str(report)


@dataclass(frozen=True)
class Dragged(Sound):
    """A compiled term with an adjoint of its own."""

    adjoint: ClassVar[str] = "sound_adjoint"
    claims: ClassVar[tuple[str, ...]] = ()

    def term(self, name, params, context):
        import broken_adjoint_kernels as kernels

        drag = broadcast(params["drag"], (context.count,))
        adjoint = getattr(kernels, self.adjoint)
        return NodeTerm(name, kernels.drag_force, adjoint, params=(("drag", drag),), on=context.on)


class Careless(Dragged):
    adjoint = "wrong_adjoint"


def test_a_wrong_adjoint_is_found_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(Program, "_build", None)
    sound, careless = (run_suite(term_subject(term), families=("adjoints",)) for term in (Dragged, Careless))
    assert [result.outcome for result in sound.results] == [CheckOutcome.PASSED]
    (failure,) = careless.failures
    assert failure.check == "adjoints.against_derived[particles]"
    assert "the adjoint of drag_force: the cotangent of drag differs" in failure.detail


def test_a_term_without_effect_is_skipped_or_fails():
    report = run_suite(term_subject(Idle), families=("force", "gradients", "claims", "motion"))
    passed = {result.check for result in report.results if result.outcome is CheckOutcome.PASSED}
    assert passed == set()


def test_a_function_is_no_term(hermetic_registry):
    with pytest.raises(TypeError, match=r"derives from diffloom_mechanics\.ForceTerm"):
        term_subject(tied)


def test_a_registered_function_is_reported_by_plugins_check(hermetic_registry):
    from diffloom.plugins import hookimpl

    class Plugin:
        @hookimpl
        def diffloom_register_terms(self, register):
            register("tied", tied, summary="An old kind of term")

    hermetic_registry.install(Plugin(), "old")
    result = CliRunner().invoke(diffloom, ["plugins", "check", "tied"])
    assert result.exit_code == 1
    assert "ForceTerm" in result.output
