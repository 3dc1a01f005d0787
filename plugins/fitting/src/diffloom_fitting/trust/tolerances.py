"""Numbers that a fit of recorded data takes as known, and how well each is known unless the user says so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import CameraPlacement, Scene, Sensor
from diffloom_fitting.scene.viewpoint import camera_prefix
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.several import AnyTarget

MOST_ROWS = 3  # largest number of rows of a parameter that err separately
EARTH = 9.80665  # standard acceleration of free fall [m/s^2]
LIKE_EARTH = 0.2  # relative difference up to which a gravity is meant to be that of the Earth
RULER = "size"  # scale of all lengths of the objects
FACTOR = math.log(1.5)  # a number that is known within a factor of 1.5

#: One deviation by kind: docs/trust.md has this table, with reasons. Relative ones are shares of the value.
TOLERANCES: dict[str, float] = {
    "clock": 0.01,
    "start of the video": 0.1,  # frames
    "field of view": 0.03,
    "camera's place": 0.02,  # share of the distance
    "camera's direction": 2.0,  # degrees
    "roll": 1.0,  # degrees
    "principal point": 0.01,  # share of the width
    "distortion": 0.03,
    "rolling shutter": 0.01,  # seconds
    "zoom": 0.01,  # over the length of the video
    "size": 0.01,
    "mass": 0.01,
    "tabulated mass": 0.05,
    "gravity": 0.0003,
    "push": 0.03,
    "start place": 0.01,  # share of the object's size
    "start direction": math.radians(1.0),
    "start speed": 0.01,  # m/s
    "start rotation": 0.02,  # rad/s
    "friction": 0.1,
    "constant of a law": FACTOR,
    "stiffness": 0.1,
    "other": 0.02,
}
FRICTION = ("friction", "restitution", "poisson_ratio")
LAW = ("contact_stiffness", "contact_dissipation", "friction_stiffness", "reference_speed", "static_sag", "damping",
       "friction_smoothing", "bending_damping")  # fmt: skip
#: Parameters that belong to an object's shape, which the ruler scales as a whole.
SHAPES = ("start_shape", "rest_shape", "rest_angle", "ground_normal", "centre_of_mass", "inertia")
PUSHES = ("push", "force", "torque", "wind", "thrust")


@dataclass(frozen=True)
class Assumption:
    """Number that a fit takes as known.

    Args:
        name: Name of the number, with its component, such as "camera.target[1]".
        kind: Key of `TOLERANCES`.
        value: The number that is assumed; the largest one of several that err together.
        unit: Its unit.
        origin: "default" if it is the default of its parameter, else "given".
        tolerance: Standard deviation of its error, in its unit.
        direction: Change of the whole parameter by one unit; None for the ruler.
        whole: Name of the parameter.
        stated: True if the user stated the tolerance.
    """

    name: str
    kind: str
    value: float
    unit: str
    origin: str
    tolerance: float
    direction: Tensor | None = None
    whole: str = ""
    stated: bool = False

    @property
    def relative(self) -> float:
        """The tolerance as a share of the value; 0 for a value of 0."""
        return self.tolerance / abs(self.value) if self.value else 0.0


def list_assumptions(objective: Objective, values: Mapping[str, Tensor]) -> list[Assumption]:
    """List what a fit takes as known, with default tolerances.

    Args:
        objective: Objective of the fit.
        values: Values of the unknowns.

    Returns:
        The assumptions, without unknowns; none for synthetic videos.
    """
    if all(target.synthetic for target in objective.target.by_view().values()):
        return []
    sought = _list_sought(objective)
    size = {RULER} if "appearance.size" in values else set()
    found = list_known(objective.scene, objective.target)
    return [one for one in found if not {one.name, one.whole} & (sought | size)]


def list_known(scene: Scene, target: AnyTarget) -> list[Assumption]:
    """List the numbers of a scene that have a default tolerance.

    Args:
        scene: The scene.
        target: Its videos.

    Returns:
        The numbers: the scale of all objects, cameras, clocks, and parameters of the model.
    """
    shape = scene.rest_shape
    size = 0.5 * float((shape.max(dim=0).values - shape.min(dim=0).values).max())
    found = [Assumption(RULER, "size", 1.0, "", "given", TOLERANCES["size"])]
    for label, one in target.by_view().items():
        if not one.synthetic or len(target.by_view()) == 1:
            found += _of_camera(scene.select_view(label), label, one)
    return found + [one for spec in scene.model.specs for one in _of_parameter(scene, spec, size)]


def normalise(name: str) -> str:
    """Return the name of a component as the ledger writes it: "camera.target[1]" for "camera.target.y".

    Args:
        name: Name of an unknown.

    Returns:
        The name in the ledger.
    """
    whole, dot, last = name.rpartition(".")
    number = "xyz".find(last) if len(last) == 1 and not last.isdigit() else int(last) if last.isdigit() else -1
    return f"{whole}[{number}]" if dot and number >= 0 else name


def _list_sought(objective: Objective) -> set[str]:
    """List the names of all unknowns, components included."""
    found: set[str] = set()
    for slot in objective.layout.slots:
        found.add(slot.name.partition("@")[0])
        if slot.of is not None:
            found |= {f"{slot.of}[{slot.part}]", *(f"{slot.of}[{row}, {slot.part}]" for row in range(MOST_ROWS))}
    return found


def _of_camera(scene: Scene, label: str, target: Target) -> Iterator[Assumption]:
    """Yield the assumptions on one camera and its clock."""
    view, prefix, times = scene.viewpoint, camera_prefix(label), target.times
    span = max(float(times[-1] - times[0]), 1e-9)
    frame = span / max(1, len(times) - 1)
    specs = {spec.name: spec for spec in view.sensor.specs}
    late = ParamSpec("time_offset", view.time_offset, "s", "")
    width = float(scene.size[1])
    fixed = [
        ("clock", specs["clock"], "clock", TOLERANCES["clock"]),
        ("time_offset", late, "start of the video", TOLERANCES["start of the video"] * frame),
        ("roll", specs["roll"], "roll", TOLERANCES["roll"]),
        ("centre", specs["centre"], "principal point", TOLERANCES["principal point"] * width),
        ("readout", specs["readout"], "rolling shutter", TOLERANCES["rolling shutter"]),
        ("zoom", specs["zoom"], "zoom", TOLERANCES["zoom"] / span),
    ]
    plain = {spec.name: spec.default for spec in Sensor().specs} | {"time_offset": 0.0}
    for name, spec, kind, tolerance in fixed:
        for one in _each(prefix + name, spec, spec.default, kind, tolerance, scene.dtype):
            told = name in ("clock", "time_offset") and target.source and spec.default in (0.0, 1.0)
            yield replace(one, origin="file" if told else _compare(one, plain[name]))
    bend = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0], dtype=scene.dtype)
    k1 = float(torch.as_tensor(specs["distortion"].default)[0])
    whole = prefix + "distortion"
    yield Assumption(f"{whole}[0]", "distortion", k1, "", _origin(k1, 0.0), TOLERANCES["distortion"], bend, whole)
    if isinstance(view.camera, CameraPlacement):
        yield from _of_placement(view.camera, prefix, scene.dtype)


def _of_placement(camera: CameraPlacement, prefix: str, dtype: torch.dtype) -> Iterator[Assumption]:
    """Yield the assumptions on a camera's place, direction and field of view, by units."""
    specs = {spec.name: spec for spec in camera.specs}
    away = specs["distance"].default if "distance" in specs else None
    if away is None:
        eye = camera.camera(torch.float64, times=torch.zeros(1)).eye
        away = max(float(eye.reshape(-1, 3)[0].norm()), 1e-3)
    for name, spec in specs.items():
        if name in ("fov", "focal"):
            kind, tolerance = "field of view", TOLERANCES["field of view"] * float(spec.default)
        elif spec.unit == "deg":
            kind, tolerance = "camera's direction", TOLERANCES["camera's direction"]
        elif spec.unit == "m":
            kind, tolerance = "camera's place", TOLERANCES["camera's place"] * float(away)
        else:
            continue
        plain = next((field.default for field in fields(camera) if field.name == name), None)  # type: ignore[arg-type]
        for one in _each(prefix + name, spec, spec.default, kind, tolerance, dtype):
            yield replace(one, origin=_compare(one, plain))


