"""Running a model: the one function most people call."""

from __future__ import annotations

from collections.abc import Sequence

from diffloom.batch import simulate_batch
from diffloom.interfaces import (
    Control,
    Dynamics,
    Gradient,
    InputError,
    Integrator,
    Model,
    Params,
    State,
    StoreAll,
    Trajectory,
)
from diffloom.validation import whole_number


def simulate(
    model: Model,
    params: Params | None = None,
    *,
    dt: float,
    steps: int | Sequence[int],
    save_every: int | None = None,
    save: Sequence[int] | None = None,
    integrator: Integrator | str | None = None,
    gradient: Gradient | None = None,
    control: Control | None = None,
    state: State | None = None,
) -> Trajectory:
    """Advance ``model`` by ``steps`` steps of ``dt`` [s] and return the saved states, differentiable.

    save_every: save the start and every so many steps; or save: the step counts to save. Default: every step.
    integrator: a name ("semi_implicit", "backward_euler") or an object; the model's default if not given. gradient:
    StoreAll() by default, Checkpointed() or NoGradient(). control: one row per step for parameters declared
    ``per_step``. state: start here instead of the model's own initial state.

    Parameters made with ``model.params(batch=n)`` are those of n scenes, which run at once; state and control may then
    have a leading axis of scenes too, and steps may be one number a scene. The trajectory has a leading axis of scenes.
    """
    from diffloom.plugins import get_integrator

    given = params if params is not None else model.params()
    if given.batch is not None:
        times = (dt, steps, save_every, save)
        return simulate_batch(simulate, model, given, times, (state, control), integrator=integrator, gradient=gradient)
    given.check(type(model).__name__, model.specs, model.axes)
    steps = whole_number("steps", steps)
    inputs = (control or Control()).check_steps(steps)
    for name in inputs:
        if not any(s.name == name and s.per_step for s in model.specs):
            allowed = sorted(s.name for s in model.specs if s.per_step)
            raise InputError(
                f"control {name!r}: {type(model).__name__} takes per-step values of: {', '.join(allowed) or 'none'}"
            )
    chosen = model.default_integrator if integrator is None else integrator
    scheme = get_integrator(chosen)() if isinstance(chosen, str) else chosen
    if not isinstance(scheme, Integrator):
        raise InputError(f"integrator: got {integrator!r}; expected a name such as 'semi_implicit', or an Integrator")
    start = state if state is not None else model.initial_state(given)
    dynamics = model.dynamics(given, inputs)
    reason = scheme.refuses(dynamics)
    if reason is not None:
        raise InputError(reason + _instead(model, dynamics))
    return scheme.rollout(
        dynamics, start, dt=dt, steps=steps, save=saved_steps(steps, save_every, save), gradient=gradient or StoreAll()
    )


def _instead(model: Model, dynamics: Dynamics) -> str:
    """Which integrator to set, the model's own default first: the end of a message that one was refused."""
    from diffloom.plugins import PluginError, get_integrator, integrators

    able = []
    for name in dict.fromkeys((model.default_integrator, *integrators())):
        try:
            if get_integrator(name)().refuses(dynamics) is None:
                able.append(name)
        except (PluginError, TypeError):
            continue  # It cannot be loaded, or needs settings: no advice to give.
    if not able:
        return "; no installed integrator advances it"
    others = f" (or one of {', '.join(able[1:])})" if len(able) > 1 else ""
    return f"; set integrator = {able[0]!r}{others}"


def saved_steps(steps: int, every: int | None, chosen: Sequence[int] | None) -> tuple[int, ...]:
    """The step counts to save."""
    if every is not None and chosen is not None:
        raise InputError("simulate: got both save_every and save; give one of them")
    if chosen is not None:
        return tuple(whole_number("save", k) for k in chosen)
    if every is not None and whole_number("save_every", every) < 1:
        raise InputError(f"save_every: got {every}; expected 1 or more steps")
    return tuple(range(0, steps + 1, every or 1))
