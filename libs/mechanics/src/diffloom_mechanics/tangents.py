"""Forward-mode derivatives of rollouts: the compiled pipelines run on dual numbers, several tangents at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import ONE_DERIVATIVE, suspend_transforms
from diffloom_kernels import BoundRecord
from diffloom_kernels.tangents import dual_type, tangents_of
from diffloom_mechanics.binding import Binding, CompiledSystem
from diffloom_mechanics.pipelines import ROLLOUTS, states
from diffloom_mechanics.records import States, Steps
from diffloom_mechanics.schemes import Tableau, TableauPoints
from diffloom_mechanics.stepper import Tensors

#: Tangents that run at once where there are several; each number is a program of its own.
MANY = 4


class DualArrays:
    """Arrays of dual numbers over the memory of tensors: tensors that share memory share their dual numbers.

    Args:
        count: Number of tangents.
    """

    def __init__(self, count: int) -> None:
        self.kind = dual_type(count)
        self._memory: dict[int, tuple[Tensor, NDArray[Any]]] = {}

    def make(self, value: Any, tangents: Sequence[Any]) -> Any:
        """Return a tensor, or a record of tensors, as dual numbers.

        Args:
            value: Tensor, record or other value; anything but floats is returned unchanged.
            tangents: For each tangent a value of the same structure.
        """
        if isinstance(value, Tensor):
            return self._array(value, tangents) if value.is_floating_point() else value
        if isinstance(value, tuple):
            entries = [self.make(entry, [t[k] for t in tangents]) for k, entry in enumerate(value)]
            return tuple(entries) if type(value) is tuple else type(value)(*entries)
        return value

    def _array(self, value: Tensor, tangents: Sequence[Tensor]) -> NDArray[Any]:
        """Return the dual numbers of one tensor, with its strides."""
        storage, size = value.untyped_storage(), self.kind.itemsize
        if storage.data_ptr() not in self._memory:
            made = np.zeros(max(1, storage.nbytes() // value.element_size()), self.kind)
            self._memory[storage.data_ptr()] = (value, made)  # holding the tensor keeps its address taken
        memory = self._memory[storage.data_ptr()][1]
        strides = tuple(size * s for s in value.stride())
        duals = np.ndarray(tuple(value.shape), self.kind, memory, size * int(value.storage_offset()), strides)
        duals["value"] = value.numpy()
        for k, tangent in enumerate(tangents):
            duals["tangents"][..., k] = tangent.numpy()
        return duals


@dataclass(frozen=True)
class DualRollout:
    """Rollout of an explicit scheme on dual numbers.

    Args:
        system: Node sets and compiled terms.
        scheme: Moves or a tableau.
        dt: Step length [s].
        save: Increasing step counts whose states are saved.
        split: Number of tensors of the flow before u, and of all its tensors.
    """

    system: CompiledSystem
    scheme: Any
    dt: float
    save: tuple[int, ...]
    split: tuple[int, int]

    def run(self, given: Tensors, tangents: Sequence[Tensors]) -> list[Tensors]:
        """Return the tangents of the saved states.

        Args:
            given: State and tensors.
            tangents: Tangents of these along each direction.

        Returns:
            Tangents of the saved states along each direction.
        """
        if given[0].dtype != torch.float64 or given[0].device.type != "cpu":
            raise InputError(
                f"simulate: got {given[0].dtype} on {given[0].device} in forward mode; expected float64 on the CPU"
            )
        width = 1 if len(tangents) == 1 else MANY
        found: list[Tensors] = []
        for start in range(0, len(tangents), width):
            part = list(tangents[start : start + width])
            rows = self._run(given, [*part, *[tuple(map(torch.zeros_like, given))] * (width - len(part))], width)
            for k in range(len(part)):
                found.append(tuple(torch.from_numpy(tangents_of(row)[..., k].copy()) for row in rows))
        return found

    def _run(self, given: Tensors, tangents: Sequence[Tensors], width: int) -> list[NDArray[Any]]:
        """Return the saved states as dual numbers."""
        duals, flow = DualArrays(width), self.split[1]
        record = self._record(given[flow:], [t[flow:] for t in tangents], duals)
        between = self._between(given[flow], duals, width)
        start = [duals.make(t.contiguous(), [x[k].contiguous() for x in tangents]) for k, t in enumerate(given[:flow])]
        saved = [np.zeros((len(self.save), *x.shape), duals.kind) for x in start]
        rows = [np.stack([x, x]) for x in start]
        states = States(tuple(rows[: self.split[0]]), tuple(rows[self.split[0] :]))
        step = 0
        for frame, stop in enumerate(self.save):
            if stop > step:
                self._advance(step, stop - step, states, between, record, given[flow])
                for row in rows:
                    row[0] = row[(stop - step) % 2]
                step = stop
            for target, row in zip(saved, rows, strict=True):
                target[frame] = row[0]
        return saved

    def _advance(self, first: int, count: int, rows: States, between: Any, record: Any, like: Tensor) -> None:
        """Run some steps in place."""
        pipeline = "tableau_rollout" if isinstance(self.scheme, Tableau) else "split_rollout"
        fixed = BoundRecord(self.scheme, like)
        ROLLOUTS.run(
            pipeline, Steps(count, first, self.dt), fixed, rows, BoundRecord(between), BoundRecord(record),
            target="serial", label=f"tangents of {self.system.label}",
        )  # fmt: skip

    def _record(self, tensors: Sequence[Tensor], tangents: Sequence[Sequence[Tensor]], duals: DualArrays) -> Any:
        """Return the arrays of the system as dual numbers; elements run one by one."""
        still = _without_constants(self.system)
        others = [Binding(still, [t.contiguous() for t in row], [False] * len(row)).record for row in tangents]
        made = duals.make(Binding(self.system, tensors, [False] * len(tensors)).record, others)
        return made._replace(elements=tuple(element._replace(lanes=False) for element in made.elements))

    def _between(self, like: Tensor, duals: DualArrays, width: int) -> Any:
        """Return memory for the states within a step."""
        if isinstance(self.scheme, Tableau):
            count = len(self.scheme.b)
            made: Any = TableauPoints(
                tuple(states(self.system, like) for _ in range(count - 1)),
                tuple(states(self.system, like) for _ in range(count)),
            )
        else:
            made = tuple(states(self.system, like) for _ in self.scheme[:-1])
        return duals.make(made, [made] * width)


def _without_constants(system: CompiledSystem) -> CompiledSystem:
    """Return a system whose constants are zero: they have no tangents."""

    def still(term: Any) -> Any:
        return replace(term, constants=tuple(np.zeros_like(c) if c.dtype.kind == "f" else c for c in term.constants))

    return replace(system, elements=tuple(map(still, system.elements)), nodes=tuple(map(still, system.nodes)))


class _WithTangents(torch.autograd.Function):
    """Autograd function of a rollout in forward mode."""

    @staticmethod
    def forward(rollout: DualRollout, primal: Any, *given: Tensor) -> Tensors:
        with torch.no_grad():
            found: Tensors = primal(tuple(t.detach() for t in given))
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Keep the inputs for the tangents."""
        ctx.rollout = inputs[0]
        ctx.save_for_forward(*inputs[2:])

    @staticmethod
    def jvp(ctx: Any, _rollout: Any, _primal: Any, *tangents: Tensor | None) -> Tensors:
        """Return the tangents of the saved states."""
        given = ctx.saved_tensors
        along = [torch.zeros_like(x) if t is None else t for x, t in zip(given, tangents, strict=True)]
        found: Tensors = _Tangents.apply(ctx.rollout, *given, *along)  # type: ignore[no-untyped-call]
        return found

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], rollout: DualRollout, primal: Any, *given: Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        """Run scenes one by one."""
        rows = [_scenes_first(t, dim, info.batch_size) for t, dim in zip(given, in_dims[2:], strict=True)]
        found = [_WithTangents.apply(rollout, primal, *[t[b] for t in rows]) for b in range(info.batch_size)]  # type: ignore[no-untyped-call]
        return tuple(map(torch.stack, zip(*found, strict=True))), (0,) * len(found[0])

    @staticmethod
    def backward(ctx: Any, *adj: Tensor) -> Any:
        raise InputError(ONE_DERIVATIVE)


