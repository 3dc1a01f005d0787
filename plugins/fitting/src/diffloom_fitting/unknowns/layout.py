"""The flat vector an optimiser moves, and how the unknowns lie in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.scene.windows import OF_WINDOW, plain_name
from diffloom_fitting.unknowns.spaces import Space


@dataclass(frozen=True)
class Slot:
    """One unknown's place: ``shape`` numbers in ``space``, put into rows ``only`` of ``base`` (or replacing it). part:
    which number of the vector ``of`` it is, such as 1 for "velocity.y"; the others stay as in ``base``. along:
    (numbers, row) patterns that the numbers are multiplied with, and that add up to the parameter."""

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
        """How many numbers."""
        return int(torch.Size(self.shape).numel())

    def value(self, z: Tensor) -> Tensor:
        """The parameter from this slot's part of the vector."""
        found = self.space.decode(z.reshape(self.shape))
        if self.along is not None:
            return found.reshape(-1) @ self.along
        if self.only is None or self.of is not None:
            return found
        assert self.base is not None
        rows = torch.tensor(self.only, dtype=torch.long)
        return self.base.index_put((rows,), found)


@dataclass(frozen=True)
class Layout:
    """All unknowns in order; ``dtype`` is that of the scene, so the vector has its precision."""

    slots: tuple[Slot, ...]
    dtype: torch.dtype

    def __post_init__(self) -> None:
        names = [slot.name for slot in self.slots]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"unknown {name!r} is given {names.count(name)} times; name each once")
        for slot in self.slots:
            if slot.of in names:
                raise InputError(f"unknown {slot.name!r}: {slot.of!r} is sought as a whole; seek it or its parts")

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(slot.size for slot in self.slots)

    def start(self) -> Tensor:
        """(size,): the vector of the unknowns' starts."""
        return self.encode({slot.name: slot.start for slot in self.slots})

    def encode(self, values: Mapping[str, Tensor]) -> Tensor:
        """(size,): the vector of the given values, each of its slot's shape (or one that broadcasts to it)."""
        parts = [
            slot.space.encode(values[slot.name].to(self.dtype).expand(slot.shape), slot.name).reshape(-1)
            for slot in self.slots
        ]
        return torch.cat(parts).detach().clone() if parts else torch.zeros(0, dtype=self.dtype)

    def decode(self, z: Tensor) -> dict[str, Tensor]:
        """The parameters by name, differentiable with respect to ``z``."""
        found: dict[str, Tensor] = {}
        # What a window has of its own lies over what all share.
        slots = sorted(zip(self.slots, self.split(z), strict=True), key=lambda pair: OF_WINDOW in pair[0].name)
        for slot, part in slots:
            value = slot.value(part)
            if slot.of is None:
                found[slot.name] = value
                continue
            assert slot.base is not None
            whole = found.get(slot.of, found.get(plain_name(slot.of), slot.base))
            here = torch.arange(whole.shape[-1]) == slot.part
            found[slot.of] = torch.where(here, value[..., None], whole)
        return found

    def sought(self, z: Tensor) -> dict[str, Tensor]:
        """Only the numbers that are sought, by name, in the parameters' units."""
        parts = zip(self.slots, self.split(z), strict=True)
        return {slot.name: slot.space.decode(part.reshape(slot.shape)) for slot, part in parts}

    def split(self, z: Tensor) -> Sequence[Tensor]:
        """The vector cut into one part per unknown."""
        return torch.split(z, [slot.size for slot in self.slots])

    def labels(self) -> list[str]:
        """One name per entry of the vector, such as ``density`` or ``velocity[3, 0]``."""
        names: list[str] = []
        for slot in self.slots:
            if not slot.shape:
                names.append(slot.name)
                continue
            grid = torch.cartesian_prod(*(torch.arange(n) for n in slot.shape)).reshape(slot.size, -1)
            names += [f"{slot.name}[{', '.join(str(int(i)) for i in row)}]" for row in grid]
        return names
