"""The suites for losses and optimisers: installed ones pass, and broken ones fail."""

from dataclasses import dataclass, field, replace

import pytest
import torch
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.interfaces import InputError
from diffloom_fitting import LOSSES, OPTIMISERS, Adam, Evaluate, Loss, Optimiser, PixelError, Progress, Sgd
from diffloom_fitting.testing import check_loss, check_optimiser, loss_subject, optimiser_subject
from diffloom_testing import CheckOutcome, parametrize_with_checks
from diffloom_testing.suites import run_suite


@parametrize_with_checks(
    [*(f"loss {name}" for name in LOSSES.names()), *(f"optimiser {name}" for name in OPTIMISERS.names())]
)
def test_conformance(subject, check):
    check()


@dataclass(frozen=True)
class Base(Loss):
    """Sound: broken ones change one thing."""

    outputs = ("rgba",)

    def residuals(self, view, target):
        if target.frames is None:
            raise InputError("no frames to compare")
        return view.image.rgba - target.frames


@dataclass(frozen=True)
class WrongGradient(Base):
    def value(self, view, target):
        found = super().residuals(view, target).square().mean()
        return 2.0 * found - found.detach()


@dataclass(frozen=True)
class Offset(Base):
    def value(self, view, target):
        return super().residuals(view, target).square().mean() + 0.1


@dataclass(frozen=True)
class OtherResiduals(Base):
    def residuals(self, view, target):
        return 1.1 * super().residuals(view, target)

    def value(self, view, target):
        return Base.residuals(self, view, target).square().mean()


@dataclass(frozen=True)
class PerFrame(Base):
    def value(self, view, target):
        return super().residuals(view, target).square().mean(dim=(1, 2, 3))


@dataclass(frozen=True)
class Careless(Base):
    def residuals(self, view, target):
        return view.image.rgba - target.frames


@dataclass(frozen=True)
class Double(Base):
    def value(self, view, target):
        return super().residuals(view, target).double().square().mean()


@dataclass(frozen=True)
class Unused(Base):
    outputs = ("rgba", "silhouette")


@dataclass(frozen=True)
class Greedy(Base):
    outputs = ("rgba", "heat")


BROKEN_LOSSES = {
    WrongGradient: "gradients.exact[rgba]",
    Offset: "value.match",
    OtherResiduals: "residuals.mean_square",
    PerFrame: "value.scalar",
    Careless: "bad_input.empty_target",
    Double: "precision.single_and_double",
    Unused: "gradients.exact[silhouette]",
    Greedy: "interface.outputs",
}


def failures(report):
    return {result.check for result in report.results if result.outcome is CheckOutcome.FAILED}


def test_the_sound_loss_passes_all():
    report = check_loss(Base)
    assert report.compared == len(report.results) - report.count(CheckOutcome.SKIPPED) >= 12


@pytest.mark.parametrize("broken", BROKEN_LOSSES, ids=lambda each: each.__name__)
def test_a_broken_loss_is_seen(broken):
    assert BROKEN_LOSSES[broken] in failures(run_suite(loss_subject(broken)))


@dataclass(frozen=True)
class Climber(Sgd):
    def step(self, problem, progress, rate):
        return super().step(problem, replace(progress, gradient=-progress.gradient), rate)


@dataclass(frozen=True)
class Liar(Sgd):
    def step(self, problem, progress, rate):
        found = yield from super().step(problem, progress, rate)
        return replace(found, value=0.5 * found.value)


@dataclass(frozen=True)
class Hoarder(Sgd):
    def step(self, problem, progress, rate):
        found = yield from super().step(problem, progress, rate)
        return replace(found, memory={**found.memory, "trace": {1, 2}})


@dataclass(frozen=True)
class Meddler(Adam):
    def step(self, problem, progress, rate):
        found = yield from super().step(problem, progress, rate)
        progress.z.add_(0.1)
        return found


@dataclass(frozen=True)
class Remembering(Sgd):
    calls: list = field(default_factory=list, compare=False)

    def step(self, problem, progress, rate):
        self.calls.append(1)
        return super().step(problem, progress, rate / len(self.calls))


@dataclass(frozen=True)
class Reckless(Sgd):
    def step(self, problem, progress, rate):
        z = progress.z - 50.0 * progress.gradient.sign()
        (seen,) = yield Evaluate([z], "gradient")
        return Progress(z, seen.value, seen.gradient, {}, progress.evaluations + 1)


@dataclass(frozen=True)
class Widening(Sgd):
    def step(self, problem, progress, rate):
        found = yield from super().step(problem, progress, rate)
        return replace(found, z=found.z.double())


@dataclass(frozen=True)
class Deaf(Sgd):
    def renew(self, problem, progress):
        yield from ()
        return progress


@dataclass(frozen=True)
class Direct(Sgd):
    def renew(self, problem, progress):
        yield from ()
        seen = problem.evaluate(progress.z)
        return replace(progress, value=seen.value, gradient=seen.gradient)


@dataclass(frozen=True)
class Plain(Sgd):
    def begin(self, problem, z, seed):
        seen = problem.evaluate(z)
        return Progress(z.clone(), seen.value, seen.gradient, {}, 1)


@dataclass(frozen=True)
class Interfering(Sgd):
    """Keeps what belongs to one search where another finds it."""

    at: list = field(default_factory=list, compare=False)

    def step(self, problem, progress, rate):
        self.at[:] = [progress.z]
        found = yield from super().step(problem, progress, rate)
        return replace(found, z=found.z + (self.at[0] - progress.z))


BROKEN_OPTIMISERS = {
    Direct: "interface.asks",
    Plain: "interface.asks",
    Interfering: "determinism.together",
    Climber: "descent.lower",
    Liar: "descent.honest",
    Hoarder: "resuming.checkpoint",
    Meddler: "determinism.leaves_progress_alone",
    Remembering: "determinism.repeats",
    Reckless: "trouble.cliff",
    Widening: "precision.single",
    Deaf: "descent.schedule",
}


@pytest.mark.parametrize("broken", BROKEN_OPTIMISERS, ids=lambda each: each.__name__)
def test_a_broken_optimiser_is_seen(broken):
    assert BROKEN_OPTIMISERS[broken] in failures(run_suite(optimiser_subject(broken)))


def test_names_classes_and_instances_are_taken():
    assert check_loss(PixelError(coverage=False), families=["value"]).count(CheckOutcome.PASSED) == 3
    assert check_optimiser("sgd", families=["interface"]).name == "sgd"
    assert issubclass(Sgd, Optimiser)
    decorator = parametrize_with_checks([PixelError, Adam()], families=["copying"])
    assert [each.values[0] for each in decorator.args[1]] == ["PixelError", "Adam"]


def test_the_command_runs_them_and_says_how_many_compared_something():
    for name in ("iou", "adam"):
        result = CliRunner().invoke(diffloom, ["plugins", "check", name])
        assert result.exit_code == 0, result.output
        last = result.output.splitlines()[-1]
        assert " 0 failed" in last
        ran, compared = int(last.split(" checks ran")[0]), int(last.split("; ")[1].split(" compared")[0])
        assert compared == ran - 1 >= 10, "all but loading compare"


def test_the_residuals_of_a_loss_that_has_none_are_skipped():
    report = check_loss("iou", families=["residuals"])
    assert "not a mean of squares" in report.skipped_families["residuals"]
    assert torch.get_default_dtype() == torch.float32
