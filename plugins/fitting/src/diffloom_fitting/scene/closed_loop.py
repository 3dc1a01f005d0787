"""Closed-loop rollouts: a differentiable loop of short rollouts between two observations of a policy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diffloom.interfaces import (
    Checkpointed,
    Control,
    Gradient,
    NoGradient,
    State,
    StoreAll,
    Trajectory,
    complete_memory,
)
from diffloom_fitting.scene.policy import shape_rows, update_memory

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene

Values = Mapping[str, Tensor]
Past = tuple[Tensor, ...]  # earlier observations that the module still receives


@dataclass(frozen=True)
class ClosedLoop:
    """Closed loop over steps 0 to ``save[-1]`` of a scene whose policy observes.

    Args:
        scene: The scene.
        save: Increasing step counts to save.
        gradient: ``StoreAll`` keeps everything for the backward pass. ``Checkpointed`` keeps the states between
            segments (of about the square root of the number of observations unless ``segment`` says how many steps) and
            runs each segment again. ``NoGradient`` keeps nothing.
    """

    scene: Scene
    save: tuple[int, ...]
    gradient: Gradient

    def run(self, values: Values) -> tuple[Trajectory, Control]:
        """Return the saved states, and the control of every step."""
        model = self.scene.model
        first = complete_memory(model.initial_state(self.scene.params_with(values)), model.memory, model.axes)
        states = {0: first} if self.save[0] == 0 else {}
        rows: list[Tensor] = []
        past: Past = ()
        state = first
        for begin, end in self._segments():
            saved, row, state, past = self._segment(values, (state, past), begin, end)
            states |= saved
            rows.append(row)
        policy = self.scene.policy
        assert policy is not None
        made = Control({policy.drives: torch.cat(rows)} if rows else {})
        kept = [states[step] for step in self.save]
        names = first.names
        return Trajectory(
            {name: torch.stack([kept_state.sets[name][0] for kept_state in kept]) for name in names},
            {name: torch.stack([kept_state.sets[name][1] for kept_state in kept]) for name in names},
            torch.tensor([step * self.scene.dt for step in self.save], dtype=torch.float64),
            memory={name: torch.stack([kept_state.memory[name] for kept_state in kept]) for name in first.memory},
        ), made

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Yield the first step of each segment and the one after its last; observations fall on the beginning of
        segments.
        """
        assert self.scene.policy is not None
        every, total = self.scene.policy.every, self.save[-1]
        count = math.ceil(total / every)
        share = count
        if isinstance(self.gradient, Checkpointed):
            asked = self.gradient.segment
            share = math.isqrt(max(1, count - 1)) + 1 if asked is None else max(1, asked // every)
        length = max(1, share) * every
        return ((begin, min(begin + length, total)) for begin in range(0, total, length))

    def _segment(
        self, values: Values, at: tuple[State, Past], begin: int, end: int
    ) -> tuple[dict[int, State], Tensor, State, Past]:
        """Run one segment; return saved states by step, rows of the control, the last state, and the past."""
        again = isinstance(self.gradient, Checkpointed) and torch.is_grad_enabled()
        if not again:
            return self._walk(values, at, begin, end, NoGradient() if self._forward_only else StoreAll())
        state, before = at
        names, sets = list(values), (state.names, tuple(state.memory))
        steps, size = self._list_saved(begin, end), 2 * len(sets[0]) + len(sets[1])

        def walk(tensors: Sequence[Tensor], gradient: Gradient) -> tuple[Tensor, ...]:
            given = dict(zip(names, tensors[: len(names)], strict=True))
            rest = tensors[len(names) :]
            start = _make_state(sets, rest[:size], state.time)
            saved, rows, _, past = self._walk(given, (start, tuple(rest[size:])), begin, end, gradient)
            return (rows, *(t for step in steps for t in _flat(saved[step])), *past)

        rows, *flat = _Segment.apply(walk, *values.values(), *_flat(state), *before)  # type: ignore[no-untyped-call]
        dt = self.scene.dt
        saved = {s: _make_state(sets, flat[size * k : size * (k + 1)], s * dt) for k, s in enumerate(steps)}
        return saved, rows, saved[end], tuple(flat[size * len(steps) :])

    def _list_saved(self, begin: int, end: int) -> list[int]:
        """Return the steps of a segment whose states are outputs."""
        return sorted({step for step in self.save if begin < step <= end} | {end})

    @property
    def _forward_only(self) -> bool:
        return isinstance(self.gradient, NoGradient) or not torch.is_grad_enabled()

    def _walk(
        self, values: Values, at: tuple[State, Past], begin: int, end: int, gradient: Gradient
    ) -> tuple[dict[int, State], Tensor, State, Past]:
        """Simulate from observation to observation."""
        from diffloom import simulate

        scene, policy = self.scene, self.scene.policy
        assert policy is not None
        assert policy.observe is not None
        params, given = scene.params_with(values), scene.get_given_control(values)
        kept = self._list_saved(begin, end)
        saved: dict[int, State] = {}
        rows = []
        state, past = at
        for now in range(begin, end, policy.every):
            steps = min(policy.every, end - now)
            seen = policy.observe.observe(scene, state, params, values)
            shown, past = update_memory(past, seen, policy.observe.count)
            row = shape_rows(scene.model, policy.drives, policy.act(values, shown))[0]
            control = {name: value[now : now + steps] for name, value in given.items()}
            control[policy.drives] = row.expand(steps, *row.shape)
            inside = sorted({step - now for step in kept if now < step <= now + steps} | {steps})
            path = simulate(
                scene.model, params, dt=scene.dt, steps=steps, save=inside, integrator=scene.integrator,
                gradient=gradient, control=Control({k: v.to(scene.device) for k, v in control.items()}), state=state,
            )  # fmt: skip
            saved |= {now + step: path[k] for k, step in enumerate(inside) if now + step in kept}
            rows.append(control[policy.drives])
            state = path.last
        return saved, torch.cat(rows), state, past


def _flat(state: State) -> list[Tensor]:
    return [*(part for pair in state.sets.values() for part in pair), *state.memory.values()]


def _make_state(names: tuple[Sequence[str], Sequence[str]], tensors: Sequence[Tensor], time: float) -> State:
    """Return a state from its tensors. names: of the node sets, and of the internal variables."""
    sets, kept = names
    flow, memory = tensors[: 2 * len(sets)], tensors[2 * len(sets) :]
    q, u = (dict(zip(sets, flow[k::2], strict=True)) for k in (0, 1))
    return State(q, u, time, dict(zip(kept, memory, strict=True)))


class _Segment(torch.autograd.Function):
    """Checkpointed segment: forward without a graph; backward runs it again with one, from its inputs."""

    @staticmethod
    def forward(ctx: Any, walk: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.walk = walk
        ctx.save_for_backward(*tensors)
        with torch.no_grad():
            # Copies, because a saved state may be an input tensor, which a Function must not return.
            return tuple(t.clone() for t in walk(tensors, NoGradient()))

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        wanted = ctx.needs_input_grad[1:]
        given = [t.detach().requires_grad_(need) for t, need in zip(ctx.saved_tensors, wanted, strict=True)]
        with torch.enable_grad():
            made = ctx.walk(given, StoreAll())
        live = [(out, adj) for out, adj in zip(made, cotangents, strict=True) if out.requires_grad]
        sought = [t for t, need in zip(given, wanted, strict=True) if need]
        outs, adjoints = [out for out, _ in live], [adj for _, adj in live]
        found = iter(torch.autograd.grad(outs, sought, adjoints, allow_unused=True))
        return None, *(next(found) if need else None for need in wanted)
