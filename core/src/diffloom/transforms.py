"""Behaviour under the transforms of ``torch.func``, in one place.

Under ``vmap`` a tensor stands for one scene and holds all of them. Input checks apply to the values of all scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
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
    "ONE_DERIVATIVE",
    "REFUSED",
    "apply_vmap_rule",
    "explain_batch_errors",
    "has_tangents",
    "is_mapped",
    "is_transformed",
    "is_transforming",
    "needs_gradient",
    "once_differentiable",
    "refuse_functionalize",
    "refuse_many_cotangents",
    "refuse_second_derivatives",
    "refuse_tangents",
    "refuse_transforms",
    "suspend_transforms",
    "unwrap_values",
]

_functorch = torch._C._functorch

#: Message for a rollout under a transform that it does not support.
REFUSED = (
    "simulate: a rollout runs under torch.func.vmap, and under no other transform of torch.func; for gradients use "
    "backward() or torch.autograd.grad around vmap, which reach every scene"
)


#: Message for a second derivative of a rollout in forward mode.
ONE_DERIVATIVE = (
    "simulate: a rollout in forward mode (jvp, jacfwd) can be differentiated once; for a Hessian use differences of "
    "the gradient, or Gauss-Newton's curvature"
)


def unwrap_values(tensor: Tensor) -> Tensor:
    """Return the values of all scenes behind ``tensor`` for input checks, scenes first, detached.

    Args:
        tensor: Tensor, possibly inside transforms.

    Returns:
        Ordinary tensor; without transforms ``tensor`` itself, detached.
    """
    return _innermost(tensor).detach()


def needs_gradient(tensor: Tensor) -> bool:
    """Return whether a derivative is required: under vmap ``requires_grad`` is False for every tensor, and in forward
    mode too.

    Args:
        tensor: Tensor, possibly inside transforms.

    Returns:
        True if a gradient is required, or the tensor has a tangent.
    """
    return _innermost(tensor).requires_grad or has_tangents((tensor,))


def _innermost(tensor: Tensor) -> Tensor:
    """Return the ordinary tensor inside all transforms, scenes first."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        scenes = _functorch.maybe_get_bdim(tensor)
        tensor = _functorch.get_unwrapped(tensor)
        tensor = tensor if scenes <= 0 else tensor.movedim(scenes, 0)
    return tensor


def is_transforming() -> bool:
    """Return whether a transform is active.

    Returns:
        True inside a transform.
    """
    return bool(torch._C._are_functorch_transforms_active())


