"""Attacks on rollouts: gradients of random scenes, and absurd parameters."""

from __future__ import annotations

import dataclasses
import functools

import torch
from tape import Tape

from diffloom import simulate
from diffloom.interfaces import Checkpointed, ExampleSettings, InputError, Model, SimulationError, StoreAll
from diffloom.plugins import get_model, integrators, models
from diffloom_testing.gradients import compare_gradient

#: Differences at several lengths, of which the best counts: long ones cross kinks, short ones drown in rounding.
LENGTHS = (1e-5, 1e-4, 1e-6, 1e-3, 1e-7, 1e-2)
TOLERANCE = 2e-5
#: Factor on the usual estimate of rounding, for derivatives that are small beside the function.
ROUNDING = 30.0


@functools.cache
def example(name: str) -> tuple[Model, object]:
    model = get_model(name)
    return model.example(), ExampleSettings.of(name, model.example_settings)


def subjects() -> list[str]:
    """Models that bring an example, the quickest first."""
    order = {"springs": 0, "rigid": 1, "fem": 2, "cloth": 3}
    found = [name for name in models() if getattr(get_model(name), "example_settings", None) is not None]
    return sorted(found, key=lambda name: order.get(name, 9))


def schemes(model: Model, params: object) -> list[str]:
    """Integrators that run the model, its own first."""
    from diffloom.interfaces import Control
    from diffloom.plugins import get_integrator

    dynamics = model.dynamics(params, Control())
    able = [name for name in integrators() if get_integrator(name)().refuses(dynamics) is None]
    return sorted(able, key=lambda name: name != model.default_integrator)


def gradient(tape: Tape) -> str:
    """A random scene of a random model: its gradient agrees with differences, and two runs agree in every bit."""
    model, settings = example(tape.choice(subjects()))
    base = model.params(torch.float64, **settings.values)
    scheme = tape.choice(schemes(model, base))
    steps = tape.whole(1, 6)
    save = tuple(sorted(set(tape.some(range(1, steps + 1), 3))))
    dt = settings.dt * tape.real(0.3, 1.0)
    policy = tape.choice([StoreAll(), Checkpointed(), Checkpointed(segment=2)])
    specs = [s for s in model.specs if s.differentiable and s.name in base]
    values = {}
    for spec in specs:
        value = base[spec.name].detach().clone()
        noise = torch.rand(value.shape, generator=torch.Generator().manual_seed(tape.seed()), dtype=torch.float64)
        changed = value * (1.0 + tape.real(0.0, 0.2) * (2.0 * noise - 1.0))
        # Zero is where laws have their kinks: contact that is just touched, bodies that just rest.
        values[spec.name] = torch.where(value == 0.0, 1e-3 * (0.1 + noise), changed)

    def path(**given: torch.Tensor) -> torch.Tensor:
        found = simulate(
            model, base.replace(**given), dt=dt, steps=steps, save=save, integrator=scheme, gradient=policy
        )
        parts = [t.reshape(-1) for q, u in found.sets.values() for t in (q, u)]
        return torch.cat(parts) + 0.0 * sum(v.sum() for v in given.values())

    def refused() -> str | None:
        try:
            if not torch.equal(path(**values), path(**values)):
                raise AssertionError("two runs differ")
        except (InputError, SimulationError) as error:
            return str(error)[:80]
        return None

    if (reason := refused()) is not None:
        return f"refused: {reason}"
    watched = {s.name: values[s.name] for s in tape.some(specs, 3)}
    fixed = {name: value for name, value in values.items() if name not in watched}
    return compared(lambda **given: path(**{**fixed, **given}), watched, f"{type(model).__name__} by {scheme}")


def compared(function, inputs: dict[str, torch.Tensor], what: str) -> str:
    """Compare at several lengths; the best of each derivative counts."""
    best: dict[tuple[str, int], object] = {}
    for length in LENGTHS:
        found = compare_gradient(function, inputs, step=length, directions=1, seed=3)
        for number, comparison in enumerate(found):
            known = best.get((comparison.name, number))
            apart = abs(comparison.autograd - comparison.differences) - ROUNDING * comparison.noise
            size = max(abs(comparison.autograd), abs(comparison.differences), 1e-300)
            comparison = dataclasses.replace(comparison, error=max(apart, 0.0) / size)
            if known is None or comparison.error < known.error:
                best[comparison.name, number] = comparison
        if all(c.error <= TOLERANCE for c in best.values()):
            break
    for comparison in best.values():
        assert comparison.error <= TOLERANCE, (
            f"{what}, {comparison.name}: {comparison.autograd:.9g} by the adjoint, {comparison.differences:.9g} by "
            f"differences, apart by {comparison.error:.1e}"
        )
    return f"{len(best)} gradients"


EXTREMES = (0.0, 1.0, 1e-30, 1e6, 1e12, 1e30, 1e100, 1e300, -1.0, -1e30, float("inf"), float("nan"))


def extremes(tape: Tape) -> str:
    """An absurd parameter: everything is finite, or refused by name."""
    model, settings = example(tape.choice(subjects()))
    base = model.params(torch.float64, **settings.values)
    scheme = tape.choice(["semi_implicit", "backward_euler"])
    changed = {}
    for spec in tape.some([s for s in model.specs if s.name in base], 2):
        changed[spec.name] = torch.full_like(base[spec.name], tape.choice(EXTREMES))
    dt = tape.choice([settings.dt, 1e-9, 1.0, 1e6, 1e300, 5e-324])
    steps = tape.whole(1, 8)
    leaves = {n: v.detach().clone().requires_grad_(v.is_floating_point()) for n, v in {**base, **changed}.items()}
    try:
        found = simulate(model, base.replace(**leaves), dt=dt, steps=steps, save=(steps,), integrator=scheme)
        total = sum(q.square().sum() + u.sum() for q, u in found.sets.values())
        assert all(bool(torch.isfinite(t).all()) for q, u in found.sets.values() for t in (q, u)), "states not finite"
        if not torch.isfinite(total):
            return "finite states, the loss overflows"
        grads = torch.autograd.grad(total, [leaf for leaf in leaves.values() if leaf.requires_grad], allow_unused=True)
    except (InputError, SimulationError) as error:
        return f"refused: {str(error)[:80]}"
    for name, grad in zip(leaves, grads, strict=True):
        assert grad is None or bool(torch.isfinite(grad).all()), f"the gradient of {name} is not finite"
    return "finite"
