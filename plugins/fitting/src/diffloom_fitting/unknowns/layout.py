"""Layout of unknowns in the vector that an optimiser moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.quantities import quantity
from diffloom_fitting.scene import Scene
from diffloom_fitting.scene.checks import list_camera_specs, list_seekable
from diffloom_fitting.scene.windows import OF_WINDOW, find_window, strip_window
from diffloom_fitting.unknowns.spaces import Bounds, Space, choose_space
from diffloom_fitting.unknowns.unknown import Unknown
from diffloom_fitting.validation import describe_value


@dataclass(frozen=True)
class Slot:
    """Position of one unknown in the vector.

    Args:
        name: Name of the unknown.
        unit: Its unit.
        shape: Shape of its numbers.
        space: Its search space.
        start: Its start, of this shape.
        only: Rows of ``base`` that the numbers replace; None for all.
        base: The parameter's present value, for ``only`` and ``of``.
        of: Vector whose component it is, such as "velocity" for "velocity.y"; other components stay as in ``base``.
        part: Number of the component.
        along: (numbers, row), patterns that the numbers are multiplied with and that add up to the parameter.
    """

    name: str
    unit: str
    shape: tuple[int, ...]
    space: Space
    start: Tensor
    only: tuple[int, ...] | None = None
    base: Tensor | None = None
    of: str | None = None
    part: int = 0
    along: Tensor | None = None

    @property
    def size(self) -> int:
        """Number of numbers."""
        return int(torch.Size(self.shape).numel())

    def value(self, z: Tensor) -> Tensor:
        """Return the parameter.

        Args:
            z: This slot's part of the vector.

        Returns:
            The parameter, in its unit.
        """
        found = self.space.decode(z.reshape(self.shape))
        if self.along is not None:
            return found.reshape(-1) @ self.along
        if self.only is None or self.of is not None:
            return found
        assert self.base is not None
        rows = torch.tensor(self.only, dtype=torch.long)
        return self.base.index_put((rows,), found)


@dataclass(frozen=True)
class UnknownLayout:
    """All unknowns in order.

    Args:
        slots: Position of each unknown.
        dtype: Precision of the vector, that of the scene.
    """

    slots: tuple[Slot, ...]
    dtype: torch.dtype

    def __post_init__(self) -> None:
        names = [slot.name for slot in self.slots]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"unknown {name!r} is given {names.count(name)} times; name each once")
        for slot in self.slots:
            if slot.of in names:
                raise InputError(
                    f"unknown {slot.name!r}: {slot.of!r} is an unknown too; seek the vector or its components"
                )

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(slot.size for slot in self.slots)

    def start(self) -> Tensor:
        """Return the vector of the unknowns' starts.

        Returns:
            (size,).
        """
        return self.encode({slot.name: slot.start for slot in self.slots})

    def encode(self, values: Mapping[str, Tensor]) -> Tensor:
        """Return the vector of given values.

        Args:
            values: Values by name, each of its slot's shape or broadcast to it.

        Returns:
            (size,).
        """
        parts = [
            slot.space.encode(values[slot.name].to(self.dtype).expand(slot.shape), slot.name).reshape(-1)
            for slot in self.slots
        ]
        return torch.cat(parts).detach().clone() if parts else torch.zeros(0, dtype=self.dtype)

    def decode(self, z: Tensor) -> dict[str, Tensor]:
        """Return the parameters of a vector.

        Args:
            z: (size,).

        Returns:
            Parameters by name, differentiable with respect to ``z``.
        """
        found: dict[str, Tensor] = {}
        # Parameters of a window override those of all windows.
        slots = sorted(zip(self.slots, self.split(z), strict=True), key=lambda pair: OF_WINDOW in pair[0].name)
        for slot, part in slots:
            value = slot.value(part)
            if slot.of is None:
                found[slot.name] = value
                continue
            assert slot.base is not None
            whole = found.get(slot.of, found.get(strip_window(slot.of), slot.base))
            here = torch.arange(whole.shape[-1]) == slot.part
            found[slot.of] = torch.where(here, value[..., None], whole)
        return found

    def sought(self, z: Tensor) -> dict[str, Tensor]:
        """Return the numbers of each unknown in their units, without rows or components that are fixed.

        Args:
            z: (size,).

        Returns:
            Numbers by name, differentiable with respect to ``z``.
        """
        parts = zip(self.slots, self.split(z), strict=True)
        return {slot.name: slot.space.decode(part.reshape(slot.shape)) for slot, part in parts}

    def split(self, z: Tensor) -> Sequence[Tensor]:
        """Split the vector into one part per unknown.

        Args:
            z: (size,).

        Returns:
            The parts.
        """
        return torch.split(z, [slot.size for slot in self.slots])

    def labels(self) -> list[str]:
        """Return one name per entry of the vector, such as ``density`` or ``velocity[3, 0]``.

        Returns:
            (size,) names.
        """
        names: list[str] = []
        for slot in self.slots:
            if not slot.shape:
                names.append(slot.name)
                continue
            grid = torch.cartesian_prod(*(torch.arange(n) for n in slot.shape)).reshape(slot.size, -1)
            names += [f"{slot.name}[{', '.join(str(int(i)) for i in row)}]" for row in grid]
        return names


def resolve(unknowns: Sequence[Unknown], scene: Scene) -> UnknownLayout:
    """Build the layout of unknowns in a scene; the unknown "policy" stands for all weights of the policy.

    Args:
        unknowns: The unknowns.
        scene: The scene.

    Returns:
        The layout.

    Raises:
        InputError: A name or a start does not fit the scene.
    """
    slots: list[Slot] = []
    for unknown in unknowns:
        if unknown.name == "policy":
            slots += _policy_slots(scene)
        else:
            slots.append(_slot(unknown, scene))
    return UnknownLayout(tuple(slots), scene.dtype)


def parse_component(name: str, scene: Scene) -> tuple[str, int] | None:
    """Parse the name of a vector's component, such as "velocity.y" or "camera.centre.1".

    Args:
        name: The name.
        scene: The scene.

    Returns:
        Name of the vector and number of the component; None for names of another form.
    """
    whole, dot, last = name.rpartition(".")
    if not dot or name in (allowed := list_seekable(scene)) or whole not in allowed:
        return None
    _, _, full, _ = _find_declaration(whole, scene)
    part = "xyz".find(last) if len(last) == 1 and not last.isdigit() else int(last) if last.isdigit() else -1
    if not full or not _is_vector(whole, scene, full) or not 0 <= part < full[-1]:
        return None
    return whole, part


def can_be_sought(name: str, scene: Scene) -> bool:
    """Return true if something in a scene, or a component of it, has this name.

    Args:
        name: The name.
        scene: The scene.

    Returns:
        True if it can be an unknown.
    """
    name = strip_window(name)
    return name in list_seekable(scene) or parse_component(name, scene) is not None


def _component_slot(unknown: Unknown, scene: Scene, whole: str, part: int) -> Slot:
    """Return the slot of one component of a vector."""
    unit, bounds, full, present = _find_declaration(whole, scene)
    if present is None:
        raise InputError(f"unknown {unknown.name!r}: {whole!r} has no value in the scene; give one in [params]")
    if unknown.only is not None:
        raise InputError(
            f"unknown {unknown.name!r}: got only={list(unknown.only)}; expected none for a component of a vector"
        )
    base = present.detach().expand(full).clone()
    start = base[..., part] if unknown.start is None else _tensor(unknown.name, unknown.start, unit, scene.dtype)
    # One number for all rows, unless each has its own.
    shape = tuple(base[..., part].shape) if unknown.each else ()
    if not unknown.each and start.numel() != 1:
        if unknown.start is not None or bool((start != start.reshape(-1)[0]).any()):
            raise InputError(
                f"unknown {unknown.name!r}: got a start of shape {tuple(start.shape)}; expected a number, or each"
            )
        start = start.reshape(-1)[0]
    own = bounds if unknown.bounds is None else unknown.bounds
    space = choose_space(own, unknown.space, unknown.scale)
    return Slot(unknown.name, unit, shape, space, start.reshape(-1)[0] if not shape else start.expand(shape).clone(),
                None, base, whole, part)  # fmt: skip


def _slot(unknown: Unknown, scene: Scene) -> Slot:
    if find_window(unknown.name, scene.windows) is not None:
        plain = strip_window(unknown.name)
        if plain not in (spec.name for spec in scene.model.specs) and parse_component(plain, scene) is None:
            raise InputError(f"unknown {unknown.name!r}: a window has parameters of the model of its own, no camera")
        found = _slot(replace(unknown, name=plain), scene)
        of = None if found.of is None else found.of + unknown.name[len(plain) :]
        return replace(found, name=unknown.name, of=of)
    inner = parse_component(unknown.name, scene)
    if inner is not None:
        return _component_slot(unknown, scene, *inner)
    unit, bounds, full, present = _find_declaration(unknown.name, scene)
    start = present if unknown.start is None else _tensor(unknown.name, unknown.start, unit, scene.dtype)
    if start is None:
        raise InputError(f"unknown {unknown.name!r}: it has no value in the scene; give it a start")
    what = f"unknown {unknown.name!r}" + (f" [{unit}]" if unit else "")
    if unknown.along is not None:
        return make_pattern_slot(unknown, unit, bounds, full, start)
    base: Tensor | None = None
    if unknown.only is not None:
        base = _base(what, unknown.only, full, present)
        full = (len(unknown.only), *full[1:])
    if start.dim() == 0 and _is_vector(unknown.name, scene, full):
        raise InputError(
            f"{what}: got one number, {float(start):g}, for a vector; expected its {full[-1]} numbers, such as "
            f"{[float(start)] * full[-1]}"
        )
    shape = full if unknown.each or unknown.only is not None else tuple(start.shape)
    try:
        start = start.expand(shape) if tuple(start.shape) != shape else start
        fits = torch.empty(shape).expand(full).shape == torch.Size(full)
    except RuntimeError:
        fits = False
    if not fits:
        one = "" if full[-1:] == (3,) else "a number or "
        raise InputError(f"{what}: got a start of shape {tuple(start.shape)}; expected {one}shape {full}")
    own = bounds if unknown.bounds is None else unknown.bounds
    space = choose_space(own, unknown.space, unknown.scale)
    return Slot(unknown.name, unit, shape, space, start.detach().clone(), unknown.only, base)


def make_pattern_slot(unknown: Unknown, unit: str, bounds: Bounds, full: tuple[int, ...], start: Tensor) -> Slot:
    """Build the slot of numbers that are multiplied with patterns.

    Args:
        unknown: The unknown, with ``along``.
        unit: Unit of the parameter.
        bounds: Bounds of the parameter.
        full: Shape of the parameter.
        start: Start of the numbers.

    Returns:
        The slot.
    """
    rows = torch.atleast_2d(torch.as_tensor(unknown.along, dtype=start.dtype))
    what = f"unknown {unknown.name!r}"
    if unknown.each or unknown.only is not None:
        raise InputError(f"{what}: got along with each or only; expected one of them")
    if rows.dim() != 2 or len(rows) != start.numel() or start.dim() > 1:
        raise InputError(f"{what}: got {start.numel()} numbers along {unknown.along}; expected a pattern for each")
    if full[-1:] != rows.shape[1:]:
        raise InputError(f"{what}: got patterns of {rows.shape[1]} numbers; expected rows of shape {full[-1:]}")
    space = choose_space(bounds if unknown.bounds is None else unknown.bounds, unknown.space, unknown.scale)
    return Slot(unknown.name, unit, tuple(start.shape), space, start.detach().clone(), along=rows)


def _tensor(name: str, value: object, unit: str, dtype: torch.dtype) -> Tensor:
    """Convert a start to a tensor: numbers, lists, arrays, and texts with a unit."""
    if isinstance(value, str | list | tuple | int | float) and not isinstance(value, bool):
        value = quantity(list(value) if isinstance(value, tuple) else value, unit, f"unknown {name!r}")
    try:
        found = torch.as_tensor(value).detach().to(dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"unknown {name!r}: got {describe_value(value)}; expected a number or a list of numbers"
        ) from error
    if isinstance(value, bool) or not bool(torch.isfinite(found).all()):
        raise InputError(f"unknown {name!r}: got a start of {describe_value(value)}; expected finite numbers")
    return found


def _is_vector(name: str, scene: Scene, full: tuple[int, ...]) -> bool:
    """Return true if an unknown's last axis has components (x, y, z), and not elements that may share a value."""
    if name.startswith("appearance."):
        return name == "appearance.colour"
    if name.startswith("camera."):
        return len(full) == 1
    shape = scene.model.spec(name.removeprefix("control.")).shape
    return bool(shape) and isinstance(shape[-1], int)


