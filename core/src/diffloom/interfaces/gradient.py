"""How a rollout is differentiated: an argument, not a subclass."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces.errors import InputError


@dataclass(frozen=True)
class StoreAll:
    """Keep every state: fastest backward; memory grows with the number of steps."""


@dataclass(frozen=True)
class Checkpointed:
    """Keep one state per segment and recompute the rest backwards.

    segment: steps per segment; or memory: bytes the stored states may take. With neither, segments of about the
    square root of the number of steps, which takes the least memory. Gradients are bit-for-bit those of StoreAll.
    """

    segment: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.segment is not None and self.memory is not None:
            raise InputError("Checkpointed: got both segment and memory; give one of them")
        if self.segment is not None and self.segment < 1:
            raise InputError(f"Checkpointed: got segment={self.segment}; expected 1 or more steps")
        if self.memory is not None and self.memory < 1:
            raise InputError(f"Checkpointed: got memory={self.memory}; expected a number of bytes")


@dataclass(frozen=True)
class NoGradient:
    """Forward only: nothing is kept but the frames asked for."""


Gradient = StoreAll | Checkpointed | NoGradient
