"""Goals as targets: images, poses and tracks."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient
from diffloom.regular_files import read_bytes
from diffloom_fitting.targets import Target
from diffloom_fitting.validation import check_numbers, check_real
from diffloom_video.images import read_image, resize
from diffloom_video.limits import MOST_BYTES, MOST_FRAMES, convert_errors

if TYPE_CHECKING:
    from diffloom_fitting.scene import Scene


@dataclass(frozen=True)
class Goal:
    """State that is wanted at one time: an image, a mask, both, or positions of the nodes.

    Args:
        at: Time [s], at least 0.
        image: (height, width, 3 or 4) in 0..1, or the path of a file.
        mask: (height, width), 1 where the body is wanted, or the path of a file.
        q: (nodes, dq) coordinates.
        source: Description for reports.
    """

    at: float
    image: Tensor | str | Path | None = None
    mask: Tensor | str | Path | None = None
    q: Tensor | None = None
    source: str = ""

    def __post_init__(self) -> None:
        check_real("goal.at [s]", self.at, least=0.0)


def make_goal_target(goals: Sequence[Goal], scene: Scene) -> Target:
    """Return the target made of goals, in the order of their times.

    Args:
        goals: Goals, all of one kind.
        scene: Scene whose camera sees them.

    Returns:
        The target.

    Raises:
        InputError: There is no goal, or the goals differ in kind or shape.

    Example:
        goal = make_pose_goal(scene, {"position": torch.tensor([0.2, 0.0, 0.0], dtype=torch.float64)}, at=0.5)
        target = make_goal_target([goal], scene)
    """
    if not goals:
        raise InputError("goals: got none; expected at least one, such as Goal(3.0, image='goal.png')")
    ordered = sorted(goals, key=lambda goal: goal.at)
    parts = {
        name: [_read(getattr(goal, name), name, scene) for goal in ordered] for name in ("image", "mask", "q")
    }  # fmt: skip
    kinds = {name: _stack(name, found) for name, found in parts.items()}
    if all(value is None for value in kinds.values()):
        raise InputError("goals: got neither image, mask nor states; give each goal one of them")
    source = ", ".join(dict.fromkeys(goal.source or _describe_goal(goal) for goal in ordered))
    times = torch.tensor([goal.at for goal in ordered], dtype=torch.float64)
    read = any(isinstance(goal.image, str | Path) for goal in ordered)
    return Target(
        times, kinds["image"], kinds["mask"], kinds["q"], step=1.0 / 255.0 if read else 0.0, source=source, goal=True
    )


def make_pose_goal(scene: Scene, values: Mapping[str, Tensor], at: float) -> Goal:
    """Return the goal to be at a later time as the scene would start with other values.

    The scene's camera sees the goal (the first one where there are several).

    Args:
        scene: The scene.
        values: Values of parameters by name, such as another position.
        at: Time [s].

    Returns:
        The goal, with image, mask and states.
    """
    still = replace(scene, policy=None)
    with torch.no_grad():
        view = still.render(values, torch.zeros(1, dtype=torch.float64), ("rgba",), NoGradient())
    assert view.image is not None
    assert view.image.rgba is not None
    rgba = view.image.rgba[0]
    return Goal(at, rgba, rgba[..., 3], view.q[0], f"drawn with {type(scene.renderer).__name__}")


def _describe_goal(goal: Goal) -> str:
    """Return a description of a goal."""
    given = goal.image if isinstance(goal.image, str | Path) else goal.mask
    return Path(given).name if isinstance(given, str | Path) else "states" if goal.image is None else "an image"


def _read(given: Tensor | str | Path | None, kind: str, scene: Scene) -> Tensor | None:
    """Return an image or mask at the camera's size, read from a file where a path is given."""
    if given is None or kind == "q":
        return None if given is None else torch.as_tensor(given, dtype=scene.dtype)
    if isinstance(given, str | Path):
        pixels = torch.from_numpy(read_image(Path(given), "RGB" if kind == "image" else "L"))
        given = pixels.to(scene.dtype) / 255.0
    value = torch.as_tensor(given).to(scene.dtype)
    flat = value.dim() == 2
    scaled = resize(value[..., None] if flat else value, scene.size)
    return scaled[..., 0] if flat else scaled


