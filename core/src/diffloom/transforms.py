"""What of diffloom runs under the transforms of ``torch.func``, in one place: the rest asks here.

Under ``vmap`` a tensor stands for one scene and carries all of them. What is checked at the door is checked of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._functorch.autograd_function import VmapInfo
from torch._functorch.pyfunctorch import (
    VmapInterpreter,
    retrieve_all_functorch_interpreters,
    retrieve_current_functorch_interpreter,
    temporarily_clear_interpreter_stack,
)
from torch.autograd import forward_ad

from diffloom.errors import BatchError, InputError, SimulationError

__all__ = [
    "REFUSED",
    "apply_vmap_rule",
    "explain_batch_errors",
    "is_mapped",
    "is_transformed",
    "is_transforming",
    "needs_gradient",
    "refuse_functionalize",
    "refuse_many_cotangents",
    "refuse_second_derivatives",
    "refuse_tangents",
    "suspend_transforms",
    "unwrap_values",
]

_functorch = torch._C._functorch

#: What is told where a rollout meets a transform that it cannot run under.
REFUSED = (
    "simulate: a rollout runs under torch.func.vmap, and under no other transform of torch.func; for gradients use "
    "backward() or torch.autograd.grad around vmap, which reach every scene"
)


def unwrap_values(tensor: Tensor) -> Tensor:
    """The numbers of all scenes behind ``tensor``, scenes first, without gradient, for checks at the door.

    Where no transform is on it is the tensor itself, detached.
    """
    return _innermost(tensor).detach()


def needs_gradient(tensor: Tensor) -> bool:
    """Whether a gradient is asked for; ``requires_grad`` says no of every tensor under vmap."""
    return _innermost(tensor).requires_grad


def _innermost(tensor: Tensor) -> Tensor:
    while _functorch.is_functorch_wrapped_tensor(tensor):
        scenes = _functorch.maybe_get_bdim(tensor)
        tensor = _functorch.get_unwrapped(tensor)
        tensor = tensor if scenes <= 0 else tensor.movedim(scenes, 0)
    return tensor


def is_transforming() -> bool:
    """Whether a transform is on."""
    return bool(torch._C._are_functorch_transforms_active())


def apply_vmap_rule(rule: Callable[..., tuple[Any, tuple[int, ...]]], *given: Any) -> tuple[Tensor, ...] | None:
    """``rule(info, in_dims, *given)`` of a ``Function.vmap``, as its ``apply`` would call it, for the scenes that are
    mapped over now; None where no ``vmap`` is the innermost transform, or it carries none of them.

    With as many tensors as a rollout has, what PyTorch does around it takes longer than the rollout.
    """
    mapping = retrieve_current_functorch_interpreter()
    if not isinstance(mapping, VmapInterpreter):
        return None
    level = mapping.level()
    tensors, dims = [], []
    for value in given:
        plain, dim = _functorch._unwrap_batched(value, level) if isinstance(value, Tensor) else (value, None)
        tensors.append(plain)
        dims.append(dim)
    if all(dim is None for dim in dims):
        return None
    info = VmapInfo(batch_size=mapping.batch_size(), randomness=mapping.randomness())
    with mapping.lower():
        found, axes = rule(info, tuple(dims), *tensors)
    return tuple(_functorch._add_batch_dim(t, axis, level) for t, axis in zip(found, axes, strict=True))


def is_transformed(tensors: Iterable[Tensor]) -> bool:
    """Whether one of the tensors belongs to a transform that is on."""
    return any(_functorch.is_functorch_wrapped_tensor(tensor) for tensor in tensors)


def is_mapped(tensor: Tensor) -> bool:
    """Whether ``tensor`` carries several scenes."""
    return bool(_functorch.is_batchedtensor(tensor))


@contextmanager
def explain_batch_errors(what: str) -> Iterator[None]:
    """BatchError in place of what PyTorch says when ``what`` asks for the numbers of one scene and there are many."""
    try:
        yield
    except SimulationError:
        raise
    except RuntimeError as error:
        raise BatchError(
            f"{what} cannot be asked for many scenes at once: {error} Run them one by one; or let it look at numbers "
            "through diffloom.transforms.concrete, which has those of all scenes"
        ) from error


def suspend_transforms() -> AbstractContextManager[Any]:
    """Where no transform is on: for what belongs to none of those that are."""
    if not is_transforming():
        return nullcontext()
    made: AbstractContextManager[Any] = temporarily_clear_interpreter_stack()
    return made


def refuse_tangents(tensors: Iterable[Tensor]) -> None:
    """InputError where one of the tensors has a tangent of forward-mode differentiation, which would be lost."""
    if forward_ad._current_level < 0:
        return
    try:
        found = any(forward_ad.unpack_dual(t).tangent is not None for t in tensors)
    except RuntimeError:  # under vmap in forward mode nothing can be said of them
        found = True
    if found:
        raise InputError(
            "simulate: forward-mode differentiation (dual numbers, strategy='forward-mode') does not go through a "
            "rollout; for gradients use backward() or torch.autograd.grad, for a slope along one direction differences"
        )


def refuse_functionalize() -> None:
    """InputError where ``torch.func.functionalize`` is on."""
    found = retrieve_all_functorch_interpreters() if is_transforming() else []
    if any(one.key() == _functorch.TransformType.Functionalize for one in found):
        raise InputError(REFUSED)


def refuse_many_cotangents(cotangents: Iterable[Tensor]) -> None:
    """InputError in a backward pass that is asked for several gradients at once."""
    # Vectorised gradients still come by the vmap of old, whose tensors are of another kind.
    given = list(cotangents)
    if is_transformed(given) or any(_functorch.is_legacy_batchedtensor(t) for t in given):
        raise InputError(
            "simulate: gradients of several outputs at once (is_grads_batched, vectorize=True) do not go through a "
            "rollout; call torch.autograd.grad once for each, or simulate a batch of as many scenes"
        )


class _Once(torch.autograd.Function):
    """A gradient that cannot be differentiated again; inputs: of what it is the gradient of."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, *inputs: Tensor) -> Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> Any:
        raise InputError(
            "simulate: a gradient of a gradient was asked for (create_graph=True, a Hessian), and a rollout can be "
            "differentiated once; use differences of the gradient, or Gauss-Newton's curvature"
        )


def refuse_second_derivatives(
    gradients: Iterable[Tensor | None], inputs: Iterable[Tensor]
) -> tuple[Tensor | None, ...]:
    """The gradients of a backward pass, which say so where someone differentiates them again; else they would seem to
    be constant. inputs: of what they are the gradients."""
    if not torch.is_grad_enabled():  # which it is under create_graph=True alone
        return tuple(gradients)
    sources = [t for t in inputs if t.requires_grad]
    return tuple(None if g is None else _Once.apply(g, *sources) for g in gradients)  # type: ignore[no-untyped-call]
