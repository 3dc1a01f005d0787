"""Measured motion as a problem for optimisers: the mean loss of many clips, and its normal equations.

A clip depends only on the shared unknowns and on its own, so the own unknowns of all clips change at once: two
simulations of all clips, as scenes of one batch, for each shared unknown and for each number of a clip's own give the
Jacobian. Its normal equations have the shape of an arrow (`diffloom_fitting.Arrow`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import BatchError, InputError, SimulationError
from diffloom_fitting import Arrow, Evaluation, Problem, Stopwatch
from diffloom_fitting.problem import Question
from diffloom_fitting.unknowns import Tie, UnknownLayout
from diffloom_motion.scene import START, ClipGroup, MotionScene

#: Number of points that are simulated at once.
MOST_PLACES = 32
#: Step of the central differences of a Jacobian, in natural changes of the searched space.
WIDTH = 1e-5


@dataclass(frozen=True)
class FrameLoss:
    """Loss of a frame's error (Huber 1964 for "huber").

    Args:
        name: "squares", or "huber" or "cauchy", which give less weight to large errors.
        threshold: Error [m] from which on they do.
    """

    name: str = "squares"
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in ("squares", "huber", "cauchy") or not self.threshold > 0.0:
            raise InputError(f"loss: got {self.name!r} with threshold {self.threshold:g}; expected squares, huber or "
                             "cauchy and a positive length")  # fmt: skip

    def weigh(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of each clip and the weights of its frames.

        Rows times slopes have squares whose sum has the loss's gradient; rows times secants have squares whose sum is
        the loss.

        Args:
            rows: (n, frames, numbers), residuals of n clips.

        Returns:
            The loss of each clip (n,), slopes (n, frames, 1) and secants (n, frames, 1).
        """
        squared = rows.square().sum(dim=2)
        if self.name == "squares":
            one = torch.ones_like(squared)[..., None]
            return squared.sum(dim=1), one, one
        # A frame's error is its row times the root of the number of frames, because rows are weighted for a mean.
        count = float((squared > 0.0).sum(dim=1).clamp(min=1).double().mean())
        ratio = squared * count / self.threshold**2
        if self.name == "huber":
            root = ratio.clamp(min=1.0).sqrt()
            rho, slope = torch.where(ratio <= 1.0, ratio, 2.0 * root - 1.0), 1.0 / root
        else:
            rho, slope = torch.log1p(ratio), 1.0 / (1.0 + ratio)
        secant = torch.where(ratio > 0.0, rho / ratio.clamp(min=1e-300), torch.ones_like(ratio))
        return rho.sum(dim=1) * self.threshold**2 / count, slope.sqrt()[..., None], secant.sqrt()[..., None]


@dataclass(frozen=True)
class LinearisedClips:
    """Normal equations of the mean loss.

    Args:
        half: (n,), half its gradient.
        curvature: Its Gauss-Newton curvature.
        shared: (clips, blocks, m), half the gradient of each part of each clip by the shared unknowns.
        own: (clips, blocks, k), half the gradient of each part of each clip by its own unknowns.
    """

    half: Tensor
    curvature: Arrow
    shared: Tensor
    own: Tensor

    def reduce(self) -> tuple[Tensor, Tensor]:
        """Eliminate the clips' own unknowns.

        Returns:
            Curvature (m, m), and half the gradient (clips x blocks, m) of each part, by the shared unknowns when
            the own ones follow them.
        """
        parts = [self.curvature.reduce(p, o) for p, o in zip(self.shared.unbind(1), self.own.unbind(1), strict=True)]
        return parts[0][0], torch.cat([pulls for _, pulls in parts])


