"""Many scenes of one model at once: rollouts, and what a renderer draws of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import BatchError, Control, InputError, Model, Params, State, Surface, Trajectory
from diffloom.interfaces.batch import is_per_scene
from diffloom.transforms import mapped, told_of_scenes
from diffloom.validation import whole_number

Times = tuple[float, int | Sequence[int], int | None, Sequence[int] | None]


def simulate_batch(
    simulate: Callable[..., Trajectory],
    model: Model,
    params: Params,
    times: Times,
    driven: tuple[State | None, Control | None],
    **how: object,
) -> Trajectory:
    """``simulate`` under vmap. times: dt, steps, save_every, save. driven: state and control, of all or of each."""
    dt, steps, every, save = times
    batch = int(params.batch or 1)
    longest, lengths = _lengths(steps, batch)
    # A gradient that is shared is summed over scenes here, in a fixed order, and not wherever scenes meet.
    own = {
        name: value if name in params.per_scene else broadcast(value, (batch, *value.shape))
        for name, value in params.items()
        if name in params.per_scene or value.requires_grad
    }
    shared = {name: value for name, value in params.items() if name not in own}
    rows, for_all = _controls(model, driven[1], longest, batch)
    states, start = _states(model, params, driven[0], batch)
    found: list[Trajectory] = []

    def one(_: Tensor, given: dict[str, Tensor], rows: dict[str, Tensor], sets: Any) -> Any:
        values = Params({**shared, **given}, params.dtype, params.checked)
        at = start if sets is None else State(sets[0], sets[1], 0.0 if driven[0] is None else driven[0].time)
        path = simulate(
            model, values, dt=dt, steps=longest, save_every=every, save=save, control=Control({**for_all, **rows}),
            state=at, **how,
        )  # fmt: skip
        found.append(path)
        return dict(path.sets)

    numbers = torch.arange(batch)
    with told_of_scenes(type(model).__name__):
        sets = torch.vmap(one, in_dims=(0, 0, 0, None if states is None else 0))(numbers, own, rows, states)
    q, u = ({name: pair[k] for name, pair in sets.items()} for k in (0, 1))
    path = Trajectory(q, u, found[0].times, batch)
    return path if lengths is None else _padded(path, lengths, dt, 0.0 if driven[0] is None else driven[0].time)


def _lengths(steps: int | Sequence[int], batch: int) -> tuple[int, list[int] | None]:
    if not isinstance(steps, Sequence):
        return whole_number("steps", steps), None
    lengths = [whole_number("steps", n) for n in steps]
    if len(lengths) != batch:
        raise InputError(f"steps: got {len(lengths)} numbers for a batch of {batch}; expected one for all or one each")
    return max(lengths), lengths


def _padded(path: Trajectory, lengths: list[int], dt: float, start: float) -> Trajectory:
    """Frames beyond a scene's length as its last one within it, and the mask of the others. start: time [s]."""
    mask = ((path.times - start) / dt).round()[None, :] <= torch.tensor(lengths)[:, None]
    if not bool(mask[:, 0].all()):
        b = int((~mask[:, 0]).nonzero()[0])
        raise InputError(f"steps: scene {b} ends after {lengths[b]} steps, before the first that is saved")
    last = mask.sum(dim=1) - 1

    def padded(x: Tensor) -> Tensor:
        end = x.detach()[torch.arange(len(x)), last][:, None]
        return torch.where(mask.reshape(*mask.shape, *[1] * (x.dim() - 2)), x, end)

    q = {name: padded(x) for name, (x, _) in path.sets.items()}
    u = {name: padded(v) for name, (_, v) in path.sets.items()}
    return Trajectory(q, u, path.times, path.batch, mask)


def _controls(
    model: Model, control: Control | None, steps: int, batch: int
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Controls of each scene, and those for all."""
    own: dict[str, Tensor] = {}
    for_all: dict[str, Tensor] = {}
    full = {spec.name: (steps, *spec.full_shape(model.axes)) for spec in model.specs}
    for name, value in (control or {}).items():
        # A control always has its axis of steps, and may leave out leading axes behind it.
        each = value.dim() > 1 and tuple(value.shape[:2]) == (batch, steps)
        if each and value.shape[0] == steps and name in full:
            wide = value.dim() - len(full[name])
            each = wide == 1 if wide in (0, 1) else is_per_scene(f"control {name!r}", value.shape, full[name], batch)
        (own if each else for_all)[name] = value
    return own, for_all


def _states(model: Model, params: Params, state: State | None, batch: int) -> tuple[Any, State | None]:
    """q and u of each scene, or the one state for all."""
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
    return tuple({name: pair[k] for name, pair in state.sets.items()} for k in (0, 1)), None


def batch_surface(model: Model, trajectory: Trajectory, params: Params) -> Surface:
    """What a renderer draws of a batch in one call: the frames of the first scene, then those of the second, and so on.

    ``image.rgba.unflatten(0, (batch, -1))`` tells the scenes apart again.
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

    def one(_: Tensor, given: dict[str, Tensor], q: Any, u: Any) -> Any:
        values = Params({**shared, **given}, params.dtype, params.checked)
        surface = model.surface(Trajectory(q, u, trajectory.times), values)
        image = None if surface.texture is None else surface.texture.image
        if image is not None and (mapped(image) or image.dim() == 4):
            raise BatchError("batch_surface: the texture differs by scene or frame; draw these scenes one by one")
        kept.append(surface)
        if surface.colours is None or not mapped(surface.colours):
            return (surface.vertices,)
        return surface.vertices, surface.colours.expand(len(surface), -1, -1)

    with told_of_scenes(f"{type(model).__name__}.surface"):
        drawn = torch.vmap(one)(torch.arange(batch), own, whole[0], whole[1])
    colours = drawn[1].flatten(0, 1) if len(drawn) > 1 else kept[0].colours
    if len(drawn) == 1 and colours is not None and colours.dim() == 3:
        colours = colours.repeat(batch, 1, 1)
    return replace(kept[0], vertices=drawn[0].flatten(0, 1), colours=colours)
