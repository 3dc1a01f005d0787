"""The posterior of the unknowns: how probable each value is, given the video, its noise and the prior."""

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
APART = 1.1  # potential scale reduction above which chains do not agree
LOST = 0.1  # share of trajectories, above which places that cannot be simulated shape the law
ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Posterior:
    """Draws of the unknowns, in the searched space and in their units.

    draws: places (chains, draws, n). values: of each unknown, (chains x draws, *shape). noise: standard deviation of a
    residual that was assumed.
    """

    draws: PosteriorDraws
    values: dict[str, Tensor]
    noise: float

    def interval(self, name: str) -> tuple[Tensor, Tensor]:
        """The ends between which 95 % of an unknown's draws lie."""
        low, high = (torch.quantile(self.values[name], end, dim=0) for end in ENDS)
        return low, high

    @property
    def trouble(self) -> str | None:
        """Why the draws cannot be relied on; None when they can."""
        apart = float(self.draws.agreement().max())
        if apart > APART:
            return f"chains of draws from the posterior do not agree (scale reduction {apart:.2f})"
        share = self.draws.diverged / (self.draws.places.shape[0] * self.draws.places.shape[1])
        if share > LOST:
            return f"{100.0 * share:.0f} % of the trajectories through the posterior were lost"
        return None


def sample_posterior(objective: Objective, z: Tensor, root: Tensor, noise: float, numbers: int, seed: int) -> Posterior:
    """Draws around ``z`` from exp(-numbers loss / (2 noise^2)) times the Gaussian prior.

    root: (n, k), a root of the covariance that the curvature gives: coordinates in which the law is about round.
    Directions that the pixels leave open are not in it, and stay. noise: the residuals' standard deviation, widened
    where they err together. numbers: how many residuals there are.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randn((CHAINS, root.shape[1]), generator=generator, dtype=z.dtype)
    law = make_energy(objective, z, root, noise, numbers)
    # Chains know nothing of each other, so that their simulations can be made together.
    drawn = sample(law, starts, DRAWS, TUNING, seed + 1, together=objective.batch_size(z) > 1)
    places = z + drawn.places @ root.T
    with torch.no_grad():
        each = [objective.layout.sought(place) for place in places.reshape(-1, len(z))]
    values = {name: torch.stack([found[name] for found in each]) for name in each[0]}
    return Posterior(replace(drawn, places=places), values, noise)


def make_energy(objective: Objective, z: Tensor, root: Tensor, noise: float, numbers: int) -> Energy:
    """The negative logarithm of the density over coordinates x with z + root x, and its gradient."""
    bare, scale = replace(objective, gaussian=None), 0.5 * numbers / noise**2
    least = bare.value(z).value  # only differences count, and these lose no digits

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