def _base(what: str, only: tuple[int, ...], full: tuple[int, ...], present: Tensor | None) -> Tensor:
    if not full:
        raise InputError(f"{what}: got only={list(only)}, but it is a single number for the whole model")
    if present is None:
        raise InputError(f"{what}: it has no value in the scene for the rows that are not sought; give one in [params]")
    for row in only:
        if not 0 <= row < full[0]:
            raise InputError(f"{what}: got only={list(only)}; expected rows 0 to {full[0] - 1}")
    return present.detach().expand(full).clone()


def _find_declaration(name: str, scene: Scene) -> tuple[str, Bounds, tuple[int, ...], Tensor | None]:
    """Return unit, bounds, full shape and present value of anything that can be sought."""
    allowed = list_seekable(scene)
    if name not in allowed:
        raise InputError(
            f"unknown {name!r}: the scene has nothing of this name{suggest_name(name, allowed) or '.'} It has: "
            f"{', '.join(allowed)}"
        )
    if name == "appearance.colour":
        colour = scene.appearance.colour
        return "", (0.0, 1.0), (3,), None if colour is None else torch.tensor(colour, dtype=scene.dtype)
    if name == "appearance.size":
        return "", (0.0, None), (), torch.ones((), dtype=scene.dtype)
    if name.startswith("camera."):
        spec = list_camera_specs(scene)[name]
        value = torch.as_tensor(spec.default, dtype=scene.dtype)
        return spec.unit, spec.bounds, tuple(value.shape), value
    spec = scene.model.spec(name.removeprefix("control."))
    full = spec.full_shape(scene.model.axes)
    if name.startswith("control."):
        return spec.unit, spec.bounds, (scene.steps, *full), torch.zeros((scene.steps, *full), dtype=scene.dtype)
    return spec.unit, spec.bounds, full, scene.params.get(name)


def _policy_slots(scene: Scene) -> list[Slot]:
    if scene.policy is None:
        raise InputError("unknown 'policy': the scene has no policy; give it one")
    weights = scene.policy.weights(scene.dtype)
    return [Slot(name, "", tuple(value.shape), choose_space((None, None)), value) for name, value in weights.items()]
