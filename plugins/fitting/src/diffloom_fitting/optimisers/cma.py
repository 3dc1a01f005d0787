"""CMA-ES (Hansen and Ostermeier 2001): a search without gradients, for a start where the landscape is bad."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress
from diffloom_fitting.problem import Evaluate, Problem, Search
from diffloom_fitting.validation import check_real, check_whole

LIMIT = 200  # largest number of unknowns with a full covariance


@dataclass(frozen=True)
class CmaEs(Optimiser):
    """Covariance matrix adaptation; one iteration is one generation, and the best point is kept.

    Args:
        sigma: First standard deviation in the searched space.
        population: Simulations per generation; 0 chooses by the number of unknowns.
        separable: True to learn one width per unknown and no correlations, for thousands of unknowns.
    """

    stop_window: ClassVar[int] = 20  # a generation may find nothing better

    sigma: float = 0.5
    population: int = 0
    separable: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("cma.sigma", self.sigma, above=0.0)
        check_whole("cma.population", self.population)

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        if z.numel() > LIMIT and not self.separable:
            raise InputError(
                f"cma: got {z.numel()} unknowns; expected at most {LIMIT}: use adam or lbfgs, or separable = true"
            )
        (seen,) = yield Evaluate([z])
        # cmaes needs at least two dimensions, so a single unknown gets an idle second one.
        mean = np.zeros(max(2, z.numel()))
        mean[: z.numel()] = z.double().numpy()
        search = self._kind()(mean=mean, sigma=self.sigma, seed=seed, population_size=self.population or None)
        return Progress(z.detach().clone(), seen.value, None, {"search": store(search)}, 1)

    def _kind(self) -> Any:
        from cmaes import CMA, SepCMA

        return SepCMA if self.separable else CMA

    def renew(self, problem: Problem, progress: Progress) -> Search[Progress]:
        (seen,) = yield Evaluate([progress.z])
        return replace(progress, value=seen.value, evaluations=progress.evaluations + 1)

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        search = restore(self._kind(), progress.memory["search"])
        size = progress.z.numel()
        best, place, rejected = progress.value, progress.z, 0
        asked = [search.ask() for _ in range(search.population_size)]
        told = []
        places = [torch.as_tensor(point[:size], dtype=progress.z.dtype) for point in asked]
        for point, z, seen in zip(asked, places, (yield Evaluate(places)), strict=True):
            rejected += 0 if seen.finite else 1
            told.append((point, seen.value if seen.finite else math.inf))
            if seen.value < best:
                best, place = seen.value, z
        worst = max((v for _, v in told if math.isfinite(v)), default=1.0)
        # An infinite loss ranks last; the method uses ranks only, so any larger number works.
        search.tell([(p, v if math.isfinite(v) else 2.0 * abs(worst) + 1.0) for p, v in told])
        done = "the search has contracted" if search.should_stop() else None
        return Progress(
            place, best, None, {"search": store(search)}, progress.evaluations + len(asked),
            progress.rejected + rejected, done,
        )  # fmt: skip


def store(thing: object) -> dict[str, Any]:
    """Return the attributes of ``thing`` as plain data."""
    return {name: _store(value) for name, value in vars(thing).items()}


def restore(kind: type[Any], stored: dict[str, Any]) -> Any:
    """Build an object of ``kind`` from stored attributes."""
    thing = object.__new__(kind)
    for name, value in stored.items():
        setattr(thing, name, _restore(value))
    return thing


def _store(value: Any) -> Any:
    if isinstance(value, np.random.RandomState):
        _, keys, position, has_gauss, gauss = value.get_state(legacy=True)
        kept = torch.from_numpy(np.asarray(keys).astype(np.int64))
        return {"random": kept, "rest": [int(position), int(has_gauss), float(gauss)]}
    if isinstance(value, np.ndarray):
        return {"array": torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise TypeError(f"cannot store an attribute of {type(value).__name__}")


def _restore(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return value["array"].numpy().copy()
    random = np.random.RandomState()
    position, has_gauss, gauss = value["rest"]
    random.set_state(("MT19937", value["random"].numpy().astype(np.uint32), position, has_gauss, gauss))
    return random
