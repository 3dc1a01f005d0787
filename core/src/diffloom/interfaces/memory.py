"""Internal variables of nodes or elements: what they remember from step to step beside coordinates and velocities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.state import State


@dataclass(frozen=True)
class MemorySpec:
    """Declaration of an internal variable, such as plastic strain, damage or temperature.

    A term of a mechanical system, or a step of the model's own, changes it at the end of each step. ``State`` and
    ``Trajectory`` hold it by name.

    Args:
        name: Name of the variable.
        start: Value at time 0, for all nodes or elements or for each; anything that broadcasts to the full shape.
        unit: Unit, such as "K"; "" for none.
        doc: Description in one sentence.
        shape: Axes of the variable: the name of an axis of ``Model.axes`` with one row each, then numbers, such as
            ``("tets",)`` or ``("tets", 6)``.

    Example:
        ``MemorySpec("plastic_strain", 0.0, "", "accumulated plastic strain", ("bars",))``
    """

    name: str
    start: Any
    unit: str
    doc: str
    shape: tuple[str | int, ...]

    def __post_init__(self) -> None:
        rows, rest = self.shape[:1], self.shape[1:]
        if not (rows and isinstance(rows[0], str) and all(isinstance(n, int) and n > 0 for n in rest)):
            raise InputError(
                f"memory {self.name!r}: got shape {self.shape}; expected the name of an axis and then numbers, such as "
                "('tets',) or ('tets', 6)"
            )

    @property
    def axis(self) -> str:
        """Name of the axis with one row for each node or element."""
        return str(self.shape[0])

    @property
    def row(self) -> tuple[int, ...]:
        """Shape of the value of one node or element."""
        return tuple(int(n) for n in self.shape[1:])

    @property
    def width(self) -> int:
        """Count of numbers of one node or element."""
        return math.prod(self.row)

    def make_start(self, count: int, like: Tensor) -> Tensor:
        """Return the values at time 0.

        Args:
            count: Number of nodes or elements.
            like: Tensor whose precision and device the values take.

        Returns:
            Values (count, *row).

        Raises:
            InputError: The declared start does not broadcast to this shape.
        """
        full = (count, *self.row)
        value = torch.as_tensor(self.start, dtype=like.dtype, device=like.device)
        try:
            return value.expand(full).clone()
        except RuntimeError as error:
            raise InputError(
                f"memory {self.name!r}: its start has shape {tuple(value.shape)}; expected {full} or a part of it that "
                "broadcasts"
            ) from error


def complete_memory(state: State, specs: Sequence[MemorySpec], axes: Mapping[str, int]) -> State:
    """Return a state with all declared internal variables: those it has, and the start values of the rest.

    Args:
        state: State, which may lack variables.
        specs: Declared variables.
        axes: Lengths of the axes that their shapes name.

    Returns:
        State with the variables in the order of ``specs``.

    Raises:
        InputError: A variable of the state is not declared, or has another shape or precision.
    """
    names = [spec.name for spec in specs]
    unknown = sorted(set(state.memory) - set(names))
    if unknown:
        listed = ", ".join(map(repr, names)) or "none"
        raise InputError(f"State.memory: got {unknown[0]!r}, which is not declared; declared are: {listed}")
    if not specs:
        return state
    like = next(iter(state.sets.values()))[0]
    memory = {}
    for spec in specs:
        count = axes[spec.axis]
        value = state.memory.get(spec.name)
        memory[spec.name] = spec.make_start(count, like) if value is None else value
        full = (count, *spec.row)
        if tuple(memory[spec.name].shape) != full:
            raise InputError(
                f"State.memory[{spec.name!r}]: got shape {tuple(memory[spec.name].shape)}; expected {full}, that is "
                f"({', '.join(map(str, spec.shape))})"
            )
        if memory[spec.name].dtype != like.dtype:
            raise InputError(
                f"State.memory[{spec.name!r}]: got {memory[spec.name].dtype}; expected {like.dtype}, as q of the state"
            )
    return State({k: x for k, (x, _) in state.sets.items()}, {k: v for k, (_, v) in state.sets.items()}, state.time,
                 memory)  # fmt: skip