def _compare(one: Assumption, plain: object) -> str:
    """Return "default" if a number of a camera is its default, which is None without one, and else "given"."""
    try:
        usual = torch.as_tensor(plain, dtype=torch.float64)
    except (TypeError, RuntimeError, ValueError):
        return "given"
    assert one.direction is not None
    if usual.numel() not in (1, one.direction.numel()):
        return "given"
    usual = usual.expand_as(one.direction) if usual.numel() == 1 else usual.reshape(one.direction.shape)
    return _origin(one.value, float((usual * one.direction).sum() / one.direction.sum()))


def _of_parameter(scene: Scene, spec: ParamSpec, size: float) -> Iterator[Assumption]:
    """Yield the assumptions on a parameter of the model; nothing for shapes, which the ruler covers."""
    value = scene.params.get(spec.name)
    if value is None or not spec.differentiable or spec.name.rpartition(".")[2] in SHAPES:
        return
    value = value.detach()
    known = spec.default is None or not _equal(value, spec.default)
    found = classify(spec, known, size)
    if found is None:
        return
    kind, tolerance, relative = found
    if kind == "start direction":
        yield from _turned(spec, value, tolerance)
    elif kind == "gravity":
        yield from _gravity(spec, value)
    elif relative:
        largest = float(value.abs().max()) if value.numel() else 0.0
        if largest > 0.0:
            origin = "given" if known else "default"
            yield Assumption(spec.name, kind, _main(value), spec.unit, origin, tolerance * largest, value / largest,
                             spec.name)  # fmt: skip
    else:
        yield from _each(spec.name, spec, value, kind, tolerance, scene.dtype)


