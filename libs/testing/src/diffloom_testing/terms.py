"""Checks of a force term on every installed model that it fits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, Model
from diffloom.plugins import get_integrator, integrators
from diffloom_mechanics import ForceTerm, WithTerms, compare_device_adjoints
from diffloom_testing.comparisons import (
    describe_worst,
    largest_difference,
    require_finite,
    require_frozen,
    require_matching_gradients,
    require_refusal,
    require_same_bits,
)
from diffloom_testing.models.adjoints import describe_comparisons
from diffloom_testing.models.interface import (
    require_specs,
    shape_and_bounds as model_shape_and_bounds,
    units as model_units,
)
from diffloom_testing.results import Check, Failure, Skip, check, require
from diffloom_testing.suites import Suite
from diffloom_testing.term_hosts import TERM, Host, TermSubject, dials, term_subject

TOLERANCE = 1e-6
#: Tolerance over several steps, in which contact may begin or end within a difference.
MOTION_TOLERANCE = 1e-5
CLAIMS = ("conservative", "dissipative", "momentum", "angular_momentum")


def hosts(subject: TermSubject) -> tuple[str, ...]:
    """Return the names of the models that the term fits."""
    return tuple(subject.hosts)


def parameters(subject: TermSubject) -> tuple[str, ...]:
    """Return the names of the term's parameters."""
    return tuple(spec.name for spec in subject.term.specs)


def parameters_on_hosts(subject: TermSubject) -> tuple[str, ...]:
    """Return every parameter on every model, such as "cloth: radius"."""
    return tuple(f"{host}: {name}" for host in hosts(subject) for name in parameters(subject))


def claims_on_hosts(subject: TermSubject) -> tuple[str, ...]:
    """Return every claim on every model, such as "cloth: momentum"."""
    return tuple(f"{host}: {claim}" for host in hosts(subject) for claim in subject.found.claims)


@check("declarations")
def interface(subject: TermSubject) -> None:
    """The term is a frozen ForceTerm; specs are the same tuple twice; names are different Python identifiers."""
    term = subject.term
    require_frozen(term, ForceTerm)
    odd = [
        name
        for name in require_specs(term)
        if not (isinstance(name, str) and name.isidentifier() and name == name.lower())
    ]
    require(not odd, f"parameter names {odd}: use lower-case words of Python, joined by _")
    unknown = sorted(set(subject.found.claims) - set(CLAIMS))
    require(not unknown, f"claims names {unknown}; it may name {', '.join(CLAIMS)}")


@check("declarations", parameters)
def units(subject: TermSubject, name: str) -> None:
    """The unit is written in SI symbols ("" for none), and the meaning is given."""
    model_units.function(subject, name)


@check("declarations", parameters)
def shape_and_bounds(subject: TermSubject, name: str) -> None:
    """The shape names "nodes" or axes of the term, bounds are in order, and the default fits shape and bounds."""
    model_shape_and_bounds.function(subject, name)


@check("fits")
def a_model(subject: TermSubject) -> str:
    """The term fits at least one installed model."""
    require(bool(hosts(subject)), "it fits no installed model, nor particles; install a model that it is meant for")
    return f"it fits {', '.join(hosts(subject))}"


@check("fits")
def refuses_others(subject: TermSubject) -> str:
    """Nodes that the term does not fit are refused with a reason that names the nodes it takes; so is their model."""
    tried = []
    reason = subject.found.refuses(dials())
    if reason is not None:
        require(isinstance(reason, str) and len(reason.split()) > 4, f"refuses() says {reason!r}; say what it fits")
        tried.append("nodes of one coordinate")
    for name, model in subject.refused_models.items():
        require_refusal(f"the model {name!r}", make_term_adder(subject.term, model), TERM, type(model).__name__)
        tried.append(name)
    if not tried:
        raise Skip("it fits everything that is installed")
    return f"refused: {', '.join(tried)}"


def make_term_adder(term: ForceTerm, model: Model) -> Callable[[], object]:
    """Return a function that adds the term to a model."""
    return lambda: WithTerms(model, {TERM: term})


@check("fits", hosts)
def unknown_parameter(subject: TermSubject, name: str) -> None:
    """A parameter that the term does not have is refused by its full name."""
    host = subject.hosts[name]
    require_refusal("a parameter that is not there", lambda: host.params(nonsense=1.0), f"{TERM}.nonsense")


@check("force", hosts)
def acts(subject: TermSubject, name: str) -> str:
    """The example acts on some nodes, with finite forces, and does not change the state."""
    host = subject.hosts[name]
    state = host.state()
    q, u = state.q.clone(), state.u.clone()
    force = require_finite("the force", host.force(state.q, state.u))
    require(force.shape == state.u.shape, f"the force has shape {tuple(force.shape)} for u {tuple(state.u.shape)}")
    touched = int((force.abs().sum(dim=1) > 0).sum())
    require(touched > 0, f"example() does nothing on {name!r} where its nodes start; nothing could be checked")
    require_same_bits("the coordinates before and after", q, state.q)
    require_same_bits("the velocities before and after", u, state.u)
    return f"acts on {touched} of {len(q)} nodes"