class _Tangents(torch.autograd.Function):
    """Autograd function from state, tensors and their tangents to the tangents of the saved states."""

    @staticmethod
    def forward(rollout: DualRollout, *both: Tensor) -> Tensors:
        count = len(both) // 2
        return rollout.run(tuple(t.detach() for t in both[:count]), [tuple(t.detach() for t in both[count:])])[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Keep nothing: there are no second derivatives."""

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], rollout: DualRollout, *both: Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        """Run many tangents of one rollout at once, and several rollouts one by one."""
        count, dims = len(both) // 2, in_dims[1:]
        rows = [_scenes_first(t, dim, info.batch_size) for t, dim in zip(both, dims, strict=True)]
        if all(dim is None for dim in dims[:count]):
            with suspend_transforms():
                along = [tuple(t[b].detach() for t in rows[count:]) for b in range(info.batch_size)]
                found = rollout.run(tuple(t.detach() for t in both[:count]), along)
        else:
            found = [_Tangents.apply(rollout, *[t[b] for t in rows]) for b in range(info.batch_size)]  # type: ignore[no-untyped-call]
        return tuple(map(torch.stack, zip(*found, strict=True))), (0,) * len(found[0])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise InputError(ONE_DERIVATIVE)

    @staticmethod
    def backward(ctx: Any, *adj: Tensor) -> Any:
        raise InputError(ONE_DERIVATIVE)


def _scenes_first(value: Tensor, dim: int | None, scenes: int) -> Tensor:
    """Return a tensor with the batch as its first axis."""
    return value.expand(scenes, *value.shape) if dim is None else value.movedim(dim, 0)


def run_with_tangents(rollout: DualRollout, primal: Any, given: Tensors) -> Tensors:
    """Return the saved states with their tangents.

    Args:
        rollout: Rollout on dual numbers.
        primal: Function of state and tensors that returns the saved states.
        given: State and tensors, some of which have tangents.
    """
    found: Tensors = _WithTangents.apply(rollout, primal, *given)  # type: ignore[no-untyped-call]
    return found
