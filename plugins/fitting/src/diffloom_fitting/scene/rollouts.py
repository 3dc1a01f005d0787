"""Cache of a scene's last simulations: the end of a fit is evaluated several times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from diffloom.interfaces import NoGradient, Params, Trajectory
from diffloom_fitting.scene.scene import Scene
from diffloom_fitting.scene.simulating import Rollout

#: Number of simulations without gradient in the cache: those of the start and the end of a fit, and the last ones.
KEPT = 4
KEPT_MADE = 32
Made = TypeVar("Made")


@dataclass(frozen=True)
class _KeptRollout:
    scene: Scene
    values: dict[str, Tensor]
    save: tuple[int, ...]
    trajectory: Trajectory
    params: Params

    def serves(self, scene: Scene, values: Mapping[str, Tensor], save: Sequence[int]) -> bool:
        """Return true if this simulation has all requested states."""
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
    """Cache of simulations.

    Args:
        also: Further step counts that each simulation saves, for later requests.
    """

    also: tuple[int, ...] = ()
    _kept: list[_KeptRollout] = field(default_factory=list)
    _last: _KeptRollout | None = None
    _made: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = field(default_factory=dict)

    def once(self, of: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """Memoise a function of some objects, by their identity.

        Args:
            of: The objects.
            make: The function.

        Returns:
            Its result.
        """
        key = tuple(id(one) for one in of)
        if key not in self._made:
            if len(self._made) >= KEPT_MADE:
                self._made.pop(next(iter(self._made)))
            self._made[key] = (of, make())  # the objects are kept so that their ids stay unique
        made: Made = self._made[key][1]
        return made

    def without_gradient(self, scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...]) -> Rollout:
        """Run ``Scene.rollout`` without gradient, or take it from the cache.

        Args:
            scene: The scene.
            values: Parameters by name.
            save: Steps to save.

        Returns:
            The rollout.
        """
        if scene.policy is not None:
            return scene.rollout(values, save, NoGradient())
        values = _select_moving(values)
        known = self._kept if self._last is None else [self._last, *self._kept]
        found = next((one for one in known if one.serves(scene, values, save)), None)
        if found is None:
            wanted = tuple(sorted({*save, *(k for k in self.also if k <= save[-1])}))
            made = scene.rollout(values, wanted, NoGradient())
            found = _keep_rollout(scene, values, wanted, made)
            self._kept = [found, *self._kept[: KEPT - 1]]
        if found.save == save:
            return Rollout(found.trajectory, found.params, scene.make_control(values, save[-1]))
        at = {step: row for row, step in enumerate(found.save)}
        rows = found.trajectory.select([at[step] for step in save])
        return Rollout(rows, found.params, scene.make_control(values, save[-1]))

    def keep(self, scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...], made: Rollout) -> None:
        """Store a simulation with gradient, detached.

        Args:
            scene: The scene.
            values: Parameters by name.
            save: Saved steps.
            made: The rollout.
        """
        self._last = _keep_rollout(scene, _select_moving(values), save, made)


def _select_moving(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leave out what only the images depend on, so that cameras share a simulation."""
    return {name: value for name, value in values.items() if not name.startswith(("camera.", "appearance."))}


def _keep_rollout(scene: Scene, values: Mapping[str, Tensor], save: tuple[int, ...], made: Rollout) -> _KeptRollout:
    sets = made.trajectory.sets
    q, u = ({name: pair[k].detach() for name, pair in sets.items()} for k in (0, 1))
    params = Params({name: value.detach() for name, value in made.params.items()}, made.params.dtype)
    own = {name: value.detach().clone() for name, value in values.items()}
    memory = {name: value.detach() for name, value in made.trajectory.memory.items()}
    return _KeptRollout(scene, own, save, Trajectory(q, u, made.trajectory.times, memory=memory), params)
