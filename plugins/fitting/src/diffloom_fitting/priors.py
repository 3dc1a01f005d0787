"""Prior knowledge of the unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import as_float_tensor, suggest_name
from diffloom_fitting.validation import check_real


@dataclass(frozen=True)
class Gaussian:
    """Gaussian prior: values known to within a standard deviation, as further residuals of the fit.

    Gauss-Newton, the uncertainty and the verdict use it.

    Args:
        means: Mean of each unknown, in its unit.
        deviations: Standard deviation of each, in its unit.
        noise: Standard deviation of the compared numbers, a pixel (0..1) or a position of a track [px]; the larger it
            is, the more the prior counts.
    """

    means: Mapping[str, float | Sequence[float]]
    deviations: Mapping[str, float | Sequence[float]]
    noise: float = 0.01

    def __post_init__(self) -> None:
        if set(self.means) != set(self.deviations):
            raise InputError(
                f"prior: got means of {', '.join(self.means) or 'nothing'} and deviations of "
                f"{', '.join(self.deviations) or 'nothing'}; expected both for each"
            )
        if not check_real("prior.noise", self.noise) > 0.0:
            raise InputError(f"prior.noise: got {self.noise:g}; expected more than 0")
        for name, value in self.deviations.items():
            as_float_tensor(f"prior.gaussian.{name}: mean", self.means[name], torch.float64)
            if not bool((as_float_tensor(f"prior.gaussian.{name}: deviation", value, torch.float64) > 0.0).all()):
                raise InputError(f"prior.gaussian.{name}: got a deviation of {value}; expected more than 0")

    def check(self, unknowns: Mapping[str, Tensor]) -> None:
        """Raise unless the prior names unknowns and has their shapes.

        Args:
            unknowns: Starts of the unknowns by name.
        """
        for name, mean in self.means.items():
            if name not in unknowns:
                raise InputError(f"prior.gaussian.{name}: not an unknown{suggest_name(name, list(unknowns))}")
            shape = tuple(unknowns[name].shape)
            for kind, value in (("mean", mean), ("deviation", self.deviations[name])):
                given = tuple(torch.as_tensor(value).shape)
                if given not in ((), shape):
                    raise InputError(f"prior.gaussian.{name}: got a {kind} of shape {given}; expected () or {shape}")

    def residuals(self, values: Mapping[str, Tensor]) -> Tensor:
        """Return the differences from the means in standard deviations.

        Args:
            values: Unknowns by name.

        Returns:
            (k,), for every number of the prior.
        """
        rows = []
        for name, mean in self.means.items():
            value = values[name]
            middle, deviation = (torch.as_tensor(v, dtype=value.dtype) for v in (mean, self.deviations[name]))
            rows.append(((value - middle) / deviation).reshape(-1))
        return torch.cat(rows)


@dataclass(frozen=True)
class ShareEvenly:
    """Prior that rows of a parameter are alike: weight x mean squared deviation from their mean, summed over
    parameters.

    Args:
        weights: Weight of each parameter.
    """

    weights: Mapping[str, float]

    @staticmethod
    def build(weights: Mapping[str, float], unknowns: Sequence[str]) -> ShareEvenly:
        """Build the prior, after checking the names.

        Args:
            weights: Weight of each parameter.
            unknowns: Names of the unknowns.

        Returns:
            The prior.

        Raises:
            InputError: A name is not an unknown.
        """
        for name in weights:
            if name not in unknowns:
                raise InputError(f"prior.even.{name}: not an unknown{suggest_name(name, unknowns)}")
        return ShareEvenly(dict(weights))

    def __call__(self, values: Mapping[str, Tensor]) -> Tensor:
        """Return the term of the loss, a scalar."""
        terms = [w * (values[n] - values[n].mean(dim=0, keepdim=True)).square().mean() for n, w in self.weights.items()]
        return torch.stack(terms).sum()