def apply_vmap_rule(rule: Callable[..., tuple[Any, tuple[int, ...]]], *given: Any) -> tuple[Tensor, ...] | None:
    """Apply the ``vmap`` rule of an autograd function directly to the current batch.

    PyTorch's own dispatch takes longer than a rollout for as many tensors as a rollout has.

    Args:
        rule: ``rule(info, in_dims, *given)`` of a ``Function.vmap``.
        *given: Arguments of the function.

    Returns:
        Batched results; None if the innermost transform is not a ``vmap``, or no argument is batched.
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
    """Return whether one of the tensors belongs to an active transform.

    Args:
        tensors: Tensors to look at.

    Returns:
        True if one does.
    """
    return any(_functorch.is_functorch_wrapped_tensor(tensor) for tensor in tensors)


def is_mapped(tensor: Tensor) -> bool:
    """Return whether ``tensor`` holds several scenes.

    Args:
        tensor: Tensor, possibly inside transforms.

    Returns:
        True inside vmap, if the tensor is batched.
    """
    return bool(_functorch.is_batchedtensor(tensor))


@contextmanager
def explain_batch_errors(what: str) -> Iterator[None]:
    """Context manager: raise BatchError instead of PyTorch's error if code needs the values of one scene inside a
    batch.

    Args:
        what: Name of the function that runs, for the message.

    Returns:
        Context manager.
    """
    try:
        yield
    except SimulationError:
        raise
    except RuntimeError as error:
        raise BatchError(
            f"{what} does not support a batch of scenes: {error} Run the scenes one by one; or read values through "
            "diffloom.transforms.unwrap_values, which has those of all scenes"
        ) from error


def suspend_transforms() -> AbstractContextManager[Any]:
    """Return a context manager inside which no transform is active, for tensors that belong to none.

    Returns:
        Context manager.
    """
    if not is_transforming():
        return nullcontext()
    made: AbstractContextManager[Any] = temporarily_clear_interpreter_stack()
    return made


def has_tangents(tensors: Iterable[Tensor]) -> bool:
    """Return whether one of the tensors has a tangent of forward-mode differentiation.

    Args:
        tensors: Inputs of a function.

    Returns:
        True if one does, or under vmap in forward mode, where it cannot be told.
    """
    if forward_ad._current_level < 0:
        return False
    try:
        return any(forward_ad.unpack_dual(t).tangent is not None for t in tensors)
    except RuntimeError:  # under vmap in forward mode nothing can be said of them
        return True


def refuse_tangents(tensors: Iterable[Tensor]) -> None:
    """Raise InputError if one of the tensors has a tangent of forward-mode differentiation, which would be lost.

    Args:
        tensors: Inputs of a rollout.
    """
    if has_tangents(tensors):
        raise InputError(
            "simulate: forward-mode differentiation (dual numbers, strategy='forward-mode') does not go through this "
            "rollout, but through explicit integrators without forces in PyTorch; for gradients use backward() or "
            "torch.autograd.grad, for a slope along one direction differences"
        )


def refuse_transforms(what: str, tensors: Iterable[Tensor]) -> None:
    """Raise InputError if one of the tensors belongs to a transform of ``torch.func``, has a tangent, or has no values.

    Args:
        what: Name of the function that takes the tensors, for the message.
        tensors: Its inputs.
    """
    given = list(tensors)
    if is_transformed(given) or has_tangents(given):
        raise InputError(
            f"{what}: images are drawn under no transform of torch.func (vmap, grad, jvp, jacrev) and not with dual "
            "numbers; put scenes into the frames of one surface in place of vmap, use backward() or "
            "torch.autograd.grad for gradients, and differences for a slope along one direction"
        )
    if any(tensor.is_meta for tensor in given):
        raise InputError(f"{what}: got a tensor on the device 'meta', which has no values; expected one on cpu or cuda")


def refuse_functionalize() -> None:
    """Raise InputError under ``torch.func.functionalize``."""
    found = retrieve_all_functorch_interpreters() if is_transforming() else []
    if any(one.key() == _functorch.TransformType.Functionalize for one in found):
        raise InputError(REFUSED)


def refuse_many_cotangents(cotangents: Iterable[Tensor]) -> None:
    """Raise InputError in a backward pass for several gradients at once.

    Args:
        cotangents: Cotangents given to the backward pass.
    """
    # Vectorised gradients use the legacy vmap, whose tensors have another type.
    given = list(cotangents)
    if is_transformed(given) or any(_functorch.is_legacy_batchedtensor(t) for t in given):
        raise InputError(
            "gradients of several outputs at once (is_grads_batched, vectorize=True) do not go through a "
            "rollout or a renderer; call torch.autograd.grad once for each, or simulate a batch of as many scenes"
        )


class _Once(torch.autograd.Function):
    """Identity whose result cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, *inputs: Tensor) -> Tensor:
        """Return the value unchanged."""
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> Any:
        """Raise InputError: second derivatives of rollouts and images do not exist."""
        raise InputError(
            "a gradient of a gradient was asked for (create_graph=True, a Hessian), and rollouts and images "
            "can be differentiated once; use differences of the gradient, or Gauss-Newton's curvature"
        )


def refuse_second_derivatives(
    gradients: Iterable[Tensor | None], inputs: Iterable[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of a backward pass so that differentiating them raises InputError; they would seem constant.

    Args:
        gradients: Gradients, None for inputs without one.
        inputs: Inputs of the forward pass.

    Returns:
        The same values.
    """
    if not torch.is_grad_enabled():  # enabled under create_graph=True alone
        return tuple(gradients)
    sources = [t for t in inputs if t.requires_grad]
    return tuple(None if g is None else _Once.apply(g, *sources) for g in gradients)  # type: ignore[no-untyped-call]


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Decorator of the ``backward`` of an autograd function that cannot be differentiated again.

    PyTorch's decorator of this name refuses a second derivative only where the cotangent has a gradient: elsewhere,
    as for a sum, the second derivative would silently be zero.

    Args:
        backward: Static method ``backward(ctx, *cotangents)``; the inputs of the function are among the tensors that
            ``ctx`` saves.

    Returns:
        Static method that raises InputError for second derivatives and for several cotangents at once.
    """

    @wraps(backward)
    def guarded(ctx: Any, *adj: Tensor | None) -> tuple[Any, ...]:
        given = [one for one in adj if isinstance(one, Tensor)]
        refuse_many_cotangents(given)
        with torch.no_grad():
            found: tuple[Any, ...] = backward(ctx, *adj)
        if not torch.is_grad_enabled():
            return found
        saved = [one for one in ctx.saved_tensors if one is not None]
        return refuse_second_derivatives(found, (*saved, *given))

    return guarded
