"""How checks compare: states of any number of node sets, tensors, refusals, and settings that are copied."""

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
    """All coordinates in a row."""
    return torch.cat([q.reshape(-1) for q, _ in found.sets.values()])


def flatten_velocities(found: State | Trajectory) -> Tensor:
    """All velocities in a row."""
    return torch.cat([u.reshape(-1) for _, u in found.sets.values()])


def flatten_state(found: State | Trajectory) -> Tensor:
    """All coordinates and velocities in a row."""
    return torch.cat([flatten_coordinates(found), flatten_velocities(found)])


def map_node_sets(state: State, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> State:
    """A state with q and u of every node set changed."""
    new = {name: change(q, u) for name, (q, u) in state.sets.items()}
    return State({k: q for k, (q, _) in new.items()}, {k: u for k, (_, u) in new.items()}, state.time)


def as_trajectory(state: State) -> Trajectory:
    """The trajectory of a single state."""
    first = next(iter(state.sets.values()))[0]
    q, u = ({name: pair[k][None] for name, pair in state.sets.items()} for k in (0, 1))
    return Trajectory(q, u, torch.zeros(1, dtype=first.dtype))


def unflatten_state(like: State, q: Tensor, u: Tensor) -> State:
    """Return a state with the node sets of ``like``, its coordinates in the row q and its velocities in the row u."""
    return State(_split(like, q, 0), _split(like, u, 1), like.time)


def unflatten_trajectory(like: Trajectory, q: Tensor) -> Trajectory:
    """A trajectory with the node sets and velocities of ``like`` and the coordinates in the row q."""
    return Trajectory(_split(like, q, 0), {name: u for name, (_, u) in like.sets.items()}, like.times)


def _split(like: State | Trajectory, row: Tensor, which: int) -> dict[str, Tensor]:
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

#: Differences are taken at several lengths and the best counts: long ones may cross a kink (a contact that sets in),
#: short ones drown in rounding. A wrong gradient agrees with none of them.
STEPS = (1e-5, 1e-6, 1e-4, 1e-7, 1e-3)


def require_matching_gradients(
    function: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    *,
    tolerance: float,
    steps: Sequence[float] = STEPS,
    directions: int = 2,
) -> list[GradientComparison]:
    """Directional derivatives by autograd and by differences; Failure names every input where they disagree."""
    best: list[GradientComparison] | None = None
    for step in steps:
        found = compare_gradient(function, inputs, step=step, directions=directions)
        best = found if best is None else [min(pair, key=_badness) for pair in zip(best, found, strict=True)]
        if all(c.error <= tolerance for c in best):
            return _counted(best)
    assert best is not None
    # Silence counts at the longest step, where rounding hides least.
    longest = compare_gradient(function, inputs, step=max(steps), directions=directions)
    best = [quiet if quiet.silent else c for c, quiet in zip(best, longest, strict=True)]
    wrong = [c for c in best if not (c.silent or c.error <= tolerance)]
    if not wrong:
        return _counted(best)
    raise Failure(
        "; ".join(
            f"d/d {c.name}: the gradient gives {c.autograd:.6g}, differences {c.differences:.6g} "
            f"(relative {c.error:.1e}, allowed {tolerance:g})"
            for c in wrong
        )
    )


def describe_worst(comparisons: Sequence[GradientComparison]) -> str:
    """The largest relative error, for a result's note; Skip when nothing was felt either way."""
    felt = [c.error for c in comparisons if not c.silent]
    if not felt:
        names = ", ".join(dict.fromkeys(c.name for c in comparisons)) or "anything"
        raise Skip(f"nothing was compared: the outcome does not depend on {names}, nor does its gradient say so")
    part = f" in {len(felt)} of {len(comparisons)} directions" if len(felt) < len(comparisons) else ""
    return f"worst relative error {max(felt):.1e}{part}"


def _counted(comparisons: list[GradientComparison]) -> list[GradientComparison]:
    count_comparisons(sum(not c.silent for c in comparisons))
    return comparisons


def _badness(found: GradientComparison) -> float:
    return found.error if found.error == found.error else float("inf")


def largest_difference(a: Tensor, b: Tensor) -> float:
    """max |a - b|; infinite where one is not finite and the other differs."""
    if a.shape != b.shape:
        raise Failure(f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
    if not a.numel():
        raise Skip("there is nothing to compare: it has no entries")
    if torch.equal(a, b):
        return 0.0
    difference = float((a.detach().double() - b.detach().double()).abs().max())
    return difference if difference == difference else float("inf")


def require_same_bits(what: str, a: Tensor, b: Tensor) -> None:
    """Failure unless two tensors are equal bit for bit."""
    count_comparisons(int(a.numel() > 0))
    if not torch.equal(a.detach(), b.detach()):
        raise Failure(f"{what} differ by up to {largest_difference(a, b):.3g}; expected the same bits")


def require_finite(what: str, tensor: Tensor) -> Tensor:
    """``tensor``, or Failure when it holds NaN or infinity."""
    count_comparisons(int(tensor.numel() > 0))
    bad = ~torch.isfinite(tensor.detach())
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise Failure(f"{what} holds {int(bad.sum())} values that are not finite, the first at {where}")
    return tensor


def require_refusal(what: str, attempt: Callable[[], object], *words: str) -> None:
    """Failure unless ``attempt`` raises InputError whose message holds all ``words``."""
    try:
        attempt()
    except InputError as error:
        count_comparisons()
        missing = [word for word in words if word not in str(error)]
        require(not missing, f"{what} is refused, but the message does not name {missing}: {error}")
        return
    except Exception as error:
        raise Failure(f"{what} raises {type(error).__name__} ({error}); expected InputError") from error
    raise Failure(f"{what} is taken without a word; expected InputError")


def require_frozen(found: Any, interface: type) -> None:
    """Failure unless ``found`` is a frozen dataclass that derives from ``interface``."""
    kind = type(found).__name__
    require(isinstance(found, interface), f"{kind} is no diffloom.interfaces.{interface.__name__}")
    options = getattr(type(found), "__dataclass_params__", None)
    require(options is not None and options.frozen, f"{kind} is not a frozen dataclass")
    require(dataclasses.replace(found) == found, f"two of {kind} with the same settings are not equal")


def require_equal_copies(found: Any) -> None:
    """Failure unless what comes out of pickle and of a deep copy equals ``found``."""
    kind = type(found).__name__
    require(pickle.loads(pickle.dumps(found)) == found, f"a pickled {kind} is not equal to the original")
    require(copy.deepcopy(found) == found, f"a copied {kind} is not equal to the original")