def classify(spec: ParamSpec, known: bool, size: float) -> tuple[str, float, bool] | None:
    """Return kind, tolerance, and true for a relative tolerance, of a parameter; None for what does not err.

    Args:
        spec: Declaration of the parameter.
        known: True if its value was given, False for its default.
        size: Radius of the object [m].

    Returns:
        The three, or None.
    """
    last = spec.name.rpartition(".")[2]
    lengths = {
        "m": ("start place", TOLERANCES["start place"] * size),
        "m/s": ("start speed", TOLERANCES["start speed"]),
        "rad/s": ("start rotation", TOLERANCES["start rotation"]),
    }
    if last == "gravity":
        return "gravity", TOLERANCES["gravity"], True
    if last == "orientation":
        return "start direction", TOLERANCES["start direction"], False
    if last in FRICTION:
        return ("friction", TOLERANCES["friction"], True) if known else ("constant of a law", FACTOR, True)
    if last in LAW or last.endswith(("_dissipation", "_damping", "_smoothing")):
        return "constant of a law", FACTOR, True
    if last.startswith(PUSHES) and spec.unit != "m":
        return "push", TOLERANCES["push"], True
    if spec.unit in lengths:
        return *lengths[spec.unit], False
    if spec.unit.startswith("kg"):
        kind = "mass" if known else "tabulated mass"
        return kind, TOLERANCES[kind], True
    if spec.unit in ("Pa", "N/m", "N m", "N"):
        return ("stiffness", TOLERANCES["stiffness"], True) if known else ("constant of a law", FACTOR, True)
    return "other", TOLERANCES["other"], True


def _each(
    name: str, spec: ParamSpec, value: object, kind: str, tolerance: float, dtype: torch.dtype
) -> Iterator[Assumption]:
    """Yield one assumption for each entry of a number, vector or few rows, or one for each component of many rows."""
    present = torch.as_tensor(value, dtype=dtype).detach()
    default = present if spec.default is None else torch.as_tensor(spec.default, dtype=dtype)
    if default.numel() == present.numel():
        default = default.reshape(present.shape)
    default = default.expand_as(present) if default.numel() in (1, present.numel()) else present
    rows: list[tuple[str, Tensor]] = []
    if present.dim() == 2 and len(present) > MOST_ROWS:
        for part in range(present.shape[1]):
            rows.append((f"[:, {part}]", (torch.arange(present.shape[1]) == part).to(dtype).expand_as(present)))
    else:
        grid = [()] if present.dim() == 0 else torch.cartesian_prod(*map(torch.arange, present.shape)).reshape(
            present.numel(), -1).tolist()  # fmt: skip
        single = present.dim() == 2 and len(present) == 1
        for number, place in enumerate(grid):
            one = torch.zeros(present.numel(), dtype=dtype)
            one[number] = 1.0
            shown = place[1:] if single else place
            rows.append((f"[{', '.join(map(str, shown))}]" if place else "", one.reshape(present.shape)))
    for label, direction in rows:
        here = float((present * direction).sum() / direction.sum())
        origin = _origin(here, float((default * direction).sum() / direction.sum()))
        yield Assumption(name + label, kind, here, spec.unit, origin, tolerance, direction, name)


