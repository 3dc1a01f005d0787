"""What several searches ask at once, answered by one simulation and one drawing for all that are alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.many_views import MOST_PLACES, Place, alike, many_views, views_together
from diffloom_fitting.trial import Evaluation, Graph, Request, Trial, gradients

#: Numbers of all kept states that simulations with gradient may hold at once.
MOST_KEPT = 2**25
Item = TypeVar("Item")


def answer(requests: Sequence[Request]) -> list[Any]:
    """The answers, in order: a ``Trial``, evaluations, residuals or an evaluation by the request's kind; or the
    SimulationError that residuals end in."""
    found: dict[int, Any] = {}
    for group in _groups(range(len(requests)), lambda k: _kind(requests[k])):
        asked = [requests[k] for k in group]
        found |= dict(zip(group, _ANSWERS[asked[0].kind](asked), strict=True))
    return [found[k] for k in range(len(requests))]


def _kind(request: Request) -> Hashable:
    if request.trial is not None:
        return request.kind, id(request.trial.graph)
    return request.kind, *alike(request.objective)


def _groups(items: Iterable[Item], kind: Callable[[Item], Hashable]) -> list[list[Item]]:
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(kind(item), []).append(item)
    return list(found.values())


def _gradients(asked: Sequence[Request]) -> list[Evaluation]:
    return gradients([request.trial for request in asked if request.trial is not None])


def _trials(asked: Sequence[Request]) -> list[Trial]:
    places = [(request.objective, request.places[0]) for request in asked]
    scene = places[0][0].scene
    most = min(MOST_PLACES, max(1, MOST_KEPT // ((scene.steps + 1) * scene.state_size)))
    return [trial for first in range(0, len(places), most) for trial in trials(places[first : first + most])]


def trials(places: Sequence[Place]) -> list[Trial]:
    """``Objective.trial`` at many places of objectives that are alike; gradients of them share a backward pass."""
    points = [z.detach().clone().requires_grad_(True) for _, z in places]
    seen = views_together([(one, point) for (one, _), point in zip(places, points, strict=True)])
    if seen is None:
        return [one.asking(None).trial(z) for one, z in places]
    graph, found = Graph(), []
    for (one, _), point, views in zip(places, points, seen, strict=True):
        loss = one.total(views, point)
        if math.isfinite(float(loss.detach())):
            found.append(Trial(one, point, loss, views, graph=graph))
        else:
            found.append(Trial(one, point, seen=Evaluation(math.inf, None, "the loss is not finite")))
    return found


def _values(asked: Sequence[Request]) -> list[list[Evaluation]]:
    if len(asked) == 1:
        return [asked[0].objective.asking(None).values_at(asked[0].places)]
    places = _places(asked)
    try:
        seen = [one.value_of(views, z) for (one, z), views in zip(places, many_views(places), strict=True)]
    except SimulationError:
        return [request.objective.asking(None).values_at(request.places) for request in asked]
    return _apart(asked, seen)


def _residuals(asked: Sequence[Request]) -> list[list[Tensor] | SimulationError]:
    if len(asked) > 1:
        places = _places(asked)
        try:
            seen = [one.residuals_of(views, z) for (one, z), views in zip(places, many_views(places), strict=True)]
            return list(_apart(asked, seen))
        except SimulationError:
            pass  # one by one it is known which
    found: list[list[Tensor] | SimulationError] = []
    for request in asked:
        try:
            found.append(list(request.objective.asking(None).residuals_at(request.places)))
        except SimulationError as error:
            found.append(error)
    return found


def _places(asked: Sequence[Request]) -> list[Place]:
    return [(request.objective.asking(None), z) for request in asked for z in request.places]


def _apart(asked: Sequence[Request], found: Sequence[Item]) -> list[list[Item]]:
    """What was found at all places, by request."""
    left = iter(found)
    return [[next(left) for _ in request.places] for request in asked]


_ANSWERS: dict[str, Callable[[Sequence[Request]], Sequence[Any]]] = {
    "trial": _trials, "values": _values, "residuals": _residuals, "gradient": _gradients,
}  # fmt: skip
