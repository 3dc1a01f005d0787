"""Hamiltonian Monte Carlo (Neal 2011): samples from exp(-energy) by its exact gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_fitting.driver import Posed, run_searches

Level = tuple[float, Tensor]
"""An energy and its gradient (n,); an infinite energy marks a place of zero probability."""
Energy = Callable[[Tensor], Posed[Level]]
"""A search for the energy at a place (n,)."""

ACCEPTED = 0.8  # share of accepted trajectories that the step length is tuned to
MOST_STEPS = 12  # largest number of leapfrog steps
DIVERGED = 1000.0  # growth of the energy that marks a trajectory as diverged
REACH = (0.25 * math.pi, 0.75 * math.pi)  # lengths of trajectories: about a quarter of the period of a normal law


@dataclass(frozen=True)
class PosteriorDraws:
    """Samples of several chains.

    Args:
        places: (chains, draws, n), the samples.
        accepted: Share of accepted trajectories.
        diverged: Number of diverged trajectories.
        evaluations: Number of gradients, including tuning.
    """

    places: Tensor
    accepted: float
    diverged: int
    evaluations: int

    def agreement(self) -> Tensor:
        """Return the potential scale reduction (n,) of half chains (Gelman and Rubin 1992); 1 if all chains agree."""
        chains, draws, n = self.places.shape
        half = draws // 2
        parts = self.places[:, : 2 * half].reshape(2 * chains, half, n)
        within = parts.var(dim=1).mean(dim=0)
        between = parts.mean(dim=1).var(dim=0)
        return ((within * (half - 1) / half + between) / within.clamp(min=1e-300)).sqrt()

    def effective(self) -> Tensor:
        """Return the effective sample size (n,), by Geyer's initial positive sequence (1992)."""
        chains, draws, n = self.places.shape
        apart = self.places - self.places.mean(dim=(0, 1))
        variance = apart.square().mean(dim=(0, 1)).clamp(min=1e-300)
        counts = torch.empty(n, dtype=torch.float64)
        for i in range(n):
            total = 0.0
            for lag in range(1, draws - 1, 2):
                pair = sum(
                    float((apart[:, k:, i] * apart[:, : draws - k, i]).sum()) / (chains * draws) for k in (lag, lag + 1)
                ) / float(variance[i])
                if pair < 0.0:
                    break
                total += pair
            counts[i] = chains * draws / (1.0 + 2.0 * total)
        return counts


def sample(energy: Energy, starts: Tensor, draws: int, tuning: int, seed: int, together: bool = True) -> PosteriorDraws:
    """Run chains from ``starts`` (chains, n): ``tuning`` trajectories that tune the step length, then ``draws``.

    Args:
        energy: Search for energy and gradient at a point, in coordinates of about unit width in all directions.
        starts: (chains, n), first points.
        draws: Samples per chain.
        tuning: Trajectories before the first sample.
        seed: Seed of all random numbers.
        together: True to evaluate all chains as one batch, False to run them one after another, with the same bits.

    Returns:
        The samples.
    """
    generator = torch.Generator().manual_seed(seed)
    chains = [
        _run_chain(energy, start, tuning, [_Luck.draw(start, generator) for _ in range(tuning + draws)])
        for start in starts
    ]
    found = run_searches(chains) if together else [run_searches([chain])[0] for chain in chains]
    places, accepted, diverged, evaluations = zip(*found, strict=True)
    count = draws * len(starts)
    return PosteriorDraws(torch.stack(places), sum(accepted) / count, sum(diverged), sum(evaluations) + len(starts))


@dataclass(frozen=True)
class _Luck:
    """Random numbers of one trajectory.

    Args:
        momentum: Initial momentum.
        reach: Length, 0..1 between the ends of REACH.
        bound: Smallest acceptance probability that is accepted.
    """

    momentum: Tensor
    reach: float
    bound: float

    @staticmethod
    def draw(like: Tensor, generator: torch.Generator) -> _Luck:
        momentum = torch.randn(like.shape, generator=generator, dtype=like.dtype)
        return _Luck(momentum, *(float(torch.rand(1, generator=generator)) for _ in range(2)))


def _run_chain(energy: Energy, start: Tensor, tuning: int, luck: list[_Luck]) -> Posed[tuple[Tensor, float, int, int]]:
    """Run one chain with random numbers that were drawn beforehand.

    Returns:
        Samples (draws, n), sum of acceptance probabilities, number of diverged trajectories, number of gradients.
    """
    here = (start.clone(), *(yield from energy(start)))
    step = _Step(0.5 * start.numel() ** -0.25)
    places, accepted, diverged, evaluations = [], 0.0, 0, 0
    for k, each in enumerate(luck):
        if k == tuning:
            step.settle()
        here, chance, spent = yield from _trajectory(energy, here, step.length, each)
        evaluations += spent
        if k < tuning:
            step.learn(chance)
        else:
            places.append(here[0])
            accepted += chance
            diverged += 1 if chance == 0.0 else 0
    return torch.stack(places), accepted, diverged, evaluations


class _Step:
    """Step length, tuned by dual averaging (Hoffman and Gelman 2014)."""

    def __init__(self, length: float) -> None:
        self.length = length
        self._centre, self._drift, self._mean, self._count = math.log(10.0 * length), 0.0, 0.0, 0

    def learn(self, chance: float) -> None:
        """Update the length after a trajectory with this acceptance probability."""
        self._count += 1
        self._drift += (ACCEPTED - chance - self._drift) / (self._count + 10)
        wanted = self._centre - math.sqrt(self._count) / 0.05 * self._drift
        share = self._count**-0.75
        self._mean = share * wanted + (1.0 - share) * self._mean
        self.length = math.exp(wanted)

    def settle(self) -> None:
        """Fix the length at the average of those tried."""
        if self._count:
            self.length = math.exp(self._mean)


Here = tuple[Tensor, float, Tensor]


def _trajectory(energy: Energy, here: Here, length: float, luck: _Luck) -> Posed[tuple[Here, float, int]]:
    """Run one leapfrog trajectory; return the next place, its acceptance probability and the number of evaluations."""
    place, value, slope = here
    momentum = luck.momentum
    low, high = REACH
    reach = low + (high - low) * luck.reach
    count = max(1, min(MOST_STEPS, round(reach / length)))
    before = value + 0.5 * float(momentum.square().sum())
    at, seen, pull = place, value, slope
    for k in range(count):
        momentum = momentum - 0.5 * length * pull
        at = at + length * momentum
        seen, pull = yield from energy(at)
        if not math.isfinite(seen):
            return here, 0.0, k + 1
        momentum = momentum - 0.5 * length * pull
    growth = seen + 0.5 * float(momentum.square().sum()) - before
    if not growth < DIVERGED:
        return here, 0.0, count
    chance = math.exp(min(0.0, -growth))
    return ((at, seen, pull) if luck.bound < chance else here), chance, count
