"""Comparisons that checks are made of: states, tensors, gradients, refusals, and copies of settings."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError, State, Trajectory
from diffloom_testing.gradients import GradientComparison, compare_gradient
from diffloom_testing.results import Failure, Skip, count_comparisons, require


def flatten_coordinates(found: State | Trajectory) -> Tensor:
    """Return all coordinates of all node sets in one row."""
    return torch.cat([q.reshape(-1) for q, _ in found.sets.values()])


def flatten_velocities(found: State | Trajectory) -> Tensor:
    """Return all velocities of all node sets in one row."""
    return torch.cat([u.reshape(-1) for _, u in found.sets.values()])


def flatten_state(found: State | Trajectory) -> Tensor:
    """Return all coordinates, then all velocities, then all internal variables, in one row."""
    memory = [value.reshape(-1) for value in found.memory.values()]
    return torch.cat([flatten_coordinates(found), flatten_velocities(found), *memory])


def map_node_sets(state: State, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> State:
    """Return a state with ``change(q, u)`` applied to every node set."""
    new = {name: change(q, u) for name, (q, u) in state.sets.items()}
    return State({k: q for k, (q, _) in new.items()}, {k: u for k, (_, u) in new.items()}, state.time, state.memory)


def as_trajectory(state: State) -> Trajectory:
    """Return the trajectory of a single state, at time 0."""
    first = next(iter(state.sets.values()))[0]
    q, u = ({name: pair[k][None] for name, pair in state.sets.items()} for k in (0, 1))
    memory = {name: value[None] for name, value in state.memory.items()}
    return Trajectory(q, u, torch.zeros(1, dtype=first.dtype), memory=memory)


def unflatten_state(like: State, q: Tensor, u: Tensor) -> State:
    """Return a state with the node sets of ``like``, coordinates from the row q and velocities from the row u."""
    return State(_split(like, q, 0), _split(like, u, 1), like.time, like.memory)


def unflatten_trajectory(like: Trajectory, q: Tensor) -> Trajectory:
    """Return a trajectory with the node sets and velocities of ``like`` and coordinates from the row q."""
    return Trajectory(_split(like, q, 0), {name: u for name, (_, u) in like.sets.items()}, like.times,
                      memory=like.memory)  # fmt: skip


def _split(like: State | Trajectory, row: Tensor, which: int) -> dict[str, Tensor]:
    """Return the part of a row that belongs to each node set; ``which`` is 0 for coordinates and 1 for velocities."""
    shapes = {name: pair[which].shape for name, pair in like.sets.items()}
    parts = row.split([shape.numel() for shape in shapes.values()])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


__all__ = [
    "STEPS",
    "describe_worst",
    "largest_difference",
    "require_equal_copies",
    "require_finite",
    "require_frozen",
    "require_matching_gradients",
    "require_refusal",
    "require_same_bits",
]  # fmt: skip

#: Relative lengths of finite differences, of which the best counts: long ones may cross a kink (a contact that begins),
#: and rounding hides short ones. A wrong gradient agrees with none of them.
STEPS = (1e-5, 1e-6, 1e-4, 1e-7, 1e-3)


def require_matching_gradients(
    function: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    *,
    tolerance: float,
    steps: Sequence[float] = STEPS,
    directions: int = 2,
) -> list[GradientComparison]:
    """Compare directional derivatives by autograd with finite differences.

    Args:
        function: Function of the inputs; returns a scalar or a tensor.
        inputs: Values in float64 at which the derivatives are taken.
        tolerance: Largest relative error.
        steps: Lengths of the differences relative to the largest entry of an input; the best of them counts.
        directions: Random directions for each input that has several entries.

    Returns:
        The comparisons, ``directions`` for each input.

    Raises:
        Failure: The derivatives disagree; the message names every wrong input.
    """
    best: list[GradientComparison] | None = None
    for step in steps:
        found = compare_gradient(function, inputs, step=step, directions=directions)
        best = found if best is None else [min(pair, key=_badness) for pair in zip(best, found, strict=True)]
        if all(c.error <= tolerance for c in best):
            return _count_nonzero(best)
    assert best is not None
    # The longest step decides which derivatives vanish, because rounding hides least there.
    longest = compare_gradient(function, inputs, step=max(steps), directions=directions)
    best = [quiet if quiet.silent else c for c, quiet in zip(best, longest, strict=True)]
    wrong = [c for c in best if not (c.silent or c.error <= tolerance)]
    if not wrong:
        return _count_nonzero(best)
    raise Failure(
        "; ".join(
            f"d/d {c.name}: the gradient gives {c.autograd:.6g}, differences {c.differences:.6g} "
            f"(relative {c.error:.1e}, allowed {tolerance:g})"
            for c in wrong
        )
    )


def describe_worst(comparisons: Sequence[GradientComparison]) -> str:
    """Return the largest relative error as a sentence for the note of a result.

    Args:
        comparisons: Result of require_matching_gradients.

    Returns:
        The sentence.

    Raises:
        Skip: All derivatives vanish, so nothing was compared.
    """
    felt = [c.error for c in comparisons if not c.silent]
    if not felt:
        names = ", ".join(dict.fromkeys(c.name for c in comparisons)) or "anything"
        raise Skip(f"nothing was compared: the result does not depend on {names}, and the gradient is zero too")
    part = f" in {len(felt)} of {len(comparisons)} directions" if len(felt) < len(comparisons) else ""
    return f"worst relative error {max(felt):.1e}{part}"


def _count_nonzero(comparisons: list[GradientComparison]) -> list[GradientComparison]:
    """Count the comparisons that do not vanish, and return all."""
    count_comparisons(sum(not c.silent for c in comparisons))
    return comparisons


def _badness(found: GradientComparison) -> float:
    """Return the error as a key for sorting, infinite for NaN."""
    return found.error if found.error == found.error else float("inf")


def largest_difference(a: Tensor, b: Tensor) -> float:
    """Return max |a - b|; infinity if entries differ and one is not finite.

    Args:
        a: A tensor.
        b: A tensor of the same shape.

    Returns:
        The largest difference; 0 for equal bits.

    Raises:
        Failure: The shapes differ.
        Skip: The tensors have no entries.
    """
    if a.shape != b.shape:
        raise Failure(f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
    if not a.numel():
        raise Skip("nothing was compared: the tensors have no entries")
    if torch.equal(a, b):
        return 0.0
    difference = float((a.detach().double() - b.detach().double()).abs().max())
    return difference if difference == difference else float("inf")


def require_same_bits(what: str, a: Tensor, b: Tensor) -> None:
    """Raise Failure unless two tensors are equal bit for bit.

    Args:
        what: Plural noun for the message, such as "two runs".
        a: A tensor.
        b: A tensor of the same shape.
    """
    count_comparisons(int(a.numel() > 0))
    if not torch.equal(a.detach(), b.detach()):
        raise Failure(f"{what} differ by up to {largest_difference(a, b):.3g}; expected the same bits")


def require_finite(what: str, tensor: Tensor) -> Tensor:
    """Return ``tensor``; raise Failure if it holds NaN or infinity.

    Args:
        what: Noun for the message.
        tensor: Any tensor.

    Returns:
        ``tensor`` itself.
    """
    count_comparisons(int(tensor.numel() > 0))
    bad = ~torch.isfinite(tensor.detach())
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise Failure(f"{what} holds {int(bad.sum())} values that are not finite, the first at {where}")
    return tensor


def require_refusal(what: str, attempt: Callable[[], object], *words: str) -> None:
    """Raise Failure unless an action raises InputError with a message that holds all ``words``.

    Args:
        what: Noun for the message.
        attempt: The action.
        words: Words that a useful message names, such as the parameter.
    """
    try:
        attempt()
    except InputError as error:
        count_comparisons()
        missing = [word for word in words if word not in str(error)]
        require(not missing, f"{what} is refused, but the message does not name {missing}: {error}")
        return
    except Exception as error:
        raise Failure(f"{what} raises {type(error).__name__} ({error}); expected InputError") from error
    raise Failure(f"{what} is accepted; expected InputError")


def require_frozen(found: Any, interface: type) -> None:
    """Raise Failure unless ``found`` is a frozen dataclass that derives from ``interface``.

    Args:
        found: Object under test.
        interface: Abstract class of ``diffloom.interfaces`` or of a plugin.
    """
    kind = type(found).__name__
    require(isinstance(found, interface), f"{kind} does not derive from {interface.__module__}.{interface.__name__}")
    options = getattr(type(found), "__dataclass_params__", None)
    require(options is not None and options.frozen, f"{kind} is not a frozen dataclass")
    require(dataclasses.replace(found) == found, f"two objects {kind} with the same settings are not equal")


def require_equal_copies(found: Any) -> None:
    """Raise Failure unless a pickled copy and a deep copy of ``found`` equal it.

    Args:
        found: Object under test.
    """
    kind = type(found).__name__
    require(pickle.loads(pickle.dumps(found)) == found, f"a pickled {kind} is not equal to the original")
    require(copy.deepcopy(found) == found, f"a copied {kind} is not equal to the original")
