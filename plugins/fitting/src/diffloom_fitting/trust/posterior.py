"""Posterior distribution of the unknowns, given the video, its noise and the prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom_fitting.driver import Posed, put
from diffloom_fitting.objective import Objective
from diffloom_fitting.problem import Evaluate
from diffloom_fitting.trust.hamiltonian import Energy, Level, PosteriorDraws, sample

CHAINS, DRAWS, TUNING = 4, 60, 30
APART = 1.1  # potential scale reduction above which the chains disagree
LOST = 0.1  # share of diverged trajectories above which the samples are biased
ENDS = (0.025, 0.975)  # quantiles that bound the 95 % interval


@dataclass(frozen=True)
class Posterior:
    """Samples of the unknowns, in the searched space and in their units.

    Args:
        draws: Samples in the searched space, places (chains, draws, n).
        values: Samples of each unknown by name, (chains x draws, *shape).
        noise: Standard deviation of a residual that was assumed.
    """

    draws: PosteriorDraws
    values: dict[str, Tensor]
    noise: float

    def interval(self, name: str) -> tuple[Tensor, Tensor]:
        """Return the ends of the interval that holds 95 % of an unknown's samples.

        Args:
            name: Name of the unknown.

        Returns:
            Low and high end, in the unknown's unit.
        """
        low, high = (torch.quantile(self.values[name], end, dim=0) for end in ENDS)
        return low, high

    @property
    def trouble(self) -> str | None:
        """The reason for not trusting the samples, or None."""
        apart = float(self.draws.agreement().max())
        if apart > APART:
            return (
                f"the chains of posterior samples disagree (scale reduction {apart:.2f}, expected at most {APART:g}); "
                'use uncertainty = "laplace", or add a prior'
            )
        share = self.draws.diverged / (self.draws.places.shape[0] * self.draws.places.shape[1])
        if share > LOST:
            return (
                f"{100.0 * share:.0f} % of the posterior's trajectories diverged, expected at most {100.0 * LOST:g} %; "
                'use uncertainty = "laplace", or narrower bounds'
            )
        return None


def sample_posterior(objective: Objective, z: Tensor, root: Tensor, noise: float, numbers: int, seed: int) -> Posterior:
    """Sample around ``z`` from exp(-numbers loss / (2 noise^2)) times the Gaussian prior.

    Args:
        objective: Objective of the fit.
        z: (n,), the end of the fit.
        root: (n, k), root of the covariance from the curvature, which makes the distribution about round. Directions
            that the pixels leave open are not in it and stay fixed.
        noise: Standard deviation of the residuals, increased where they are correlated.
        numbers: Number of residuals.
        seed: Seed of all random numbers.

    Returns:
        The samples.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randn((CHAINS, root.shape[1]), generator=generator, dtype=z.dtype)
    law = make_energy(objective, z, root, noise, numbers)
    # Chains are independent, so their simulations run as one batch.
    drawn = sample(law, starts, DRAWS, TUNING, seed + 1, together=objective.batch_size(z) > 1)
    places = z + drawn.places @ root.T
    with torch.no_grad():
        each = [objective.layout.sought(place) for place in places.reshape(-1, len(z))]
    values = {name: torch.stack([found[name] for found in each]) for name in each[0]}
    return Posterior(replace(drawn, places=places), values, noise)


def make_energy(objective: Objective, z: Tensor, root: Tensor, noise: float, numbers: int) -> Energy:
    """Return the negative logarithm of the density, with its gradient, over coordinates x with z + root x."""
    bare, scale = replace(objective, gaussian=None), 0.5 * numbers / noise**2
    least = bare.value(z).value  # subtracted, because only differences count

    def energy(x: Tensor) -> Posed[Level]:
        place = z + root @ x
        (seen,) = yield from put(bare, Evaluate([place], "gradient"))
        if seen.gradient is None or not math.isfinite(seen.value):
            return math.inf, torch.zeros_like(x)
        value, slope = scale * (seen.value - least), scale * seen.gradient
        if objective.gaussian is not None:
            point = place.detach().requires_grad_(True)
            prior = 0.5 * objective.prior_residuals(point).square().sum()
            (pull,) = torch.autograd.grad(prior, point)
            value, slope = value + float(prior.detach()), slope + pull
        return value, root.T @ slope

    return energy
