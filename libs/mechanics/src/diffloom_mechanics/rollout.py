"""Whole rollouts as one autograd node, under the memory policy of the caller."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import Checkpointed, Gradient, NoGradient, StoreAll
from diffloom.transforms import refuse_many_cotangents, refuse_second_derivatives, suspend_transforms
from diffloom_kernels import pool
from diffloom_mechanics.stepper import FrameCotangents, MakeStepper, Segment, Stepper, Tensors

#: Most bytes of a segment's states when nothing is kept, so that they stay in the processor's cache; and the least
#: number of its steps, so that the time to enter and leave compiled code does not count.
UNKEPT_BYTES = 1 << 17
UNKEPT_SEGMENT = 64


def segment_length(gradient: Gradient, steps: int, state_bytes: int) -> int:
    """Return the steps per segment under a policy. Segments of s steps hold steps / s + s states at once."""
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


def state_bytes(state: Tensors) -> int:
    """Return the memory of one state [bytes]."""
    return sum(t.numel() * t.element_size() for t in state)


#: Function that raises with the reason.
GradientExplainer = Callable[["BadGradient"], NoReturn]


class RolloutPlan:
    """Steps to run, states to save, and the policy for keeping the rest."""

    def __init__(
        self, make: MakeStepper, steps: int, save: tuple[int, ...], gradient: Gradient, explain: GradientExplainer
    ) -> None:
        """Make a plan.

        Args:
            make: Function that makes the stepper.
            steps: Number of steps.
            save: Steps whose states are saved.
            gradient: Memory policy.
            explain: Function that raises with the reason when gradients are not finite.
        """
        self.make, self.steps, self.save, self.gradient, self.explain = make, steps, save, gradient, explain

    def segments(self, state_bytes: int) -> list[tuple[int, int]]:
        """Return first step and number of steps of each segment."""
        length = segment_length(self.gradient, self.steps, state_bytes)
        if isinstance(self.gradient, NoGradient):
            return plan_leaps(self.steps, self.save, length)
        return [(k, min(length, self.steps - k)) for k in range(0, self.steps, length)]


def plan_leaps(steps: int, save: tuple[int, ...], length: int) -> list[tuple[int, int]]:
    """Return segments when nothing is kept: from one saved state to the next where these are far apart, else of
    ``length``.
    """
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
    """Autograd function from the flow (the q of all node sets and the memory of terms, then the u of all node sets),
    then all tensors, to the saved flow.

    ``split`` holds the number of tensors before u, and of all tensors of the flow.
    """

    @staticmethod
    def forward(ctx: Any, plan: RolloutPlan, split: tuple[int, int], *given: Tensor) -> Tensors:
        frames, kept, ctx.segments, stepper = _forward(plan, split, given)
        ctx.plan, ctx.split = plan, split
        ctx.stepper = stepper if stepper.keeps_nothing else None
        ctx.save_for_backward(*given, *kept)
        return frames

    @staticmethod
    def backward(ctx: Any, *adj_frames: Tensor) -> tuple[Any, ...]:
        refuse_many_cotangents(adj_frames)
        saved = ctx.saved_tensors  # read once: torch.utils.checkpoint hands them out once
        given, kept = saved[: -ctx.split[1]], saved[-ctx.split[1] :]
        with torch.no_grad():
            found = _backward(ctx, given, kept, adj_frames)
        return (None, None, *refuse_second_derivatives(found, (*given, *adj_frames)))


def _backward(ctx: Any, given: Tensors, kept: Tensors, adj_frames: Tensors) -> tuple[Tensor | None, ...]:
    """Return the cotangents of all inputs from inputs and kept states."""
    plan, (first, flow) = ctx.plan, ctx.split
    stepper = ctx.stepper or plan.make(given[flow:], ctx.needs_input_grad[2 + flow :])
    ctx.stepper = None  # it sums gradients, so it can be used once
    of_step = np.full(plan.steps + 1, -1, np.int32)
    of_step[list(plan.save)] = np.arange(len(plan.save))
    whole = tuple(t.contiguous() for t in adj_frames)
    frames = FrameCotangents(torch.from_numpy(of_step).to(given[0].device), whole[:first], whole[first:])
    adj = tuple(torch.zeros_like(t) for t in given[:flow])
    frames.inject(plan.steps, adj[:first], adj[first:])
    if plan.steps:
        _run_adjoint(stepper, plan, ctx.segments, kept, frames, adj)
    gradients = stepper.gradients()
    if not all(is_finite(t) for t in (*adj, *gradients) if t is not None):
        plan.explain(_find_bad_step(plan, ctx.segments, kept, frames, given))
    return (*adj, *gradients)


def _forward(
    plan: RolloutPlan, split: tuple[int, int], given: Tensors
) -> tuple[Tensors, Tensors, list[tuple[int, int]], Stepper]:
    """Return the saved frames, the kept states, the segments, and the stepper that ran them."""
    start, tensors = tuple(t.detach() for t in given[: split[1]]), given[split[1] :]
    needed = [t.requires_grad for t in tensors] if not isinstance(plan.gradient, NoGradient) else []
    stepper = plan.make(tensors, needed)
    segments = plan.segments(state_bytes(start))
    frames = tuple(t.new_empty((len(plan.save), *t.shape)) for t in start)
    return frames, _run(stepper, plan, segments, start, frames, split[0]), segments, stepper


def _run(
    stepper: Stepper, plan: RolloutPlan, segments: list[tuple[int, int]], start: Tensors, frames: Tensors, q: int
) -> Tensors:
    """Run all segments, copy frames out, and return the kept states: all of them, or the start of each segment.

    q: number of tensors before u.
    """
    everything = isinstance(plan.gradient, StoreAll)
    length = segment_length(plan.gradient, plan.steps, state_bytes(start))
    longest = min(length, max((n for _, n in segments), default=0))
    hold = tuple(pool.tensor((plan.steps + 1 if everything else longest + 1, *t.shape), t) for t in start)
    starts = isinstance(plan.gradient, Checkpointed)
    kept = tuple(t.new_empty((len(segments) if starts else 0, *t.shape)) for t in start)
    _copy(start, [t[0] for t in hold])
    _copy_frames(plan, 0, 0, hold, frames)
    for number, (k0, count) in enumerate(segments):
        at = k0 if everything else 0
        rows = count + 1 if count <= longest else 2
        part = tuple(t[at : at + rows] for t in hold)
        if starts:
            _copy([t[0] for t in part], [t[number] for t in kept])
        segment = Segment(k0, part[:q], part[q:], count)
        stepper.advance(segment)
        first = k0 + 1 if rows > count else k0 + count
        since = segment.row(first - k0)
        _copy_frames(plan, first, k0 + count, tuple(t[since:] for t in part), frames)
        if not everything and (end := segment.row(count)):
            _copy([t[end] for t in part], [t[0] for t in hold])
    return hold if everything else kept


def _copy(source: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    """Copy tensors one by one."""
    for a, b in zip(source, target, strict=True):
        b.copy_(a)


def _copy_frames(plan: RolloutPlan, first: int, last: int, states: Tensors, frames: Tensors) -> None:
    """Copy the saved states among those of steps first..last."""
    for frame in range(bisect_left(plan.save, first), bisect_right(plan.save, last)):
        _copy([t[plan.save[frame] - first] for t in states], [t[frame] for t in frames])


def _run_adjoint(
    stepper: Stepper,
    plan: RolloutPlan,
    segments: list[tuple[int, int]],
    kept: Tensors,
    frames: FrameCotangents,
    adj: Tensors,
) -> None:
    """Propagate the cotangent back through all segments, recomputing states where only the starts were kept."""
    first = len(frames.q)
    if isinstance(plan.gradient, StoreAll):
        stepper.advance_adjoint(Segment(0, kept[:first], kept[first:]), frames, adj[:first], adj[first:])
        return
    longest = max(n for _, n in segments)
    hold = tuple(pool.tensor((longest + 1, *t.shape), t) for t in adj)
    for number, (k0, count) in reversed(list(enumerate(segments))):
        part = tuple(t[: count + 1] for t in hold)
        _copy([t[number] for t in kept], [t[0] for t in part])
        segment = Segment(k0, part[:first], part[first:])
        stepper.advance(segment)
        stepper.advance_adjoint(segment, frames, adj[:first], adj[first:])


@dataclass(frozen=True)
class BadGradient:
    """Place where a backward pass stopped being finite.

    step: the step, from 0 on, whose initial state was ``state``; None if the cotangent of the saved frame ``frame`` was
    not finite already.
    """

    step: int | None
    state: Tensors
    frame: int = 0


def _find_bad_step(
    plan: RolloutPlan, segments: list[tuple[int, int]], kept: Tensors, frames: FrameCotangents, given: Tensors
) -> BadGradient:
    """Repeat a backward pass one step at a time, up to the first that is not finite."""
    first, flow = len(frames.q), len(frames.q) + len(frames.u)
    for frame in range(len(plan.save)):
        if not all(is_finite(t[frame]) for t in (*frames.q, *frames.u)):
            return BadGradient(None, (), frame)
    stepper = plan.make(given[flow:], [t.requires_grad for t in given[flow:]])
    adj = tuple(torch.zeros_like(t) for t in given[:flow])
    frames.inject(plan.steps, adj[:first], adj[first:])
    for number, (k0, count) in reversed(list(enumerate(segments))):
        if isinstance(plan.gradient, StoreAll):
            states = tuple(t[k0 : k0 + count + 1] for t in kept)
        else:
            states = tuple(t.new_empty((count + 1, *t.shape[1:])) for t in kept)
            _copy([t[number] for t in kept], [t[0] for t in states])
            stepper.advance(Segment(k0, states[:first], states[first:]))
        for j in range(count - 1, -1, -1):
            pair = tuple(t[j : j + 2] for t in states)
            part = Segment(k0 + j, pair[:first], pair[first:])
            stepper.advance_adjoint(part, frames, adj[:first], adj[first:])
            if not all(is_finite(t) for t in (*adj, *stepper.gradients()) if t is not None):
                return BadGradient(k0 + j, tuple(t[j] for t in states))
    return BadGradient(0, given[:flow])


def is_finite(value: Tensor) -> bool:
    """Return True if all numbers are finite. A finite sum proves it; only a sum that is not finite is looked into."""
    return math.isfinite(value.sum().item()) or bool(torch.isfinite(value).all())


def run_rollout(plan: RolloutPlan, q: Tensors, u: Tensors, tensors: Sequence[Tensor]) -> tuple[Tensors, Tensors]:
    """Return the saved states of each node set, (frames, nodes, dq) and (frames, nodes, du), differentiable in all
    inputs. The memory of terms follows the coordinates in q.
    """
    saved: Tensors
    split = (len(q), len(q) + len(u))
    with suspend_transforms():
        if isinstance(plan.gradient, NoGradient):
            with torch.no_grad():
                saved = _forward(plan, split, (*q, *u, *tensors))[0]
        else:
            saved = _Rollout.apply(plan, split, *q, *u, *tensors)  # type: ignore[no-untyped-call]
    return saved[: len(q)], saved[len(q) :]
