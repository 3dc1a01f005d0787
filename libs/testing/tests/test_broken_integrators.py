"""Deliberately broken integrators: each is caught by the check meant for it, and the sound original passes all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from diffloom.interfaces import Checkpointed, Integrator, NoGradient, SimulationError, State, StoreAll, Trajectory
from diffloom_mechanics import Mechanics, SemiImplicitEuler, moves, refuse_unless_mechanics, run_explicit_rollout
from diffloom_testing import CheckOutcome
from diffloom_testing.subjects import integrator_subject
from diffloom_testing.suites import run_suite

SOUND = SemiImplicitEuler(target="serial")


@dataclass(frozen=True)
class Wrapped(Integrator):
    """Semi-implicit Euler; broken ones change what goes in or comes out."""

    def refuses(self, dynamics):
        return SOUND.refuses(dynamics)

    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        return SOUND.rollout(dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient)


@dataclass(frozen=True)
class LateFrames(Wrapped):
    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        later = tuple(k + 1 for k in save)
        path = super().rollout(dynamics, state, dt=dt, steps=steps + 1, save=later, gradient=gradient)
        return replace(path, times=state.time + dt * torch.tensor(save, dtype=torch.float64))


@dataclass(frozen=True)
class OwnClock(Wrapped):
    def rollout(self, dynamics, state, **given):
        path = super().rollout(dynamics, state, **given)
        return replace(path, times=path.times - state.time)


MEMORY: dict[str, Any] = {}


@dataclass(frozen=True)
class Momentous(Wrapped):
    """Starts with the velocities it ended with the last time, a little."""

    def rollout(self, dynamics, state, **given):
        last = MEMORY.get("u", torch.zeros_like(state.u)).to(state.u.dtype)
        path = super().rollout(dynamics, State(state.q, state.u + 1e-3 * last, state.time), **given)
        MEMORY["u"] = path.u[-1].detach()
        return path


@dataclass(frozen=True)
class ShortSteps(Wrapped):
    def rollout(self, dynamics, state, *, dt, **given):
        path = super().rollout(dynamics, state, dt=0.98 * dt, **given)
        return replace(path, times=state.time + (path.times - state.time) / 0.98)


@dataclass(frozen=True)
class Draggy(Wrapped):
    """Loses a little velocity in a rollout."""

    def rollout(self, dynamics, state, **given):
        path = super().rollout(dynamics, state, **given)
        return replace(path, u=path.u * torch.linspace(1.0, 0.999, len(path), dtype=path.u.dtype)[:, None, None])


@dataclass(frozen=True)
class Ruth(Integrator):
    """Ruth's scheme of third order."""

    order = 3
    scheme = moves((7 / 24, 2 / 3), (3 / 4, -2 / 3), (-1 / 24, 1.0))

    def refuses(self, dynamics):
        return refuse_unless_mechanics("ruth", dynamics)

    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        return run_explicit_rollout(
            self.scheme, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target="serial"
        )


@dataclass(frozen=True)
class SwappedRuth(Ruth):
    """Ruth's scheme with its first two kicks in the wrong order."""

    scheme = moves((3 / 4, 2 / 3), (7 / 24, -2 / 3), (-1 / 24, 1.0))


@dataclass(frozen=True)
class FrozenForce(Integrator):
    """Uses the force of the start in all steps: smooth, repeatable, and wrong."""

    def refuses(self, dynamics):
        return SOUND.refuses(dynamics)

    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        assert isinstance(dynamics, Mechanics)
        arrays = dict(dynamics.nodes.arrays)
        free = (arrays["inverse_mass"] > 0)[:, None].to(state.u.dtype)
        pull = free * (dynamics.force(state.q, state.u) * arrays["inverse_mass"][:, None] + arrays["gravity"])
        q, u, frames = state.q, state.u, {0: (state.q, state.u)}
        for k in range(steps):
            u = u + dt * pull
            q = q + dt * u * free
            frames[k + 1] = (q, u)
        times = state.time + dt * torch.tensor(save, dtype=torch.float64)
        return Trajectory(torch.stack([frames[k][0] for k in save]), torch.stack([frames[k][1] for k in save]), times)


@dataclass(frozen=True)
class ForgetsTheStart(Wrapped):
    def rollout(self, dynamics, state, **given):
        return super().rollout(dynamics, State(state.q.detach(), state.u, state.time), **given)


@dataclass(frozen=True)
class CheapCheckpoints(Wrapped):
    """Checkpoints in another precision: nearly the same."""

    def rollout(self, dynamics, state, *, gradient, **given):
        path = super().rollout(dynamics, state, gradient=StoreAll(), **given)
        return replace(path, q=path.q * (1.0 + 1e-9)) if isinstance(gradient, Checkpointed) else path


@dataclass(frozen=True)
class AlwaysDifferentiates(Wrapped):
    def rollout(self, dynamics, state, *, gradient, **given):
        wanted = StoreAll() if isinstance(gradient, NoGradient) else gradient
        return super().rollout(dynamics, state, gradient=wanted, **given)


