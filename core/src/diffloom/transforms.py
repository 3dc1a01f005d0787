"""What of diffloom runs under the transforms of ``torch.func``, in one place: the rest asks here.

Under ``vmap`` a tensor stands for one scene and carries all of them. What is checked at the door is checked of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

_functorch = torch._C._functorch


def concrete(tensor: Tensor) -> Tensor:
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


def transformed(tensors: Iterable[Tensor]) -> bool:
    """Whether one of the tensors belongs to a transform that is on."""
    return any(_functorch.is_functorch_wrapped_tensor(tensor) for tensor in tensors)


def mapped(tensor: Tensor) -> bool:
    """Whether ``tensor`` carries several scenes."""
    return bool(_functorch.is_batchedtensor(tensor))


@contextmanager
def told_of_scenes(what: str) -> Iterator[None]:
    """BatchError in place of what PyTorch says when ``what`` asks for the numbers of one scene and there are many."""
    from diffloom.interfaces.errors import BatchError, SimulationError

    try:
        yield
    except SimulationError:
        raise
    except RuntimeError as error:
        raise BatchError(
            f"{what} cannot be asked for many scenes at once: {error} Run them one by one; or let it look at numbers "
            "through diffloom.transforms.concrete, which has those of all scenes"
        ) from error


def untransformed() -> AbstractContextManager[Any]:
    """Where no transform is on: for what belongs to none of those that are."""
    if not torch._C._are_functorch_transforms_active():
        return nullcontext()
    made: AbstractContextManager[Any] = temporarily_clear_interpreter_stack()
    return made


def leading(value: Tensor, dim: int | None, count: int) -> Tensor:
    """``value`` of a rule for ``vmap`` with its scenes first; what is one for all is repeated, its gradient summed in
    a fixed order."""
    from diffloom.dynamics.broadcasting import broadcast

    if dim is None:
        return broadcast(value, (count, *value.shape))
    return value.movedim(dim, 0)
