"""Simulation of a model, of one scene or of a batch: ``simulate`` is the function that most users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    BatchError,
    Control,
    Dynamics,
    Gradient,
    InputError,
    Integrator,
    Model,
    Params,
    State,
    StoreAll,
    Surface,
    Trajectory,
    complete_memory,
)
from diffloom.interfaces.params import is_per_scene
from diffloom.plugins import PluginError, get_integrator, integrators
from diffloom.transforms import explain_batch_errors, is_mapped
from diffloom.validation import as_whole_number


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
    """Advance a model by equal steps, and return the saved states, differentiable.

    path = simulate(model, params, dt=1e-3, steps=400, save_every=10)
    path.q[-1]  # coordinates at the end

    Args:
        model: Model to simulate.
        params: Parameters from ``model.params(...)``; the defaults if None. Parameters from ``model.params(batch=n)``
            are
            those of n scenes, which run at once; the trajectory then has a leading axis of scenes.
        dt: Length of a step [s].
        steps: Number of steps; for a batch one number for all scenes, or one each.
        save_every: Number of steps between saved states, from the start on; 1 by default.
        save: Step counts to save, instead of ``save_every``.
        integrator: Registered name such as "semi_implicit" or "backward_euler", or an object; None for the model's
            default.
        gradient: ``StoreAll()`` (default), ``Checkpointed()`` or ``NoGradient()``.
        control: Values per step of parameters declared ``per_step``, one row for each step; for a batch they may have a
            leading axis of scenes.
        state: Start state instead of the model's own; for a batch it may have a leading axis of scenes.

    Returns:
        Trajectory of the saved states.

    Raises:
        InputError: An argument is wrong, or the integrator does not support the model.
        SimulationError: The simulation became unstable or did not converge.
    """
    given = params if params is not None else model.params()
    if given.batch is not None:
        return _simulate_batch(
            model, given, dt=dt, steps=steps, control=control, state=state,
            save_every=save_every, save=save, integrator=integrator, gradient=gradient,
        )  # fmt: skip
    given.check(type(model).__name__, model.specs, model.axes)
    steps = as_whole_number("steps", steps)
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
    start = complete_memory(state or model.initial_state(given), model.memory, model.axes)
    dynamics = model.dynamics(given, inputs)
    reason = scheme.refuses(dynamics)
    if reason is not None:
        raise InputError(reason + _instead(model, dynamics))
    return scheme.rollout(
        dynamics,
        start,
        dt=dt,
        steps=steps,
        save=select_saved_steps(steps, save_every, save),
        gradient=gradient or StoreAll(),
    )


def _instead(model: Model, dynamics: Dynamics) -> str:
    """Return the end of a message about a refused integrator: the integrators to set, the model's default first."""
    able = []
    for name in dict.fromkeys((model.default_integrator, *integrators())):
        try:
            if get_integrator(name)().refuses(dynamics) is None:
                able.append(name)
        except (PluginError, TypeError):
            continue  # cannot be loaded, or needs settings: not recommended
    if not able:
        return "; no installed integrator advances it"
    others = f" (or one of {', '.join(able[1:])})" if len(able) > 1 else ""
    return f"; set integrator = {able[0]!r}{others}"


def select_saved_steps(steps: int, every: int | None, chosen: Sequence[int] | None) -> tuple[int, ...]:
    """Return the step counts to save."""
    if every is not None and chosen is not None:
        raise InputError("simulate: got both save_every and save; give one of them")
    if chosen is not None:
        return tuple(as_whole_number("save", k) for k in chosen)
    if every is not None and as_whole_number("save_every", every) < 1:
        raise InputError(f"save_every: got {every}; expected 1 or more steps")
    return tuple(range(0, steps + 1, every or 1))


def _simulate_batch(
    model: Model,
    params: Params,
    *,
    dt: float,
    steps: int | Sequence[int],
    control: Control | None,
    state: State | None,
    **how: Any,
) -> Trajectory:
    """Simulate a batch under vmap; control and state are shared by all scenes, or have an axis of scenes."""
    batch = int(params.batch or 1)
    longest, lengths = _lengths(steps, batch)
    # Gradients of shared values are summed over scenes here, in a fixed order.
    own = {
        name: value if name in params.per_scene else broadcast(value, (batch, *value.shape))
        for name, value in params.items()
        if name in params.per_scene or value.requires_grad
    }
    shared = {name: value for name, value in params.items() if name not in own}
    rows, for_all = _controls(model, control, longest, batch)
    states, start = _states(model, params, state, batch)
    time = 0.0 if state is None else state.time
    found: list[Trajectory] = []

    def one(_: Tensor, given: dict[str, Tensor], rows: dict[str, Tensor], sets: Any) -> Any:
        values = Params({**shared, **given}, params.dtype, params.checked)
        at = start if sets is None else State(sets[0], sets[1], time, sets[2])
        inputs = Control({**for_all, **rows})
        path = simulate(model, values, dt=dt, steps=longest, control=inputs, state=at, **how)
        found.append(path)
        return dict(path.sets), dict(path.memory)

    numbers = torch.arange(batch)
    with explain_batch_errors(type(model).__name__):
        sets, memory = torch.vmap(one, in_dims=(0, 0, 0, None if states is None else 0))(numbers, own, rows, states)
    q, u = ({name: pair[k] for name, pair in sets.items()} for k in (0, 1))
    path = Trajectory(q, u, found[0].times, batch, memory=memory)
    return path if lengths is None else _pad_trajectory(path, lengths, dt, time)