@dataclass(frozen=True)
class Noisy(Wrapped):
    def rollout(self, dynamics, state, **given):
        path = super().rollout(dynamics, state, **given)
        return replace(path, q=path.q * (1.0 + 1e-12 * torch.rand(1, dtype=torch.float64)).to(path.q.dtype))


@dataclass(frozen=True)
class InPlace(Wrapped):
    def rollout(self, dynamics, state, **given):
        path = super().rollout(dynamics, state, **given)
        with torch.no_grad():
            if not state.q.requires_grad:
                state.q.copy_(path.q[-1])
        return path


@dataclass(frozen=True)
class Doubling(Wrapped):
    def rollout(self, dynamics, state, **given):
        path = super().rollout(dynamics, state, **given)
        return replace(path, q=path.q.double(), u=path.u.double())


@dataclass(frozen=True)
class Obliging(Wrapped):
    """Makes sense of schedules that make none."""

    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        kept = tuple(sorted(k for k in save if k <= max(steps, 0)))
        return super().rollout(dynamics, state, dt=abs(dt) or 1e-3, steps=max(steps, 0), save=kept, gradient=gradient)


@dataclass(frozen=True)
class SilentBlowUp(Wrapped):
    def rollout(self, dynamics, state, *, dt, steps, save, gradient):
        try:
            return super().rollout(dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient)
        except SimulationError:
            frames = torch.full((len(save), *state.q.shape), torch.nan)
            return Trajectory(frames, frames.clone(), dt * torch.tensor(save, dtype=torch.float64))


@dataclass
class NotFrozen(Integrator):
    """A dataclass that may be changed."""

    def refuses(self, dynamics):
        return SOUND.refuses(dynamics)

    def rollout(self, dynamics, state, **given):
        return SOUND.rollout(dynamics, state, **given)


@dataclass(frozen=True)
class RefusesWithoutAWord(Wrapped):
    def refuses(self, dynamics):
        return None if SOUND.refuses(dynamics) is None else ""


@dataclass(frozen=True)
class RefusesAll(Wrapped):
    def refuses(self, dynamics):
        return "today I am tired"


@dataclass(frozen=True)
class TakesAll(Wrapped):
    def refuses(self, dynamics):
        return None


@dataclass(frozen=True)
class Unpicklable(Wrapped):
    def __reduce__(self):
        raise TypeError("this integrator stays here")


BROKEN = {
    "frames saved a step late": (LateFrames, "schedule.saves_what_is_asked[hanging chain]"),
    "a clock of its own": (OwnClock, "schedule.times[hanging chain]"),
    "velocities carried over": (Momentous, "schedule.goes_on[hanging chain]"),
    "results that depend on the last run": (Momentous, "determinism.repeats[hanging chain]"),
    "steps too short": (ShortSteps, "accuracy.free_fall"),
    "the force of the start in all steps": (FrozenForce, "accuracy.converges[hanging chain]"),
    "two coefficients swapped": (SwappedRuth, "accuracy.order"),
    "momentum lost": (Draggy, "accuracy.momentum"),
    "no gradient by the start": (ForgetsTheStart, "gradients.every_input[hanging chain]"),
    "checkpoints that are not exact": (CheapCheckpoints, "gradients.policies[hanging chain]"),
    "gradients that nobody asked for": (AlwaysDifferentiates, "gradients.policies[hanging chain]"),
    "noise": (Noisy, "determinism.repeats[hanging chain]"),
    "a state changed in place": (InPlace, "determinism.leaves_inputs_alone[hanging chain]"),
    "another precision than asked for": (Doubling, "precision.single_and_double[hanging chain]"),
    "schedules that make no sense": (Obliging, "trouble.schedules[hanging chain]"),
    "NaN without a word": (SilentBlowUp, "trouble.blow_up"),
    "settings that may be changed": (NotFrozen, "interface.settings"),
    "a refusal without a reason": (
        RefusesWithoutAWord,
        "interface.refuses_with_a_reason[system with its own step]",
    ),
    "nothing it advances": (RefusesAll, "interface.advances_something"),
    "nothing it refuses": (TakesAll, "interface.refuses_the_unknown"),
    "what cannot be pickled": (Unpicklable, "copying.pickles_and_copies"),
}


def test_the_intact_original_passes_all_checks():
    report = run_suite(integrator_subject(Wrapped))
    assert not report.failures, str(report)
    assert report.skipped_families == {}


def test_a_scheme_of_the_declared_order_passes():
    report = run_suite(integrator_subject(Ruth), families=["accuracy"])
    found = {result.check: result for result in report.results}
    assert found["accuracy.order"].outcome is CheckOutcome.PASSED, found["accuracy.order"]


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_subject_fails_its_check(fault):
    integrator, meant = BROKEN[fault]
    MEMORY.clear()
    report = run_suite(integrator_subject(integrator), families=[meant.split(".")[0]])
    found = {result.check: result.detail for result in report.results if result.outcome is CheckOutcome.FAILED}
    assert meant in found, f"{meant} does not see it; failing: {sorted(found)}"
