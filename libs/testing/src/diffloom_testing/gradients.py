"""Gradients compared with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class GradientComparison:
    """One directional derivative by autograd and by finite differences.

    Args:
        name: Input by which the derivative is taken.
        autograd: Derivative by autograd.
        differences: Derivative by finite differences.
        error: Difference of the two, relative to the larger one.
        noise: Error that rounding alone may cause in the differences.
    """

    name: str
    autograd: float
    differences: float
    error: float
    noise: float = 0.0

    @property
    def silent(self) -> bool:
        """True if both derivatives are lost in rounding."""
        return max(abs(self.autograd), abs(self.differences)) <= self.noise


def compare_gradient(
    function: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    *,
    step: float = 1e-5,
    directions: int = 2,
    seed: int = 0,
) -> list[GradientComparison]:
    """Compute directional derivatives of ``function(**inputs)`` by autograd and by finite differences.

    Differences are central, extrapolated from two step lengths (Richardson), in float64.

    Args:
        function: Function of the inputs; a tensor that it returns is contracted with fixed random weights.
        inputs: Values in float64.
        step: Length of the differences relative to the largest entry of the input.
        directions: Random directions for each input that has several entries.
        seed: Seed of weights and directions.

    Returns:
        The comparisons, ``directions`` for each input.

    Raises:
        ValueError: An input is not float64.
    """
    random = torch.Generator().manual_seed(seed)
    leaves = {name: value.detach().clone().requires_grad_() for name, value in inputs.items()}
    if any(value.dtype != torch.float64 for value in leaves.values()):
        wrong = ", ".join(f"{name} ({value.dtype})" for name, value in leaves.items() if value.dtype != torch.float64)
        raise ValueError(f"compare_gradient: got {wrong}; differences need float64: convert with .double()")
    output = function(**leaves)
    weights = torch.randn(output.shape, dtype=torch.float64, generator=random) if output.dim() else torch.ones(())
    total = (output * weights).sum()
    grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)

    # The summation of n terms loses about sqrt(n) units in the last place.
    rounding = 8.0 * torch.finfo(torch.float64).eps * float((output * weights).detach().norm())

    def value(name: str, changed: Tensor) -> float:
        """Return the contracted output with one input replaced."""
        with torch.no_grad():
            given = {**{k: v.detach() for k, v in leaves.items()}, name: changed}
            return float((function(**given) * weights).sum())

    results = []
    for (name, leaf), grad in zip(leaves.items(), grads, strict=True):
        for _ in range(directions if leaf.numel() > 1 else 1):
            way = torch.randn(leaf.shape, dtype=torch.float64, generator=random)
            by_autograd = 0.0 if grad is None else float((grad * way).sum())
            h = step * max(float(leaf.detach().abs().max()), 1e-3)
            base = leaf.detach()
            coarse = (value(name, base + h * way) - value(name, base - h * way)) / (2 * h)
            fine = (value(name, base + 0.5 * h * way) - value(name, base - 0.5 * h * way)) / h
            by_differences = (4.0 * fine - coarse) / 3.0
            size = max(abs(by_autograd), abs(by_differences))
            error = abs(by_autograd - by_differences) / size if size > 0.0 else 0.0
            results.append(GradientComparison(name, by_autograd, by_differences, error, rounding / h))
    return results


def check_gradient(
    function: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    *,
    tolerance: float = 1e-6,
    step: float = 1e-5,
    directions: int = 2,
    seed: int = 0,
) -> list[GradientComparison]:
    """Check the gradient of ``function(**inputs)`` against finite differences.

    Args:
        function: Function of the inputs; returns a scalar or a tensor.
        inputs: Values in float64.
        tolerance: Largest relative error.
        step: Length of the differences relative to the largest entry of the input.
        directions: Random directions for each input that has several entries.
        seed: Seed of weights and directions.

    Returns:
        The comparisons, ``directions`` for each input.

    Raises:
        AssertionError: A derivative is off; the message names every wrong input.

    Example:
        x = torch.linspace(0.1, 1.0, 5, dtype=torch.float64)
        check_gradient(lambda x: torch.sin(x).sum(), {"x": x})
    """
    results = compare_gradient(function, inputs, step=step, directions=directions, seed=seed)
    wrong = [r for r in results if not r.error <= tolerance]
    if wrong:
        lines = (
            f"  {r.name}: autograd {r.autograd:.12g}, differences {r.differences:.12g}, relative {r.error:.2e}"
            for r in wrong
        )
        raise AssertionError(f"gradients beyond {tolerance:g}:\n" + "\n".join(lines))
    return results