def _lengths(steps: int | Sequence[int], batch: int) -> tuple[int, list[int] | None]:
    """Return the largest number of steps, and the number of each scene if they differ."""
    if not isinstance(steps, Sequence):
        return as_whole_number("steps", steps), None
    lengths = [as_whole_number("steps", n) for n in steps]
    if len(lengths) != batch:
        raise InputError(f"steps: got {len(lengths)} numbers for a batch of {batch}; expected one for all or one each")
    return max(lengths), lengths


def _pad_trajectory(path: Trajectory, lengths: list[int], dt: float, start: float) -> Trajectory:
    """Return a trajectory whose frames beyond a scene's length repeat its last one, with the mask of the valid frames.

    ``start`` is the time of the first step [s].
    """
    mask = ((path.times - start) / dt).round()[None, :] <= torch.tensor(lengths)[:, None]
    if not bool(mask[:, 0].all()):
        b = int((~mask[:, 0]).nonzero()[0])
        raise InputError(f"steps: scene {b} ends after {lengths[b]} steps, before the first that is saved")
    last = mask.sum(dim=1) - 1

    def pad(x: Tensor) -> Tensor:
        end = x.detach()[torch.arange(len(x)), last][:, None]
        return torch.where(mask.reshape(*mask.shape, *[1] * (x.dim() - 2)), x, end)

    q = {name: pad(x) for name, (x, _) in path.sets.items()}
    u = {name: pad(v) for name, (_, v) in path.sets.items()}
    return Trajectory(q, u, path.times, path.batch, mask, {name: pad(x) for name, x in path.memory.items()})


def _controls(
    model: Model, control: Control | None, steps: int, batch: int
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the controls of each scene, and the shared controls."""
    own: dict[str, Tensor] = {}
    for_all: dict[str, Tensor] = {}
    full = {spec.name: (steps, *spec.full_shape(model.axes)) for spec in model.specs}
    for name, value in (control or {}).items():
        # A control always has an axis of steps; broadcasting may omit the axes after it.
        each = value.dim() > 1 and tuple(value.shape[:2]) == (batch, steps)
        if each and value.shape[0] == steps and name in full:
            wide = value.dim() - len(full[name])
            each = wide == 1 if wide in (0, 1) else is_per_scene(f"control {name!r}", value.shape, full[name], batch)
        (own if each else for_all)[name] = value
    return own, for_all


def _states(model: Model, params: Params, state: State | None, batch: int) -> tuple[Any, State | None]:
    """Return q, u and internal variables of each scene, or the shared state."""
    if state is None:
        return None, None
    usual = model.initial_state(params.scene(0))
    if all(x.dim() == usual.sets[name][0].dim() for name, (x, _) in state.sets.items() if name in usual.sets):
        return None, state
    for x, v in state.sets.values():
        if x.shape[0] != batch or v.shape[0] != batch:
            raise InputError(
                f"state: q has shape {tuple(x.shape)} and u {tuple(v.shape)} for a batch of {batch}; expected "
                f"({batch}, nodes, ...) in both, or (nodes, ...) for all scenes"
            )
    narrow = {spec.name: len(spec.shape) for spec in model.memory}
    memory = {name: v.expand(batch, *v.shape) if v.dim() == narrow.get(name) else v for name, v in state.memory.items()}
    return (*({name: pair[k] for name, pair in state.sets.items()} for k in (0, 1)), memory), None


def batch_surface(model: Model, trajectory: Trajectory, params: Params) -> Surface:
    """Return the surface of a batch for one call of a renderer: the frames of the first scene, of the second, and so
    on.

    ``image.rgba.unflatten(0, (batch, -1))`` separates the scenes again.

    Args:
        model: Model of the trajectory.
        trajectory: Result of ``simulate`` for a batch.
        params: Parameters of the batch.

    Returns:
        Surface with batch * frames frames.

    Raises:
        InputError: The numbers of scenes differ, or textures differ by scene.
    """
    if trajectory.batch is None or params.batch != trajectory.batch:
        raise InputError(
            f"batch_surface: got a trajectory of batch {trajectory.batch} and parameters of batch {params.batch}; "
            "expected one number of scenes in both"
        )
    batch, kept = trajectory.batch, []
    own = {name: params[name] for name in params.per_scene}
    shared = {name: value for name, value in params.items() if name not in own}
    whole = {k: {name: pair[k] for name, pair in trajectory.sets.items()} for k in (0, 1)}

    def one(_: Tensor, given: dict[str, Tensor], q: Any, u: Any, memory: Any) -> Any:
        values = Params({**shared, **given}, params.dtype, params.checked)
        surface = model.surface(Trajectory(q, u, trajectory.times, memory=memory), values)
        image = None if surface.texture is None else surface.texture.image
        if image is not None and (is_mapped(image) or image.dim() == 4):
            raise BatchError("batch_surface: the texture differs by scene or frame; draw these scenes one by one")
        kept.append(surface)
        if surface.colours is None or not is_mapped(surface.colours):
            return (surface.vertices,)
        return surface.vertices, surface.colours.expand(len(surface), -1, -1)

    with explain_batch_errors(f"{type(model).__name__}.surface"):
        drawn = torch.vmap(one)(torch.arange(batch), own, whole[0], whole[1], dict(trajectory.memory))
    colours = drawn[1].flatten(0, 1) if len(drawn) > 1 else kept[0].colours
    if len(drawn) == 1 and colours is not None and colours.dim() == 3:
        colours = colours.repeat(batch, 1, 1)
    return replace(kept[0], vertices=drawn[0].flatten(0, 1), colours=colours)
