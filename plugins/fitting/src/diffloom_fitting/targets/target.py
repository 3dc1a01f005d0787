"""Target of a fit: images with the times at which they were taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.kinds import use_display
from diffloom_fitting.validation import as_number_tensor, check_images, describe_value


@dataclass(frozen=True)
class Target:
    """Images, masks, states or tracks with their times.

    Arrays become tensors, and bytes become 0..1.

    Args:
        times: (frames,), times since the simulation's start [s]; with a ``Viewpoint``, of the video.
        frames: (frames, height, width, 3 or 4) in 0..1; the fourth channel is coverage, which only synthesised videos
            have.
        masks: (frames, height, width), 1 where the object is.
        q: (frames, nodes, dq), true states, for the state loss.
        truth: True values by name, if known.
        step: Size of a grey level: 1/255 for 8-bit videos, 0 for exact ones.
        source: Description of the video's origin, for users; it has no effect.
        synthetic: True if a renderer drew the frames in this process, so that no camera was involved; only
            ``synthesise`` and its like set it. Anything that was read from a file is a recording, also under the name
            of a synthetic one.
        goes_on: True if later frames of the video were left out.
        tracks: (frames, 4), column, row and radius of the object's image [px], and the weight of each frame, 0 if
            invisible.
        confidence: (frames,) in 0..1, confidence in each mask; None for 1.
        chroma: Side of the squares of pixels that share one colour [px]: 2 in most compressed videos.
        across: Direction (right, down) in which the tracks' radii were measured; None for discs of equal area.
        goal: True if it is a goal instead of an observation.
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
    synthetic: bool = False

    def __post_init__(self) -> None:
        self._accept()
        for name in ("frames", "masks", "q", "tracks", "confidence"):
            value: Tensor | None = getattr(self, name)
            if value is not None and value.shape[0] != self.times.shape[0]:
                raise InputError(
                    f"target.{name}: got {value.shape[0]} for {self.times.shape[0]} times; expected one per time"
                )

    def _accept(self) -> None:
        """Convert arrays to tensors and bytes to 0..1."""
        try:
            times = as_number_tensor("target.times", self.times, torch.float64)
        except InputError as error:
            raise InputError(
                f"target.times: got {describe_value(self.times)}; expected the frames' times [s]"
            ) from error
        if times.dim() != 1 or not bool(torch.isfinite(times).all()):
            raise InputError(f"target.times: got shape {tuple(times.shape)}; expected one finite time [s] per frame")
        if times.numel() > 1 and bool((times.diff() <= 0.0).any()):
            raise InputError("target.times: expected each later than the one before")
        object.__setattr__(self, "times", times)
        for name, dims in (("frames", (4,)), ("masks", (3,))):
            value = getattr(self, name)
            if value is not None:
                tensor, step = check_images(f"target.{name}", value, dims)
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
        """Height and width [px]; None without images."""
        images = self.frames if self.frames is not None else self.masks
        return None if images is None else (int(images.shape[1]), int(images.shape[2]))

    @cached_property
    def mean_square(self) -> float:
        """Mean square of its numbers: frames, else masks, else states."""
        shown = self.frames if self.frames is not None else self.masks if self.masks is not None else self.q
        return 0.0 if shown is None or not shown.numel() else float(shown.double().square().mean())

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("target", self)

    def save(self, path: str | Path, rate: float | None = None) -> Path:
        """Write the frames, or else the masks, as a video or side by side as one image.

        Args:
            path: File ending in .mp4, .gif or .png.
            rate: Frames per second; None for real time.

        Returns:
            The path.
        """
        written: Path = use_display("video", "Target.save", self, path, rate)
        return written

    def select(self, index: Sequence[int]) -> Target:
        """Select frames.

        Args:
            index: Positions; negative ones count from the end.

        Returns:
            The target of these frames.
        """
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
        """Return the first frames.

        Args:
            count: Number of frames.

        Returns:
            The target of these frames.
        """
        return self if count >= len(self) else self.select(range(count))

    def until(self, part: float) -> Target:
        """Return the first part of the time span.

        Args:
            part: Part (0..1] of the time span; at least two frames are kept.

        Returns:
            The target of these frames.
        """
        count = int((self.times <= float(self.times[-1]) * part * (1.0 + 1e-12)).sum())
        return self.first(max(count, min(2, len(self))))

    def by_view(self) -> Mapping[str, Target]:
        """Return the target under the label "" of a single camera.

        Returns:
            Targets by label.
        """
        return {"": self}

    def to(self, dtype: torch.dtype) -> Target:
        """Convert to another precision; times stay in double.

        Args:
            dtype: Precision.

        Returns:
            The target.
        """
        return replace(
            self, frames=_cast(self.frames, dtype), masks=_cast(self.masks, dtype), q=_cast(self.q, dtype),
            tracks=_cast(self.tracks, dtype), confidence=_cast(self.confidence, dtype),
            truth={name: value.to(dtype) for name, value in self.truth.items()},
        )  # fmt: skip

    def coverage(self) -> Tensor:
        """Return the masks, or else the fourth channel of the frames.

        Returns:
            (frames, height, width).

        Raises:
            InputError: The target has neither.
        """
        if self.masks is not None:
            return self.masks
        if self.frames is not None and self.frames.shape[-1] == 4:
            return self.frames[..., 3]
        raise InputError(
            "target: got no masks, and frames without coverage channel; give masks (target.masks) or use loss 'mse'"
        )


def get_tracks(target: Target) -> Tensor:
    """Return the tracks of a target, measured on its masks if it has none.

    Args:
        target: The target.

    Returns:
        (frames, 4), column, row, radius [px] and weight.

    Raises:
        InputError: The target has neither tracks nor masks.
    """
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
