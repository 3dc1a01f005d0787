"""Goals: what a body is to look like, or where it is to be, at given times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient
from diffloom_fitting.targets.target import Target
from diffloom_fitting.validation import real
from diffloom_video.folder import read_image
from diffloom_video.resize import resize

if TYPE_CHECKING:
    from diffloom_fitting.scene import Scene


@dataclass(frozen=True)
class Goal:
    """What is wanted at one time ``at`` [s]: an image (height, width, 3 or 4), a mask (height, width) that is 1 where
    the body is to be, or both; or the states (nodes, dq). Images and masks may be paths of files. source: for people.
    """

    at: float
    image: Tensor | str | Path | None = None
    mask: Tensor | str | Path | None = None
    q: Tensor | None = None
    source: str = ""

    def __post_init__(self) -> None:
        real("goal.at [s]", self.at, least=0.0)


def goal_target(goals: Sequence[Goal], scene: Scene) -> Target:
    """The target that these goals make for ``scene``, in the order of their times."""
    if not goals:
        raise InputError("goals: got none; expected at least one, such as Goal(3.0, image='goal.png')")
    ordered = sorted(goals, key=lambda goal: goal.at)
    parts = {
        name: [_read(getattr(goal, name), name, scene) for goal in ordered] for name in ("image", "mask", "q")
    }  # fmt: skip
    kinds = {name: _joined(name, found) for name, found in parts.items()}
    if all(value is None for value in kinds.values()):
        raise InputError("goals: nothing is wanted; give each an image, a mask or states")
    source = ", ".join(dict.fromkeys(goal.source or _name(goal) for goal in ordered))
    times = torch.tensor([goal.at for goal in ordered], dtype=torch.float64)
    read = any(isinstance(goal.image, str | Path) for goal in ordered)
    return Target(
        times, kinds["image"], kinds["mask"], kinds["q"], step=1.0 / 255.0 if read else 0.0, source=source, goal=True
    )


def pose_goal(scene: Scene, values: Mapping[str, Tensor], at: float) -> Goal:
    """The goal to be at ``at`` [s] as the scene would start with these ``values`` of parameters, such as another
    position; seen by the scene's camera (the first one where there are several)."""
    still = replace(scene, policy=None)
    with torch.no_grad():
        view = still.render(values, torch.zeros(1, dtype=torch.float64), ("rgba",), NoGradient())
    assert view.image is not None
    assert view.image.rgba is not None
    rgba = view.image.rgba[0]
    return Goal(at, rgba, rgba[..., 3], view.q[0], f"drawn with {type(scene.renderer).__name__}")


def _name(goal: Goal) -> str:
    given = goal.image if isinstance(goal.image, str | Path) else goal.mask
    return Path(given).name if isinstance(given, str | Path) else "states" if goal.image is None else "an image"


def _read(given: Tensor | str | Path | None, kind: str, scene: Scene) -> Tensor | None:
    """An image or mask at the camera's size, from whatever was given."""
    if given is None or kind == "q":
        return None if given is None else torch.as_tensor(given, dtype=scene.dtype)
    if isinstance(given, str | Path):
        pixels = torch.from_numpy(read_image(Path(given), "RGB" if kind == "image" else "L"))
        given = pixels.to(scene.dtype) / 255.0
    value = torch.as_tensor(given).to(scene.dtype)
    flat = value.dim() == 2
    scaled = resize(value[..., None] if flat else value, scene.size)
    return scaled[..., 0] if flat else scaled


def _joined(name: str, found: list[Tensor | None]) -> Tensor | None:
    given = [value for value in found if value is not None]
    if not given:
        return None
    if len(given) < len(found) or len({tuple(value.shape) for value in given}) > 1:
        raise InputError(f"goals: {len(given)} of {len(found)} have a {name}, or of another shape; give all one alike")
    return torch.stack(given)