def _stack(name: str, found: list[Tensor | None]) -> Tensor | None:
    """Stack the values of all goals; None where no goal has one."""
    given = [value for value in found if value is not None]
    if not given:
        return None
    if len(given) < len(found) or len({tuple(value.shape) for value in given}) > 1:
        raise InputError(
            f"goals: {len(given)} of {len(found)} have a {name}, or shapes differ; give all a {name} of one shape"
        )
    return torch.stack(given)


IMAGE, SPACE = ("time", "column", "row"), ("time", "x", "y", "z")
WANTED = f"rows of {', '.join(IMAGE)} [s, px, px], or of {', '.join(SPACE)} [s, m, m, m]"


def make_track_target(track: str | Path | Sequence[Sequence[float]], scene: Scene) -> Target:
    """Return the target to follow a track, for the loss ``track`` (image) or ``centre`` (space).

    Args:
        track: One row for each time, or the path of a CSV file with these columns: ``time, column, row`` [s, px] of the
            scene's image, whose first pixel's centre is at 0.5; or ``time, x, y, z`` [s, m] of the middle of the nodes.
        scene: Scene that follows it.

    Returns:
        The target.

    Raises:
        InputError: The rows are not of these kinds, or their times do not rise within the simulation.
    """
    name = Path(track).name if isinstance(track, str | Path) else "track"
    rows = _read_track(Path(track)) if isinstance(track, str | Path) else _check_rows(track, "track")
    times, places = _check_times(rows[:, 0], scene, name), rows[:, 1:]
    source = f"the track {name}" if isinstance(track, str | Path) else "a track"
    if rows.shape[1] == len(SPACE):
        return Target(times, q=places[:, None].to(scene.dtype), source=source, goal=True)
    # A point has no radius, and all rows have equal weights.
    rest = torch.tensor([float("nan"), 1.0], dtype=torch.float64).expand(len(rows), 2)
    return Target(times, tracks=torch.cat([places, rest], dim=1).to(scene.dtype), source=source, goal=True)


def _read_track(path: Path) -> Tensor:
    """Return the rows of a CSV file; the columns may be in any order, among further ones."""
    with convert_errors(path.name, f"a table in CSV with {WANTED}"):
        content = read_bytes(path, MOST_BYTES, what="track")
        with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="") as lines:
            table = csv.DictReader(lines)
            own = [name.strip() for name in table.fieldnames or ()]
            table.fieldnames = own
            kinds = [kind for kind in (IMAGE, SPACE) if set(kind) <= set(own)]
            if len(kinds) != 1:
                raise InputError(f"{path.name}: it has the columns {', '.join(own) or '(none)'}; expected {WANTED}")
            found = [
                [_parse_number(line[name], path.name, n, name) for name in kinds[0]] for n, line in enumerate(table, 2)
            ]
    return _check_rows(found, path.name)


def _parse_number(given: str | None, what: str, line: int, name: str) -> float:
    try:
        return float(given or "")
    except ValueError as error:
        raise InputError(f"{what}: line {line} has {given!r} as {name}; expected a number") from error


def _check_rows(given: object, what: str) -> Tensor:
    """Return rows as a tensor (rows, 3 or 4), all finite."""
    rows = given.tolist() if isinstance(given, Tensor) or hasattr(given, "tolist") else given
    if not isinstance(rows, Sequence) or not 0 < len(rows) <= MOST_FRAMES:
        count = f"{len(rows)} rows" if isinstance(rows, Sequence) else repr(rows)[:60]
        raise InputError(f"{what}: got {count}; expected {WANTED}, 1 to {MOST_FRAMES} of them")
    size = len(rows[0]) if isinstance(rows[0], Sequence) else 0
    if size not in (len(IMAGE), len(SPACE)):
        raise InputError(f"{what}: got {rows[0]!r} as its first row; expected {WANTED}")
    return torch.tensor(
        [check_numbers(f"{what} row {n}", row, size) for n, row in enumerate(rows)], dtype=torch.float64
    )


def _check_times(times: Tensor, scene: Scene, what: str) -> Tensor:
    """Return the times of a track, after a check that they rise and lie within the simulation."""
    span = scene.steps * scene.dt - scene.viewpoint.time_offset
    if bool((times.diff() <= 0.0).any()):
        raise InputError(f"{what}: its times do not rise from row to row; sort the rows, and remove duplicates")
    first, last = float(times[0]), float(times[-1])
    if first < 0.0 or last > span * (1.0 + 1e-6):
        raise InputError(f"{what}: got times from {first:g} s to {last:g} s; the simulation covers 0 s to {span:g} s")
    return times.clamp(max=span)  # single precision may round the last one up
