"""Deliberately broken models: each is caught by the check meant for it, and the sound original passes all."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.fixed_order import broadcast
from diffloom.interfaces import Control, Dynamics, Params, ParamSpec, State, Surface
from diffloom_mechanics import Mechanics, TorchTerm, external_force, get_step_values, particles
from diffloom_testing import CheckOutcome
from diffloom_testing.subjects import model_subject
from diffloom_testing.suites import run_suite
from diffloom_testing.systems import ToyChain


@pytest.fixture(autouse=True)
def _hermetic(hermetic_registry):
    """Registry with the integrators of diffloom-mechanics alone."""


def stretch(q, u):
    """Unit vectors, lengths and their rates of the two springs."""
    d, s = q[1:] - q[:-1], u[1:] - u[:-1]
    length = d.norm(dim=1)
    n = d / length[:, None]
    return n, length, (n * s).sum(dim=1)


def pull(ends):
    """Forces (3, 3) of the springs' pulls (2, 3) on their first ends."""
    none = torch.zeros_like(ends[:1])
    return torch.cat([ends, none]) - torch.cat([none, ends])


def net(clock, q, u, k, c, rest):
    n, length, rate = stretch(q, u)
    return pull((k * (length - rest) + c * rate)[:, None] * n)


class Sound(ToyChain):
    """The toy model with its springs in plain PyTorch, where they are easily broken."""

    force = staticmethod(net)

    def springs(self, params: Params):
        names = ("stiffness", "damping", "rest_length")
        return TorchTerm("net", self.force, tuple((n, broadcast(params[n], (2,))) for n in names))

    def dynamics(self, params: Params, control: Control) -> Dynamics:
        law = particles(broadcast(params["mass"], (3,)), params["gravity"])
        return Mechanics(law, (self.springs(params), external_force(get_step_values("force", params, control, (3, 3)))))


