"""Check of the physics step: the change that halving it makes, and the growth of small perturbations."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import NoGradient, Params, SimulationError, State, Trajectory
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import Rollouts, Scene

#: Number of states that are perturbed, and number of steps that each perturbation is followed.
STATES, STEPS = 12, 40
#: Growth of an unstable perturbation in all, and its least growth per step. A perturbation that has grown by a factor
#: ENOUGH is followed no further, because it may have left the linear range.
IN_ALL, EACH, ENOUGH = 10.0, 1.05, 1e3
#: Largest number of halvings of a step; change of the span of a motion by halving the step that is warned of.
HALVINGS, CHANGE = 5, 0.05
FARTHER = 2.0  # ratio of extents under a step and half of it from which on the simulation has blown up


def measure_change_growth(scene: Scene, values: Mapping[str, Tensor]) -> tuple[float, float] | None:
    """Find where small perturbations of the motion flip sign and grow with every step.

    An explicit scheme whose step is too long multiplies a perturbation by a number below -1 every step. The motion of
    bodies never does, so this tells a long step from a chaotic motion.

    Args:
        scene: The scene.
        values: Values of the unknowns.

    Returns:
        Time [s] and growth factor per step where it is worst; None if nothing grows.
    """
    if len(scene.control) or scene.policy is not None or any(name.startswith("control.") for name in values):
        return None
    save = sorted({round(scene.steps * k / STATES) for k in range(STATES + 1)})[:-1]
    worst: tuple[float, float] | None = None
    try:
        with torch.no_grad():
            path, params = scene.simulate(values, save, NoGradient())
            for k in range(len(path)):
                factor = _factor(scene, params, path[k])
                if factor > EACH and (worst is None or factor > worst[1]):
                    worst = float(path.times[k]), factor
    except SimulationError:
        return None  # the next simulation reports the error
    return worst


def _factor(scene: Scene, params: Params, start: State) -> float:
    """Return the factor by which a perturbation grows in a step in which it flips; 0 if it does not."""
    random = torch.Generator().manual_seed(0)
    size = 1e-7 if params.dtype == torch.float64 else 1e-4
    u = {name: u + size * torch.randn(u.shape, generator=random, dtype=u.dtype) for name, (_, u) in start.sets.items()}
    q = {name: q for name, (q, _) in start.sets.items()}
    base, changed = _compute_velocities(scene, params, start), _compute_velocities(scene, params, State(q, u))
    change = changed - base
    lengths = change.norm(dim=1)
    large = (lengths > ENOUGH * lengths[0]).nonzero()
    end = int(large[0]) if len(large) else STEPS
    before, last = change[end - 1], change[end]
    if not float(lengths[end]) > IN_ALL * float(lengths[0]):
        return 0.0
    return -float((last * before).sum() / before.square().sum())


def _compute_velocities(scene: Scene, params: Params, start: State) -> Tensor:
    """Return the velocities (steps, numbers) after ``start``."""
    path: Trajectory = simulate(
        scene.model, params, dt=scene.dt, steps=STEPS, integrator=scene.integrator,
        gradient=NoGradient(), state=start,
    )  # fmt: skip
    return torch.cat([u.reshape(len(path), -1) for _, u in path.sets.values()], dim=1)


def halve_time_step(scene: Scene) -> Scene | None:
    """Return the scene with twice as many steps of half the length; None if inputs per step prevent it."""
    if len(scene.control) or scene.policy is not None:
        return None
    return replace(scene, dt=0.5 * scene.dt, steps=2 * scene.steps)


def find_stable_step(scene: Scene, values: Mapping[str, Tensor]) -> float:
    """Return the scene's step, halved up to HALVINGS times while the motion blows up or small changes flip and grow.

    Args:
        scene: The scene.
        values: Parameters of the model that replace known ones, by name.

    Returns:
        The step [s].
    """
    for _ in range(HALVINGS):
        finer = halve_time_step(scene)
        if finer is None or scene.windows or not _is_unstable(scene, values):
            break
        scene = finer
    return scene.dt


def _is_unstable(scene: Scene, values: Mapping[str, Tensor]) -> bool:
    """Return True if the motion cannot be simulated, or small changes flip and grow along it."""
    try:
        with torch.no_grad():
            scene.simulate(values, (scene.steps,), NoGradient())
    except SimulationError:
        return True
    return measure_change_growth(scene, values) is not None


def refuse_long_steps(scene: Scene, values: Mapping[str, Tensor], rollouts: Rollouts | None = None) -> None:
    """Raise SimulationError if the motion under steps of dt spans much more or less than under dt / 2.

    For models that suggest a step, such as worlds, also warn if small perturbations grow from step to step: the motion
    may still look right, but its gradient is useless.

    Args:
        scene: The scene.
        values: Values of the unknowns.
        rollouts: Cache of simulations.
    """
    finer = halve_time_step(scene)
    if finer is None or any(name.startswith("control.") for name in values):
        return
    suggested = _suggest(scene, values)
    try:
        reached = [_extent(each, values, rollouts or Rollouts()) for each in (scene, finer)]
    except SimulationError:
        if suggested is not None and scene.dt > suggested:
            _warn_of_step(scene, suggested, f"is {scene.dt / suggested:.2g} times the step that the model suggests")
        return  # the next simulation reports the error
    small, large = min(reached), max(reached)
    if large > FARTHER * small and large > 1e-6:
        raise SimulationError(
            f"dt = {scene.dt:g} s is too long: the motion spans {reached[0]:.3g} m, and {reached[1]:.3g} m with half "
            f"that step; use a smaller dt{_tell_step(suggested)}"
        )
    if suggested is not None and scene.dt > suggested:
        _warn_of_growth(scene, values, suggested, (large - small) / max(large, 1e-6))


def _warn_of_growth(scene: Scene, values: Mapping[str, Tensor], suggested: float, changed: float) -> None:
    """Warn of a step beyond the suggestion under which small changes grow, or that changes the span of the motion."""
    grows = measure_change_growth(scene, values)
    if grows is not None:
        _warn_of_step(
            scene, suggested,
            f"is too long for the motion near {grows[0]:.3g} s: small changes flip and become {grows[1]:.2g} times as "
            "large with every step, so gradients are useless",
        )  # fmt: skip
    elif changed > CHANGE:
        _warn_of_step(
            scene, suggested,
            f"is {scene.dt / suggested:.2g} times the step that the model suggests, and half of it changes the span of "
            f"the motion by {100.0 * changed:.2g} %, so the fit may blow up",
        )  # fmt: skip


def _warn_of_step(scene: Scene, suggested: float, why: str) -> None:
    """Warn of the scene's step, with the key and value to write."""
    warnings.warn(f"dt = {scene.dt:g} s {why}; use a smaller dt{_tell_step(suggested)}", stacklevel=4)