@check("force", hosts)
def precision(subject: TermSubject, name: str) -> str:
    """Single precision agrees with double to a thousandth of the largest force."""
    host = subject.hosts[name]
    forces = []
    for dtype in (torch.float64, torch.float32):
        state = host.state(torch.float64)
        forces.append(host.force(state.q.to(dtype), state.u.to(dtype)))
    most = float(forces[0].abs().max())
    if most == 0.0:
        raise Skip("the example does nothing here")
    error = largest_difference(forces[0], forces[1].double()) / most
    require(error < 1e-3, f"float32 differs from float64 by {error:.1e} of the largest force")
    return f"relative difference {error:.1e}"


@check("adjoints", hosts)
def against_derived(subject: TermSubject, name: str) -> str:
    """The term's hand-written adjoint agrees with the one derived from the source of its force."""
    host = subject.hosts[name]
    compared = compare_device_adjoints(host.alone(host.params()), host.state())
    return describe_comparisons([one for one in compared if repr(TERM) in one.owner])


@check("gradients", hosts)
def state(subject: TermSubject, name: str) -> str:
    """The force's gradient by coordinates and velocities agrees with differences."""
    host = subject.hosts[name]
    at = host.state()

    def force(q: Tensor, u: Tensor) -> Tensor:
        return host.force(q, u)

    found = require_matching_gradients(force, {"q": at.q, "u": at.u}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        raise Skip("the force depends on neither, nor do its gradients say so")
    return describe_worst(found)


@check("gradients", parameters_on_hosts)
def parameter(subject: TermSubject, case: str) -> str:
    """The force's gradient by one parameter on one model agrees with differences."""
    where, name = case.split(": ")
    host = subject.hosts[where]
    spec = next(s for s in host.composed.terms[TERM].specs if s.name == name)
    if not spec.differentiable:
        raise Skip(f"{name!r} is declared not to be differentiable")
    others = _variant(subject, name)
    value = host.params(**others).get(f"{TERM}.{name}")
    if value is None:
        raise Skip(f"{name!r} is optional, and neither example() nor an entry of variants gives it a value")
    at = host.state()
    rest = {key: given for key, given in others.items() if key != name}

    def force(**given: Tensor) -> Tensor:
        # Velocities of both signs, because a force on approaching nodes acts in one of the two cases only.
        both = [host.force(at.q, u, **rest, **given) for u in (at.u, -at.u)]
        return torch.cat(both) + 0.0 * given[name].sum()

    found = require_matching_gradients(force, {name: value.detach().clone()}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        raise Skip(f"the force does not depend on {name!r} in the example: gradient and differences are zero")
    return describe_worst(found)


def _variant(subject: TermSubject, name: str) -> dict[str, Any]:
    """Return the values of the variant that names a parameter; empty if there is none."""
    for variant in subject.found.variants:
        if name in variant:
            return dict(variant)
    return {}


@check("motion", hosts)
def gradient(subject: TermSubject, name: str) -> str:
    """The gradient of a few steps of the whole model by all parameters of the term agrees with differences."""
    return _motion(subject.hosts[name], "semi_implicit", steps=6)


@check("integrators", lambda subject: tuple(integrators()))
def runs(subject: TermSubject, scheme: str) -> str:
    """Each integrator that runs the first model runs it with the term too, and with gradients."""
    host = subject.host
    reason = get_integrator(scheme)().refuses(host.composed.dynamics(host.params(), Control()))
    if reason is not None:
        raise Skip(reason)
    return _motion(host, scheme, steps=3)


def _motion(host: Host, scheme: str, steps: int) -> str:
    """Compare the gradient of a rollout of a host with differences."""
    if host.on:
        raise Skip("the model has several node sets; its motion is left to its own checks")
    at, params = host.state(), host.params()
    own = {name: value for name, value in params.items() if name.startswith(f"{TERM}.")}
    seekable = {spec.name for spec in host.composed.specs if spec.differentiable}

    def path(**given: Tensor) -> Tensor:
        found = simulate(
            host.composed, params.replace(**given), dt=host.dt, steps=steps, save=(steps,), integrator=scheme, state=at
        )
        return torch.cat([found.q.reshape(-1), found.u.reshape(-1)]) + 0.0 * sum(v.sum() for v in given.values())

    inputs = {name: value.detach().clone() for name, value in own.items() if name in seekable}
    if not inputs:
        raise Skip("it has no differentiable parameters")
    found = require_matching_gradients(path, inputs, tolerance=MOTION_TOLERANCE, directions=1)
    if all(c.silent for c in found):
        raise Failure("the motion depends on none of the term's parameters: all gradients and differences are zero")
    return f"{len([c for c in found if not c.silent])} parameters, {describe_worst(found)}"


@check("claims", claims_on_hosts)
def keeps(subject: TermSubject, case: str) -> str:
    """The force keeps what the term claims, on one model."""
    where, claim = case.split(": ")
    return KEEPERS[claim](subject.hosts[where])


def _conservative(host: Host) -> str:
    """Require that the force at rest derives from an energy: its Jacobian by the coordinates is symmetric."""
    at = host.state()
    if at.q.shape != at.u.shape:
        raise Skip("coordinates and velocities are not of one kind here, so no matrix can be compared")
    shift = torch.Generator().manual_seed(7)
    a, b = (torch.randn(at.q.shape, generator=shift, dtype=torch.float64) for _ in range(2))
    q = at.q.clone().requires_grad_()
    force = host.force(q, torch.zeros_like(at.u))
    (by_a,) = torch.autograd.grad(force, q, a, retain_graph=True)
    (by_b,) = torch.autograd.grad(force, q, b)
    one, other = float((by_a * b).sum()), float((by_b * a).sum())
    scale = float(by_a.norm() * b.norm())
    if scale == 0.0:
        raise Skip("the force is the same for all coordinates here")
    require(abs(one - other) <= 1e-9 * scale, f"a.J b is {one:.9g} and b.J a {other:.9g}; expected the same")
    return f"asymmetry {abs(one - other) / scale:.1e}"


def _dissipative(host: Host) -> str:
    """Require that the part of the force that depends on velocities takes energy away, at each node."""
    at = host.state()
    added = host.force(at.q, at.u) - host.force(at.q, torch.zeros_like(at.u))
    power = (added * at.u).sum(dim=1).detach()
    if not bool((power != 0).any()):
        raise Skip("the force does not depend on velocities here")
    most = float(power.max())
    require(most <= 1e-12 * float(power.abs().max()), f"node {int(power.argmax())} gains {most:.3g} W")
    return f"{float(power.sum()):.3g} W"


def _momentum(host: Host) -> str:
    """Require that forces sum to zero."""
    force = host.force(*_state(host)).detach()[:, :3]
    error = float(force.sum(dim=0).norm()) / max(float(force.abs().sum()), 1e-300)
    require(error <= 1e-12, f"the forces add up to {error:.1e} of the sum of their sizes; expected nothing")
    return f"relative sum {error:.1e}"


def _angular_momentum(host: Host) -> str:
    """Require that torques about the origin sum to zero."""
    q, u = _state(host)
    force = host.force(q, u).detach()
    if force.shape[1] != 3:
        raise Skip("only forces on particles are added up to a torque")
    torque = torch.linalg.cross(q[:, :3], force)
    error = float(torque.sum(dim=0).norm()) / max(float(torque.abs().sum()), 1e-300)
    require(error <= 1e-12, f"the torques add up to {error:.1e} of the sum of their sizes; expected nothing")
    return f"relative sum {error:.1e}"


def _state(host: Host) -> tuple[Tensor, Tensor]:
    """Return q and u of the host's state."""
    at = host.state()
    return at.q, at.u


KEEPERS: dict[str, Callable[[Host], str]] = {
    "conservative": _conservative,
    "dissipative": _dissipative,
    "momentum": _momentum,
    "angular_momentum": _angular_momentum,
}


@check("determinism", hosts)
def repeats(subject: TermSubject, name: str) -> None:
    """Two evaluations, and one by a pickled copy, give the same force and the same gradients, bit for bit."""
    host = subject.hosts[name]
    term = host.composed.terms[TERM]
    fresh = replace(host, make=lambda context: pickle.loads(pickle.dumps(copy.deepcopy(term))))
    first, *others = (_force_and_gradients(one) for one in (host, host, fresh))
    for again in others:
        for one, other in zip(first, again, strict=True):
            require_same_bits("two evaluations", one, other)


def _force_and_gradients(host: Host) -> list[Tensor]:
    """Return the force and the gradients of its weighted sum by state and parameters."""
    q, u = (value.clone().requires_grad_() for value in _state(host))
    own = {name: v for name, v in host.params().items() if name.startswith(f"{TERM}.")}
    leaves = {name.removeprefix(f"{TERM}."): v.detach().clone().requires_grad_() for name, v in own.items()}
    force = host.force(q, u, **leaves)
    inputs = [q, u, *leaves.values()]
    grads = torch.autograd.grad(force.sum() + 0.0 * sum(x.sum() for x in inputs), inputs)
    return [force, *grads]


CHECKS: tuple[Check, ...] = (
    interface, units, shape_and_bounds, a_model, refuses_others, unknown_parameter, against_derived, acts, precision,
    state, parameter, gradient, runs, keeps, repeats,
)  # fmt: skip

SUITE = Suite(ForceTerm, term_subject, CHECKS)