class Negated(torch.autograd.Function):
    """The identity with an adjoint of the wrong sign."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, adj):
        return -adj


class Piling(torch.autograd.Function):
    """The identity with a backward pass that remembers what came before."""

    kept: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, adj):
        Piling.kept.append(1.0)
        return adj * len(Piling.kept)


def with_spec(name, /, **changes):
    """A model whose declaration of one parameter is changed."""

    class Changed(Sound):
        @property
        def specs(self):
            fields = ("name", "default", "unit", "doc", "shape", "bounds", "per_step", "differentiable")
            return tuple(
                ParamSpec(**{f: getattr(s, f) for f in fields} | (changes if s.name == name else {}))
                for s in super().specs
            )

    return Changed


def with_force(force):
    return type("Changed", (Sound,), {"force": staticmethod(force)})


class SignInAdjoint(Sound):
    def springs(self, params):
        return super().springs(params.replace(stiffness=Negated.apply(params["stiffness"])))


class MissingGradient(Sound):
    def springs(self, params):
        return super().springs(params.replace(rest_length=params["rest_length"].detach()))


class StartWithoutGradient(Sound):
    def initial_state(self, params):
        state = super().initial_state(params)
        return State(state.q, state.u.detach())


class RemembersRuns(Sound):
    def dynamics(self, params, control):
        self.runs = getattr(self, "runs", 0) + 1
        return super().dynamics(params.replace(mass=params["mass"] * (1.0 + 0.01 * self.runs)), control)


class RemembersParameters(Sound):
    """Keeps the first stiffness it sees, as a cache with too small a key does."""

    def springs(self, params):
        if not hasattr(self, "term"):
            self.term = super().springs(params)
        return self.term if self.term.params[0][1].dtype == params.dtype else super().springs(params)


class ChangesParameters(Sound):
    def dynamics(self, params, control):
        with torch.no_grad():
            if not params["mass"].requires_grad:
                params["mass"].mul_(1.01)
        return super().dynamics(params, control)


class AlwaysDouble(Sound):
    def initial_state(self, params):
        state = super().initial_state(params)
        return State(state.q.double(), state.u.double())


class TakesAnything(Sound):
    def params(self, dtype=torch.float32, **values):
        kept = {s.name: torch.as_tensor(s.default, dtype=dtype) for s in self.specs}
        return Params(kept | {n: torch.as_tensor(v, dtype=dtype) for n, v in values.items()}, dtype)


class IgnoresControl(Sound):
    def dynamics(self, params, control):
        return super().dynamics(params, Control())


class NobodyRuns(Sound):
    class Strange(Dynamics):
        kind = "strange"

    def dynamics(self, params, control):
        return self.Strange()


class NotAtRest(Sound):
    def springs(self, params):
        return super().springs(params.replace(rest_length=0.9 * params["rest_length"]))


class Unpicklable(Sound):
    def __init__(self):
        super().__init__()
        self.helper = lambda: None


class LosesItselfInACopy(Sound):
    weight = 1.0

    def __init__(self):
        super().__init__()
        self.weight = 2.0

    def __getstate__(self):
        return {"radius": self.radius}

    def dynamics(self, params, control):
        return super().dynamics(params.replace(mass=self.weight * params["mass"]), control)


class RaisingExample(Sound):
    @classmethod
    def example(cls):
        raise RuntimeError("no example today")


class RaisingSpecs(Sound):
    @property
    def specs(self):
        raise RuntimeError("no parameters today")


def with_surface(change):
    class Changed(Sound):
        def surface(self, trajectory, params):
            return change(super().surface(trajectory, params))

    return Changed


def one_face_twice(surface):
    return Surface(surface.vertices, torch.cat([surface.faces, torch.tensor([[0, 0, 1]])]))


def with_settings(**changes):
    return type("Changed", (Sound,), {"example_settings": replace(Sound.example_settings, **changes)})


def coarse_sum(clock, q, u, k, c, rest):
    """Places are added to something large and taken away again: float32 loses what float64 keeps."""
    return net(clock, (q + 3e5) - 3e5, u, k, c, rest)


def leaking(clock, q, u, k, c, rest):
    found = net(clock, q, u, k, c, rest)
    return torch.cat([found[:1], 0.9 * found[1:]])


def swirling(clock, q, u, k, c, rest):
    n, length, _ = stretch(q, u)
    return net(clock, q, u, k, c, rest) + pull(0.1 * (length - rest)[:, None] * torch.linalg.cross(n, n.roll(1, 1)))


BROKEN = {
    "wrong sign in the adjoint of a parameter": (SignInAdjoint, "gradients.parameter[stiffness]"),
    "missing gradient of a parameter": (MissingGradient, "gradients.parameter[rest_length]"),
    "missing gradient of the start": (StartWithoutGradient, "gradients.start"),
    "wrong sign in the adjoint of the state": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, Negated.apply(q), u, k, c, rest)),
        "dot_product.state[one step]",
    ),
    "a backward pass that piles up": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, q, u, Piling.apply(k), c, rest)),
        "dot_product.linear",
    ),
    "momentum leak": (with_force(leaking), "invariance.claim[momentum]"),
    "a torque from nowhere": (with_force(swirling), "invariance.claim[angular_momentum]"),
    "drag against the world": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, q, u, k, c, rest) - 0.1 * u),
        "invariance.claim[boost]",
    ),
    "tied to the world": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, q, u, k, c, rest) - 0.1 * q),
        "invariance.claim[translation]",
    ),
    "a preferred direction": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, q, u, k, c, rest) * torch.tensor([1.0, 1.1, 1.0])),
        "invariance.claim[rotation]",
    ),
    "not at rest": (NotAtRest, "rest.stays"),
    "hidden state": (RemembersRuns, "determinism.repeats"),
    "a cache with too small a key": (RemembersParameters, "determinism.remembers_nothing"),
    "noise": (
        with_force(lambda clock, q, u, k, c, rest: net(clock, q, u, k, c, rest) * (1.0 + 1e-6 * torch.rand(1))),
        "determinism.repeats",
    ),
    "parameters changed in place": (ChangesParameters, "determinism.leaves_inputs_alone"),
    "digits lost in single precision": (with_force(coarse_sum), "precision.single_and_double"),
    "another precision than asked for": (AlwaysDouble, "declarations.initial_state"),
    "an unknown unit": (with_spec("mass", unit="pounds"), "declarations.units[mass]"),
    "no meaning": (with_spec("mass", doc=" "), "declarations.units[mass]"),
    "a default that is not finite": (with_spec("mass", default=float("nan")), "declarations.shape_and_bounds[mass]"),
    "a default beyond its bounds": (with_spec("damping", default=-1.0), "declarations.shape_and_bounds[damping]"),
    "an unknown axis": (with_spec("mass", shape=("wheels",)), "declarations.shape_and_bounds[mass]"),
    "a name twice": (with_spec("mass", name="gravity"), "declarations.interface"),
    "an axis of half a particle": (
        type("Changed", (Sound,), {"axes": {"particles": 3, "springs": 2, "halves": 0.5}}),
        "declarations.axes",
    ),
    "an example that fits nothing there is": (with_settings(rest={"speed": 0.0}), "declarations.example"),
    "any value taken: unknown": (TakesAnything, "bad_input.unknown_parameter"),
    "any value taken: NaN": (TakesAnything, "bad_input.not_a_number[mass]"),
    "any value taken: shape": (TakesAnything, "bad_input.wrong_shape[mass]"),
    "any value taken: bounds": (TakesAnything, "bad_input.out_of_bounds[mass]"),
    "any value taken: precision": (TakesAnything, "bad_input.mixed_precision"),
    "a control that does nothing": (IgnoresControl, "controls.constant[force]"),
    "dynamics that nobody runs": (NobodyRuns, "integrators.some"),
    "a face without area": (with_surface(one_face_twice), "surface.valid"),
    "a frame too many": (
        with_surface(lambda s: Surface(torch.cat([s.vertices, s.vertices[:1]]), s.faces)),
        "surface.valid",
    ),
    "faces wound inwards": (with_surface(lambda s: Surface(s.vertices, s.faces.flip(1))), "surface.outward"),
    "a surface without gradient": (with_surface(lambda s: Surface(s.vertices.detach(), s.faces)), "surface.gradient"),
    "what cannot be pickled": (Unpicklable, "copying.pickles"),
    "what is lost in a copy": (LosesItselfInACopy, "copying.copies"),
    "an example that raises": (RaisingExample, "declarations.interface"),
    "declarations that raise": (RaisingSpecs, "declarations.units"),
    "a claim there is not": (with_settings(claims=("beauty",)), "invariance.claim[beauty]"),
}


def failures(model, family):
    report = run_suite(model_subject(model), families=[family])
    return {result.check: result.detail for result in report.results if result.outcome is CheckOutcome.FAILED}


def test_the_intact_original_passes_all_checks():
    report = run_suite(model_subject(Sound))
    assert not report.failures, str(report)
    assert set(report.skipped_families) == {"impacts", "memory"}, "it claims no contact and has no memory"


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_subject_fails_its_check(fault):
    model, meant = BROKEN[fault]
    found = failures(model, meant.split(".")[0])
    assert meant in found, f"{meant} does not see it; failing: {sorted(found)}"
    assert found[meant]


# (code, replacement, check that must fail): mistakes in the adjoint of a compiled force.
SABOTAGE = {
    "wrong sign": ("adj_stiffness[i] -= s\n", "adj_stiffness[i] += s\n", "gradients.parameter[stiffness]"),
    "forgotten": ("    adj_hardening[i] -= s * square\n", "", "gradients.parameter[hardening]"),
    "half a product rule": ("h * s + h * s", "h * s", "dot_product.state[one step]"),
}


@pytest.mark.parametrize("mistake", SABOTAGE)
def test_a_wrong_adjoint_of_a_compiled_force_is_caught(mistake, tmp_path, monkeypatch):
    old, new, meant = SABOTAGE[mistake]
    name = "sabotaged_" + mistake.replace(" ", "_")
    result = CliRunner().invoke(diffloom, ["plugins", "new", "physics", name, "--into", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (kernels,) = Path(tmp_path).rglob("kernels.py")
    assert kernels.read_text().count(old) == 1
    kernels.write_text(kernels.read_text().replace(old, new))
    monkeypatch.syspath_prepend(str(kernels.parent.parent))
    module = importlib.import_module(f"diffloom_physics_{name}.model")
    try:
        (model,) = [v for k, v in vars(module).items() if k.startswith("Sabotaged")]
        found = failures(model, meant.split(".")[0])
    finally:
        for key in [key for key in sys.modules if key.startswith(f"diffloom_physics_{name}")]:
            del sys.modules[key]
    assert meant in found, sorted(found)
