"""What is believed beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.interfaces.errors import nearest


@dataclass(frozen=True)
class Even:
    """Rows of a parameter are alike: weight x mean squared deviation from their mean, summed over the parameters."""

    weights: Mapping[str, float]

    @staticmethod
    def checked(weights: Mapping[str, float], unknowns: Sequence[str]) -> Even:
        """The prior, or InputError when it names something that is not sought."""
        for name in weights:
            if name not in unknowns:
                raise InputError(f"prior.even.{name}: not an unknown{nearest(name, unknowns)}")
        return Even(dict(weights))

    def __call__(self, values: Mapping[str, Tensor]) -> Tensor:
        """The term to add to the loss."""
        terms = [w * (values[n] - values[n].mean(dim=0, keepdim=True)).square().mean() for n, w in self.weights.items()]
        return torch.stack(terms).sum()
