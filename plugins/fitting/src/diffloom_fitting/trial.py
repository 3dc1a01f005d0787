"""A loss at one place, and its gradient and residuals on demand; of many places that were simulated together, too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.scene import View

if TYPE_CHECKING:
    from diffloom_fitting.objective import Objective


@dataclass(frozen=True)
class Evaluation:
    """A loss and its gradient at one vector. trouble: why they are not finite, or None when they are."""

    value: float
    gradient: Tensor | None = None
    trouble: str | None = None

    @property
    def finite(self) -> bool:
        """Whether it can be used."""
        return self.trouble is None


@dataclass(frozen=True)
class Request:
    """What a search asks of its objective, for others to be answered with it.

    kind: "trial", the loss at each of ``places`` with more on demand; "values", the losses alone; "residuals"; or
    "gradient", that of ``trial``.
    """

    objective: Objective
    kind: Literal["trial", "values", "residuals", "gradient"]
    places: Sequence[Tensor] = ()
    trial: Trial | None = None

    @property
    def rank(self) -> int:
        """Who waits for a trial waits for all others: each step of a search begins with one."""
        return 1 if self.kind == "trial" else 0


class Graph:
    """What losses that were simulated together have in common: one backward pass serves all that are asked for."""

    def __init__(self) -> None:
        self.spent = False


class Trial:
    """A place whose loss is known; its gradient and residuals are found when asked for, once."""

    def __init__(
        self,
        objective: Objective,
        point: Tensor,
        loss: Tensor | None = None,
        views: Mapping[str, View] | None = None,
        seen: Evaluation | None = None,
        graph: Graph | None = None,
    ) -> None:
        """seen: all there is to know already; else loss and views still lead back to ``point``, with others of
        ``graph``."""
        self._objective, self._point, self._loss, self._views, self._seen = objective, point, loss, views, seen
        self.graph = graph or Graph()

    @property
    def loss(self) -> Evaluation:
        """Without gradient, unless that is known."""
        return self._seen if self._loss is None else Evaluation(float(self._loss.detach()))  # type: ignore[return-value]

    def evaluation(self) -> Evaluation:
        """With gradient."""
        if self._seen is None:
            ask = self._objective.ask
            if ask is None:
                (self._seen,) = gradients([self])
            else:
                (self._seen,) = ask([Request(self._objective, "gradient", trial=self)])
        assert self._seen is not None
        return self._seen

    def residuals(self) -> Tensor | None:
        """As ``Objective.residuals`` has them, without simulating again; None where nothing was kept."""
        if self._views is None:
            return None
        with torch.no_grad():
            return self._objective.joined(self._point.detach(), self._objective.fields_of(self._views)).detach()

    def _found(self) -> Evaluation:
        """The loss and what a backward pass has left at ``point``."""
        assert self._loss is not None
        gradient = torch.zeros_like(self._point) if self._point.grad is None else self._point.grad.detach()
        if not bool(torch.isfinite(gradient).all()):
            return Evaluation(math.inf, None, "the gradient is not finite")
        return Evaluation(float(self._loss.detach()), gradient)

    def _alone(self) -> Evaluation:
        """The evaluation of the place by itself, simulated anew."""
        return self._objective.asking(None).evaluate(self._point)


def gradients(trials: Sequence[Trial]) -> list[Evaluation]:
    """The evaluations of trials of one graph, by one backward pass."""
    graph = trials[0].graph
    if graph.spent:  # others were asked for before, and what they shared is gone
        return [trial._alone() for trial in trials]
    graph.spent = True
    losses = [trial._loss for trial in trials if trial._loss is not None]
    views = [view for trial in trials for view in (trial._views or {}).values()]
    try:
        trials[0]._objective.backward(losses, views)
    except SimulationError as error:
        if len(trials) == 1:
            return [Evaluation(math.inf, None, str(error))]
        return [trial._alone() for trial in trials]
    return [trial._found() for trial in trials]