def _turned(spec: ParamSpec, value: Tensor, tolerance: float) -> Iterator[Assumption]:
    """Yield the three small rotations of a start's quaternions (w, x, y, z)."""
    w, x, y, z = value.unbind(-1)
    turns = {"x": (-x, w, -z, y), "y": (-y, z, w, -x), "z": (-z, -y, x, w)}
    for axis, parts in turns.items():
        way = 0.5 * torch.stack(parts, dim=-1)
        yield Assumption(f"{spec.name} about {axis}", "start direction", 0.0, "rad", "given", tolerance, way, spec.name)


def _gravity(spec: ParamSpec, value: Tensor) -> Iterator[Assumption]:
    """Yield the error of gravity: that of a place on the Earth, or the difference from it if that is larger."""
    here = float(value.norm()) if value.dim() else abs(float(value))
    if here == 0.0:
        return
    off = abs(here - EARTH)
    tolerance = max(TOLERANCES["gravity"] * here, off if off < LIKE_EARTH * EARTH else 0.0)
    tolerance = TOLERANCES["gravity"] * here if off < 0.005 else tolerance
    default = torch.as_tensor(spec.default, dtype=value.dtype) if spec.default is not None else value
    yield Assumption(spec.name, "gravity", here, spec.unit, "default" if _equal(value, default) else "given",
                     tolerance, value / here, spec.name)  # fmt: skip


def differs_from_earth(one: Assumption) -> bool:
    """Return True for a gravity near that of the Earth that differs from it by more than the Earth's varies.

    Args:
        one: The assumption.

    Returns:
        True if it should be confirmed.
    """
    off = abs(one.value - EARTH)
    return one.kind == "gravity" and not one.stated and 0.04 < off < LIKE_EARTH * EARTH


def scale_by_units(values: Mapping[str, Tensor], units: Mapping[str, str], factor: float) -> dict[str, Tensor]:
    """Return values in a unit of length that is ``factor`` times the metre.

    Objects whose mesh is ``factor`` times as large as said move like the objects as said, with all other lengths
    measured by that unit: a change of units changes no motion.

    Args:
        values: Values by name.
        units: Unit of each.
        factor: Length of the new unit [m].

    Returns:
        Values by name.
    """
    return {
        name: value * factor ** -length_power(units[name]) if name in units else value for name, value in values.items()
    }


POWERS = {"m": 1.0, "N": 1.0, "Pa": -1.0, "J": 2.0, "W": 2.0, "kg": 0.0, "s": 0.0, "rad": 0.0, "deg": 0.0, "px": 0.0,
          "K": 0.0, "1": 0.0, "": 0.0}  # fmt: skip


def length_power(unit: str) -> float:
    """Return the power of length in a unit: 1 for m/s, -1 for Pa, -3 for kg/m^3.

    Args:
        unit: A unit, such as "N s/m".

    Returns:
        The power; 0 for symbols that are not known.
    """
    upper, *lower = unit.split("/")
    return _sum_powers(upper) - sum(_sum_powers(part) for part in lower)


def _sum_powers(product: str) -> float:
    total = 0.0
    for symbol in product.replace("*", " ").replace("(", " ").replace(")", " ").split():
        base, _, power = symbol.partition("^")
        total += POWERS.get(base, 0.0) * (float(power) if power else 1.0)
    return total


def _main(value: Tensor) -> float:
    """Return the entry of largest size."""
    flat = value.reshape(-1)
    return float(flat[int(flat.abs().argmax())])


def _equal(value: Tensor, default: object) -> bool:
    other = torch.as_tensor(default, dtype=value.dtype)
    try:
        return bool(torch.isclose(value, other.expand_as(value)).all())
    except RuntimeError:
        return False


def _origin(value: float, default: float) -> str:
    return "default" if value == default else "given"
