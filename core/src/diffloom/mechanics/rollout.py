"""Whole rollouts as one autograd node, with the memory policy of the caller."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.interfaces import Checkpointed, Gradient, NoGradient, StoreAll
from diffloom.mechanics.state_memory import states_like
from diffloom.mechanics.stepper import FrameCotangents, Segment, Stepper

#: When nothing is kept, states of a segment take at most this many bytes, to stay in the processor's cache, but the
#: segment has at least so many steps that entering and leaving compiled code does not count.
UNKEPT_BYTES = 1 << 17
UNKEPT_SEGMENT = 64

MakeStepper = Callable[[Sequence[Tensor], Sequence[bool]], Stepper]


def segment_length(gradient: Gradient, steps: int, state_bytes: int) -> int:
    """Steps per segment under a policy. With segments of s steps, steps / s + s states are held at once."""
    if isinstance(gradient, StoreAll) or steps == 0:
        return max(steps, 1)
    if isinstance(gradient, NoGradient):
        return min(steps, max(UNKEPT_SEGMENT, UNKEPT_BYTES // max(state_bytes, 1)))
    if gradient.segment is not None:
        return min(gradient.segment, steps)
    best = max(1, math.isqrt(steps))
    if gradient.memory is None:
        return best
    states = gradient.memory // max(state_bytes, 1)
    if states >= steps + 1:
        return steps
    # The largest s with steps / s + s + 1 <= states; the square root is the least memory there is.
    discriminant = (states - 1) ** 2 - 4 * steps
    if discriminant <= 0:
        return best
    return max(best, min(steps, int(0.5 * ((states - 1) + math.sqrt(discriminant)))))


def state_bytes(q: Tensor, u: Tensor) -> int:
    """Memory of one state."""
    return (q.numel() + u.numel()) * q.element_size()


class Plan:
    """What to run: steps, which states to save, and how to keep the rest."""

    def __init__(self, make: MakeStepper, steps: int, save: tuple[int, ...], gradient: Gradient) -> None:
        self.make, self.steps, self.save, self.gradient = make, steps, save, gradient

    def segments(self, state_bytes: int) -> list[tuple[int, int]]:
        """(first step, number of steps) of each segment."""
        length = segment_length(self.gradient, self.steps, state_bytes)
        if isinstance(self.gradient, NoGradient):
            return leaps(self.steps, self.save, length)
        return [(k, min(length, self.steps - k)) for k in range(0, self.steps, length)]


def leaps(steps: int, save: tuple[int, ...], length: int) -> list[tuple[int, int]]:
    """Segments when nothing is kept: from one saved state to the next where they are far apart, else of ``length``."""
    found, k = [], 0
    stops = iter((*(s for s in save if 0 < s < steps), steps))
    stop = next(stops)
    while k < steps:
        while stop <= k:
            stop = next(stops)
        end = stop if stop - k > length else min(k + length, steps)
        found.append((k, end - k))
        k = end
    return found


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, q: Tensor, u: Tensor, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        needed = [t.requires_grad for t in tensors] if not isinstance(plan.gradient, NoGradient) else []
        stepper = plan.make(tensors, needed)
        segments = plan.segments(state_bytes(q, u))
        frames_q = q.new_empty((len(plan.save), *q.shape))
        frames_u = u.new_empty((len(plan.save), *u.shape))
        kept_q, kept_u = _run(stepper, plan, segments, q.detach(), u.detach(), frames_q, frames_u)
        ctx.plan, ctx.segments = plan, segments
        ctx.stepper = stepper if needed and stepper.keeps_nothing else None
        ctx.save_for_backward(q, u, kept_q, kept_u, *tensors)
        return frames_q, frames_u

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_frames_q: Tensor, adj_frames_u: Tensor) -> tuple[Any, ...]:
        plan: Plan = ctx.plan
        q, u, kept_q, kept_u, *tensors = ctx.saved_tensors
        stepper = ctx.stepper or plan.make(tensors, ctx.needs_input_grad[3:])
        ctx.stepper = None  # it sums up gradients: once
        of_step = np.full(plan.steps + 1, -1, np.int32)
        of_step[list(plan.save)] = np.arange(len(plan.save))
        frames = FrameCotangents(
            torch.from_numpy(of_step).to(q.device), adj_frames_q.contiguous(), adj_frames_u.contiguous()
        )
        adj_q, adj_u = torch.zeros_like(q), torch.zeros_like(u)
        if plan.save and plan.save[-1] == plan.steps:
            adj_q += frames.q[-1]
            adj_u += frames.u[-1]
        if plan.steps:
            _run_back(stepper, plan, ctx.segments, kept_q, kept_u, frames, adj_q, adj_u)
        return (None, adj_q, adj_u, *stepper.gradients())


def _run(
    stepper: Stepper, plan: Plan, segments: list[tuple[int, int]], q: Tensor, u: Tensor, out_q: Tensor, out_u: Tensor
) -> tuple[Tensor, Tensor]:
    """Run all segments, copy frames out, and return the kept states: all of them, or the start of each segment."""
    everything = isinstance(plan.gradient, StoreAll)
    length = segment_length(plan.gradient, plan.steps, state_bytes(q, u))
    longest = min(length, max((n for _, n in segments), default=0))
    rows = plan.steps + 1 if everything else longest + 1
    hold_q, hold_u = states_like(q, rows), states_like(u, rows)
    starts = isinstance(plan.gradient, Checkpointed)
    kept_q = q.new_empty((len(segments) if starts else 0, *q.shape))
    kept_u = u.new_empty((kept_q.shape[0], *u.shape))
    hold_q[0], hold_u[0] = q, u
    _copy_frames(plan, 0, 0, hold_q, hold_u, out_q, out_u)
    for number, (k0, count) in enumerate(segments):
        at = k0 if everything else 0
        rows = count + 1 if count <= longest else 2
        part_q, part_u = hold_q[at : at + rows], hold_u[at : at + rows]
        if starts:
            kept_q[number], kept_u[number] = part_q[0], part_u[0]
        part = Segment(k0, part_q, part_u, count)
        stepper.advance(part)
        first = k0 + 1 if rows > count else k0 + count
        since = part.row(first - k0)
        _copy_frames(plan, first, k0 + count, part_q[since:], part_u[since:], out_q, out_u)
        if not everything and (end := part.row(count)):
            hold_q[0], hold_u[0] = part_q[end], part_u[end]
    return (hold_q, hold_u) if everything else (kept_q, kept_u)


def _copy_frames(plan: Plan, first: int, last: int, q: Tensor, u: Tensor, out_q: Tensor, out_u: Tensor) -> None:
    """Copy the saved ones of the states first..last, the rows of q and u."""
    here = slice(bisect_left(plan.save, first), bisect_right(plan.save, last))
    for frame in range(here.start, here.stop):
        out_q[frame], out_u[frame] = q[plan.save[frame] - first], u[plan.save[frame] - first]


def _run_back(
    stepper: Stepper,
    plan: Plan,
    segments: list[tuple[int, int]],
    kept_q: Tensor,
    kept_u: Tensor,
    frames: FrameCotangents,
    adj_q: Tensor,
    adj_u: Tensor,
) -> None:
    """Pull the cotangent back through all segments, recomputing their states where only the starts were kept."""
    if isinstance(plan.gradient, StoreAll):
        stepper.pull_back(Segment(0, kept_q, kept_u), frames, adj_q, adj_u)
        return
    longest = max(n for _, n in segments)
    hold_q, hold_u = states_like(adj_q, longest + 1), states_like(adj_u, longest + 1)
    for number, (k0, count) in reversed(list(enumerate(segments))):
        part = Segment(k0, hold_q[: count + 1], hold_u[: count + 1])
        part.q[0], part.u[0] = kept_q[number], kept_u[number]
        stepper.advance(part)
        stepper.pull_back(part, frames, adj_q, adj_u)


def run_rollout(plan: Plan, q: Tensor, u: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The saved states (frames, nodes, dq) and (frames, nodes, du), differentiable in q, u and ``tensors``."""
    if isinstance(plan.gradient, NoGradient):
        with torch.no_grad():
            result: tuple[Tensor, Tensor] = _Rollout.apply(plan, q, u, *tensors)  # type: ignore[no-untyped-call]
        return result
    result = _Rollout.apply(plan, q, u, *tensors)  # type: ignore[no-untyped-call]
    return result
