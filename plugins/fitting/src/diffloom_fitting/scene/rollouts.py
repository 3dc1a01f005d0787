"""The last simulations of a scene, for whoever asks for one of them again: a fit's end is looked at from many sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from diffloom.interfaces import NoGradient, Params, Trajectory
from diffloom_fitting.scene.scene import Scene
from diffloom_fitting.scene.simulating import Rollout

#: How many are kept beside the last one with gradient: those of the start and the end of a fit, and of what came last.
KEPT = 4
KEPT_MADE = 32
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Kept:
    scene: Scene
    values: dict[str, Tensor]
    save: tuple[int, ...]
    trajectory: Trajectory
    params: Params

    def serves(self, scene: Scene, values: Mapping[str, Tensor], save: Sequence[int]) -> bool:
        """Whether it holds all that is asked for."""
        own = self.scene
        alike = own.model is scene.model and own.params is scene.params and own.control is scene.control
        return (
            alike
            and (own.dt, own.integrator, own.device, own.windows)
            == (scene.dt, scene.integrator, scene.device, scene.windows)
            and self.values.keys() == values.keys()
            and set(save) <= set(self.save)
            and all(torch.equal(self.values[name], value) for name, value in values.items())
        )


@dataclass
class Rollouts:
    """also: further step counts that are saved with each simulation that comes so far, for those who ask later."""

    also: tuple[int, ...] = ()
    _kept: list[_Kept] = field(default_factory=list)
    _last: _Kept | None = None
    _made: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = field(default_factory=dict)

    def once(self, of: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What ``make`` finds out of these very objects, found once."""
        key = tuple(id(one) for one in of)
        if key not in self._made:
            if len(self._made) >= KEPT_MADE:
                self._made.pop(next(iter(self._made)))
            self._made[key] = (of, make())  # holding them keeps their identities taken
        made: Made = self._made[key][1]
        return made

    def without_gradient(self, scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...]) -> Rollout:
        """``Scene.rollout`` without gradient, simulated or remembered."""
        if scene.policy is not None:
            return scene.rollout(values, save, NoGradient())
        known = self._kept if self._last is None else [self._last, *self._kept]
        found = next((one for one in known if one.serves(scene, values, save)), None)
        if found is None:
            wanted = tuple(sorted({*save, *(k for k in self.also if k <= save[-1])}))
            made = scene.rollout(values, wanted, NoGradient())
            found = _kept(scene, values, wanted, made)
            self._kept = [found, *self._kept[: KEPT - 1]]
        if found.save == save:
            return Rollout(found.trajectory, found.params, scene.make_control(values, save[-1]))
        at = {step: row for row, step in enumerate(found.save)}
        rows = found.trajectory.select([at[step] for step in save])
        return Rollout(rows, found.params, scene.make_control(values, save[-1]))

    def keep(self, scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...], made: Rollout) -> None:
        """Remember a simulation with gradient, gradients aside."""
        self._last = _kept(scene, values, save, made)


def _kept(scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...], made: Rollout) -> _Kept:
    sets = made.trajectory.sets
    q, u = ({name: pair[k].detach() for name, pair in sets.items()} for k in (0, 1))
    params = Params({name: value.detach() for name, value in made.params.items()}, made.params.dtype)
    own = {name: value.detach().clone() for name, value in values.items()}
    return _Kept(scene, own, save, Trajectory(q, u, made.trajectory.times), params)
