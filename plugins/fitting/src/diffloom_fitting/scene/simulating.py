"""Rollouts of a scene, with unknowns in place of known parameters, and their control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from diffloom.interfaces import Control, Gradient, Params, State, Trajectory
from diffloom_fitting.scene.policy import shape_rows
from diffloom_fitting.scene.windows import select_window_values, simulate_windows, start_window

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene

CONTROL = "control."


@dataclass(frozen=True)
class Rollout:
    """Simulation of a scene.

    Args:
        trajectory: Saved states.
        params: Parameters of the model.
        control: Control of every step.
    """

    trajectory: Trajectory
    params: Params
    control: Control


def run_rollout(scene: Scene, values: Mapping[str, Tensor], save: Sequence[int], gradient: Gradient) -> Rollout:
    """Simulate a scene; return the states at step counts ``save`` (increasing)."""
    from diffloom import simulate

    if scene.breaks:
        return _in_windows(scene, values, save, gradient)
    params = scene.params_with(values)
    if scene.policy is not None and scene.policy.observe is not None and save[-1] > 0:
        from diffloom_fitting.scene.closed_loop import ClosedLoop

        trajectory, made = ClosedLoop(scene, tuple(save), gradient).run(values)
        given = {name: value[: save[-1]] for name, value in get_given_control(scene, values).items()}
        return Rollout(trajectory, params, Control({**given, **made}))
    control = make_control(scene, values, save[-1])
    trajectory = simulate(
        scene.model, params, dt=scene.dt, steps=save[-1], save=tuple(save), integrator=scene.integrator,
        gradient=gradient, control=control,
    )  # fmt: skip
    return Rollout(trajectory, params, control)


def _in_windows(scene: Scene, values: Mapping[str, Tensor], save: Sequence[int], gradient: Gradient) -> Rollout:
    from diffloom import simulate

    control = make_control(scene, values, save[-1])

    def window(number: int, state: State | None, steps: tuple[int, ...]) -> Trajectory:
        own, first = select_window_values(values, number), (0, *scene.breaks)[number - 1]
        params = scene.params_with({**values, **own})
        rows = Control({name: value[first : first + steps[-1]] for name, value in control.items()})
        return simulate(
            scene.model, params, dt=scene.dt, steps=steps[-1], save=steps, integrator=scene.integrator,
            gradient=gradient, control=rows,
            state=None if state is None else start_window(scene.model, params, own, state),
        )  # fmt: skip

    trajectory = simulate_windows(scene.breaks, save, window, scene.dt)
    return Rollout(trajectory, scene.params_with({**values, **select_window_values(values, 1)}), control)


def get_given_control(scene: Scene, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the controls of all steps that are given or sought ("control.<name>"); one row may stand for all steps."""
    rows = dict(scene.control.items())
    for key, value in values.items():
        if key.startswith(CONTROL):
            name = key.removeprefix(CONTROL)
            rows[name] = value.expand(scene.steps, *scene.model.spec(name).full_shape(scene.model.axes))
    return rows


def make_control(scene: Scene, values: Mapping[str, Tensor], steps: int) -> Control:
    """Return the control of the first ``steps`` steps: given, sought or, open loop, made by the policy."""
    rows = get_given_control(scene, values)
    if scene.policy is not None and steps > 0:
        # All rows are computed and then cut, so that a shorter horizon has bit-identical controls.
        made = scene.policy.control(values, scene.dt, scene.steps, scene.dtype)
        rows |= {name: shape_rows(scene.model, name, value) for name, value in made.items()}
    return Control({name: value[:steps].to(scene.device) for name, value in rows.items()})