@dataclass(frozen=True, eq=False)
class MotionObjective(Problem):
    """Mean loss over clips [m^2] as a function of the vector of unknowns.

    Args:
        scene: The clips.
        layout: Positions of the unknowns in the vector: shared ones first, then the clips' own.
        loss: Loss of a frame's error.
        frames: Number of frames of each clip that count; None for all.
        flight: True to compare only frames before the first contact.
        known: Further values by name.
        tie: Map from a shorter vector, if only some unknowns move.
        enough: Loss at which the search ends.
        stopwatch: Time by part of the work.
    """

    scene: MotionScene
    layout: UnknownLayout
    loss: FrameLoss = field(default_factory=FrameLoss)
    frames: int | None = None
    flight: bool = False
    known: Mapping[str, Tensor] = field(default_factory=dict)
    tie: Tie | None = None
    enough: float | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def batch_key(self) -> Hashable:
        return id(self.scene), id(self.layout), id(self.known), self.loss, self.frames, self.flight

    def batch_size(self, z: Tensor) -> int:
        return MOST_PLACES

    @property
    def own_curvature(self) -> bool:
        return True

    @property
    def rounding(self) -> float:
        mean = sum(float(group.position.square().sum(dim=2).mean()) for group in self.scene.groups)
        return (4.0 * torch.finfo(torch.float64).eps) ** 2 * mean / len(self.scene.groups)

    def evaluate_batch(self, questions: Sequence[Question]) -> list[list[Any] | Exception]:
        request = questions[0][1]
        if request.want == "value" and not request.differentiable:
            places = [one._full(z) for one, asked in questions for z in asked.points]  # type: ignore[attr-defined]
            losses = iter(self._values(places))
            return [[next(losses) for _ in asked.points] for _, asked in questions]
        found: list[list[Any] | Exception] = []
        for one, asked in questions:
            assert isinstance(one, MotionObjective)
            try:
                found.append([one._answer(point, asked.want, asked.width) for point in asked.points])
            except (InputError, SimulationError) as error:
                found.append(error if isinstance(error, SimulationError) else SimulationError(str(error)))
        return found

    def _answer(self, point: Any, want: str, width: float | None) -> Any:
        if want == "curvature":
            linear = self.linearise(point, width)
            return linear.half, linear.curvature
        if want == "residuals":
            return self._residuals(point.kept[0].detach() if isinstance(point, Evaluation) else point)
        if want == "value":
            return self._try(point)
        if want == "gradient":
            return self._differentiate(point)
        raise InputError(
            "measured motion has too many residuals for a gradient of each; leave out the optimiser's key each"
        )

    def _full(self, z: Tensor) -> Tensor:
        return z if self.tie is None else self.tie.expand(z)

    def _rows(self, group: ClipGroup, full: Tensor) -> Tensor:
        values = {**self.known, **self.layout.decode(full)}
        return self.scene.residuals(group, values, self.frames, self.flight)

    def _rows_at(self, group: ClipGroup, places: Tensor) -> Tensor:
        """Return a group's rows (places, n, frames, numbers) at full vectors (places, size), simulated as one batch."""
        with torch.no_grad(), self.stopwatch.timing("simulate"):
            if len(places) == 1:
                return self._rows(group, places[0])[None]
            try:
                return torch.vmap(lambda full: self._rows(group, full), chunk_size=MOST_PLACES)(places)
            except (BatchError, SimulationError):  # run one by one, for single results or a single error
                return torch.stack([self._rows(group, full) for full in places])

    def _values(self, places: Sequence[Tensor]) -> list[Evaluation]:
        """Return the losses at full vectors."""
        try:
            total = [0.0] * len(places)
            for group in self.scene.groups:
                for i, rows in enumerate(self._rows_at(group, torch.stack(list(places)))):
                    total[i] += float(self.loss.weigh(rows)[0].sum())
        except (InputError, SimulationError) as error:  # for example, impossible inertias
            if len(places) == 1:
                return [Evaluation(math.inf, None, str(error))]
            return [self._values([place])[0] for place in places]
        return [_evaluation(each / len(self.scene.clips)) for each in total]

    def _try(self, z: Tensor) -> Evaluation:
        """Evaluate the loss at ``z``, ready to be differentiated."""
        point = z.detach().clone().requires_grad_(True)
        try:
            full = self._full(point)
            with self.stopwatch.timing("simulate"):
                parts = [self.loss.weigh(self._rows(group, full))[0].sum() for group in self.scene.groups]
        except (InputError, SimulationError) as error:
            return Evaluation(math.inf, None, str(error))
        loss = torch.stack(parts).sum() / len(self.scene.clips)
        seen = _evaluation(float(loss.detach()))
        return replace(seen, kept=(point, loss)) if seen.finite else seen

    def _differentiate(self, seen: Evaluation) -> Evaluation:
        point, loss = seen.kept
        with self.stopwatch.timing("simulate backward"):
            (gradient,) = torch.autograd.grad(loss, point)
        finite = bool(gradient.isfinite().all())
        return replace(seen, gradient=gradient) if finite else Evaluation(math.inf, None, "the gradient is not finite")

    def _residuals(self, z: Tensor) -> Tensor:
        """Return the residuals (numbers,), whose mean square is the loss."""
        parts = []
        for group in self.scene.groups:
            (rows,) = self._rows_at(group, self._full(z)[None])
            parts.append((rows * self.loss.weigh(rows)[2]).reshape(-1))
        found = torch.cat(parts)
        return found * math.sqrt(found.numel() / len(self.scene.clips))

    def own_index(self, z: Tensor) -> Tensor:
        """Return the positions of each clip's own unknowns in a vector.

        Args:
            z: The vector.

        Returns:
            (clips, k), indices behind those of the shared unknowns.
        """
        clips = len(self.scene.clips)
        widths = [slot.shape[1] for slot in self.layout.slots if slot.name.startswith(START)]
        first, parts = z.numel() - clips * sum(widths), [torch.zeros(clips, 0, dtype=torch.long)]
        for width in widths:
            parts.append(first + torch.arange(clips * width).reshape(clips, width))
            first += clips * width
        return torch.cat(parts, dim=1)

    def linearise(self, z: Tensor, width: float | None = None, blocks: int = 1) -> LinearisedClips:
        """Compute the normal equations at ``z`` by central differences.

        Args:
            z: (n,), the vector.
            width: Step of the differences, in natural changes. Over many impacts, small steps resolve the chaos in the
                motion.
            blocks: Number of parts of each clip, of equally many frames, whose gradients are told apart.

        Returns:
            The normal equations.
        """
        h, index = width or WIDTH, self.own_index(z)
        clips, k = index.shape
        m = z.numel() - index.numel()
        ways = torch.zeros(m + k, z.numel(), dtype=z.dtype)
        ways[:m, :m] = torch.eye(m, dtype=z.dtype)
        for j in range(k):
            ways[m + j, index[:, j]] = 1.0
        places = torch.stack([self._full(place) for place in torch.cat([z + h * ways, z - h * ways])])
        here = self._full(z)[None]
        bend = torch.zeros(clips, m + k, m + k, dtype=z.dtype)
        pull = torch.zeros(clips, blocks, m + k, dtype=z.dtype)
        for group in self.scene.groups:
            (rows,) = self._rows_at(group, here)
            weight = self.loss.weigh(rows)[1]
            ahead, behind = self._rows_at(group, places).chunk(2)
            slopes, weighted = (ahead - behind) * weight / (2.0 * h), rows * weight
            flat = slopes.flatten(2).permute(1, 2, 0)
            bend[group.rows] = flat.mT @ flat / clips
            for b, (part, left) in enumerate(
                zip(slopes.tensor_split(blocks, dim=2), weighted.tensor_split(blocks, dim=1), strict=True)
            ):
                pull[group.rows, b] = torch.einsum("jcfi,cfi->cj", part, left) / clips
        half = torch.zeros_like(z)
        half[:m], half[index] = pull[..., :m].sum(dim=(0, 1)), pull[..., m:].sum(dim=1)
        arrow = Arrow(bend[:, :m, :m].sum(dim=0), bend[:, :m, m:], bend[:, m:, m:], index)
        return LinearisedClips(half, arrow, pull[..., :m], pull[..., m:])


def _evaluation(loss: float) -> Evaluation:
    return Evaluation(loss) if math.isfinite(loss) else Evaluation(math.inf, None, "the loss is not finite")