def compute_half_step_residuals(objective: Objective, z: Tensor) -> Tensor | None:
    """Return the residuals (N,) at ``z`` with half the step.

    Returns:
        None if the step cannot be halved, or if all videos were synthesised, with the same error as the fit.
    """
    if all(target.synthetic for target in objective.target.by_view().values()):
        return None
    finer = halve_time_step(objective.scene)
    if finer is None or any(slot.name.startswith("control.") for slot in objective.layout.slots):
        return None
    try:
        fields = replace(objective, scene=finer).residual_fields(z)
    except SimulationError:
        return None
    return torch.cat([field.reshape(-1) for field in fields])


def _extent(scene: Scene, values: Mapping[str, Tensor], rollouts: Rollouts) -> float:
    """Return the largest side [m] of the box around all surface vertices, at about 20 times."""
    save = tuple(sorted({round(scene.steps * k / 20) for k in range(21)}))
    with torch.no_grad():
        made = rollouts.without_gradient(scene, values, save)
        vertices = scene.model.surface(made.trajectory, made.params).vertices.reshape(-1, 3)
    return float((vertices.max(dim=0).values - vertices.min(dim=0).values).max())


def _tell_step(suggested: float | None) -> str:
    """Return the key and value of a suggested step [s] as the end of a sentence."""
    if suggested is None:
        return ""
    return f', such as the {suggested:.2g} s that the model suggests (time.dt = "auto" or {suggested:.2g})'


def _suggest(scene: Scene, values: Mapping[str, Tensor]) -> float | None:
    """Return the step [s] that the model suggests; None if it suggests none."""
    suggest = getattr(scene.model, "suggested_dt", None)
    return None if suggest is None else float(suggest(scene.params_with(values)))
