"""A target: images with the times at which they were taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.validation import images, shown


@dataclass(frozen=True)
class Target:
    """What was seen.

    times: (frames,) [s] since the simulation's start; of the video, where a ``Viewpoint`` says how the two differ.
    frames: (frames, height, width, 3 or 4), 0..1; the fourth channel is coverage, which only a synthesised video has.
    masks: (frames, height, width), 1 where the object is. Arrays are taken as tensors, bytes as 0..1. q: (frames,
    nodes, dq), true states, for the state loss. truth: true values where they are known. step: size of a grey level,
    1/255 for 8-bit videos and 0 for exact ones. source: where it came from, for people. goes_on: whether the video
    has later frames that were left out. tracks: (frames, 4), column, row and radius of the object's image [px] and the
    weight of each frame, from 0, not seen. confidence: (frames,) in 0..1, how far each frame's mask can be believed;
    None believes all. chroma: side of the squares of pixels that share one colour and differ in brightness alone, 2 in
    most compressed videos. across: direction, right and down, in which the tracks' radii were measured; None: they are
    those of discs of the same area. goal: whether it shows what is wanted, rather than what was seen.
    """

    times: Tensor
    frames: Tensor | None = None
    masks: Tensor | None = None
    q: Tensor | None = None
    truth: Mapping[str, Tensor] = field(default_factory=dict)
    step: float = 0.0
    source: str = ""
    goes_on: bool = False
    tracks: Tensor | None = None
    confidence: Tensor | None = None
    chroma: int = 1
    across: tuple[float, float] | None = None
    goal: bool = False

    def __post_init__(self) -> None:
        self._accept()
        for name in ("frames", "masks", "q", "tracks", "confidence"):
            value: Tensor | None = getattr(self, name)
            if value is not None and value.shape[0] != self.times.shape[0]:
                raise InputError(
                    f"target.{name}: got {value.shape[0]} for {self.times.shape[0]} times; expected one per time"
                )

    def _accept(self) -> None:
        """Take arrays as tensors and bytes as 0..1."""
        try:
            times = torch.as_tensor(self.times, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"target.times: got {shown(self.times)}; expected the frames' times [s]") from error
        if times.dim() != 1 or not bool(torch.isfinite(times).all()):
            raise InputError(f"target.times: got shape {tuple(times.shape)}; expected one finite time [s] per frame")
        if times.numel() > 1 and bool((times.diff() <= 0.0).any()):
            raise InputError("target.times: expected each later than the one before")
        object.__setattr__(self, "times", times)
        for name, dims in (("frames", (4,)), ("masks", (3,))):
            value = getattr(self, name)
            if value is not None:
                tensor, step = images(f"target.{name}", value, dims)
                object.__setattr__(self, name, tensor)
                if name == "frames" and step > 0.0 and self.step == 0.0:
                    object.__setattr__(self, "step", step)
        sizes = {tuple(v.shape[1:3]) for v in (self.frames, self.masks) if v is not None}
        if len(sizes) > 1 or any(0 in size for size in sizes):
            told = " and ".join(f"{width}x{height}" for height, width in sorted(sizes))
            raise InputError(f"target: got images of {told} pixels; expected frames and masks of one size, not empty")
        if self.frames is not None and self.frames.shape[-1] not in (3, 4):
            raise InputError(
                f"target.frames: got shape {tuple(self.frames.shape)}; expected (frames, height, width, 3 or 4)"
            )

    def __len__(self) -> int:
        return int(self.times.shape[0])

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width [px], or None when there are only states."""
        images = self.frames if self.frames is not None else self.masks
        return None if images is None else (int(images.shape[1]), int(images.shape[2]))

    @cached_property
    def mean_square(self) -> float:
        """Of its numbers: frames, else masks, else states."""
        shown = self.frames if self.frames is not None else self.masks if self.masks is not None else self.q
        return 0.0 if shown is None or not shown.numel() else float(shown.double().square().mean())

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("target", self)

    def select(self, index: Sequence[int]) -> Target:
        """Only some frames, by position; negative ones count from the end."""
        count = len(self)
        for i in index:
            if not -count <= i < count:
                raise InputError(f"target frames: got {i}; this target has frames 0 to {count - 1}")
        rows = torch.tensor([i % count for i in index], dtype=torch.long)
        return replace(
            self, times=self.times[rows], frames=_rows(self.frames, rows), masks=_rows(self.masks, rows),
            q=_rows(self.q, rows), tracks=_rows(self.tracks, rows), confidence=_rows(self.confidence, rows),
        )  # fmt: skip

    def first(self, count: int) -> Target:
        """The first ``count`` frames: a shorter horizon."""
        return self if count >= len(self) else self.select(range(count))

    def until(self, part: float) -> Target:
        """Only the first ``part`` (0..1] of its time span, at least two frames."""
        count = int((self.times <= float(self.times[-1]) * part * (1.0 + 1e-12)).sum())
        return self.first(max(count, min(2, len(self))))

    def by_view(self) -> Mapping[str, Target]:
        """Itself, under the label of a single camera: ""."""
        return {"": self}

    def to(self, dtype: torch.dtype) -> Target:
        """The same in another precision; times stay in double."""
        return replace(
            self, frames=_cast(self.frames, dtype), masks=_cast(self.masks, dtype), q=_cast(self.q, dtype),
            tracks=_cast(self.tracks, dtype), confidence=_cast(self.confidence, dtype),
            truth={name: value.to(dtype) for name, value in self.truth.items()},
        )  # fmt: skip

    def coverage(self) -> Tensor:
        """(frames, height, width): masks where given, else the fourth channel; InputError when there is neither."""
        if self.masks is not None:
            return self.masks
        if self.frames is not None and self.frames.shape[-1] == 4:
            return self.frames[..., 3]
        raise InputError(
            "this target has no masks and its video no coverage channel; give masks (target.masks) or use loss 'mse'"
        )


def tracked(target: Target) -> Tensor:
    """(frames, 4): a target's tracks, or those of its masks; InputError when it has neither."""
    if target.tracks is not None:
        return target.tracks
    from diffloom_fitting.targets.masks import with_masks

    try:
        mattes = target.coverage().detach().to(torch.float32).numpy()
    except InputError:
        raise InputError(
            "loss 'track' compares tracks, and this target has neither tracks nor masks; segment the video "
            "(target.segment), or give masks"
        ) from None
    found = with_masks(target, mattes).tracks
    assert found is not None
    return found


def _rows(value: Tensor | None, rows: Tensor) -> Tensor | None:
    return None if value is None else value[rows]


def _cast(value: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if value is None else value.to(dtype)
