"""The driver of searches: gathers their requests, has those that belong together answered at once, and sends answers.

Searches know nothing of each other. In each round the driver answers those that wait for the same kind of thing, and
lets each run up to its next request. Since a batch has the bits of single evaluations, a search finds the same alone
and among others. Between two requests a search holds no more than its own variables; between two iterations of a fit
all that counts is plain data (`Progress`, `FitState`), so that every search can be kept and resumed there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from diffloom_fitting.problem import Evaluate, Evaluation, Found, Problem, Question, Search

__all__ = ["Driver", "Posed", "pose", "put", "run_search", "run_searches"]

Item = TypeVar("Item")
#: A search whose requests carry the problem they are put to; it may put them to several.
Posed = Generator[Question, list[Any], Found]


def pose(problem: Problem, search: Search[Found]) -> Posed[Found]:
    """Put the requests of ``search`` to ``problem``.

    A gradient at a new point is asked for in two requests, first the loss, then the gradient: so searches that want
    the gradient at once are simulated together with those that look at the loss first.
    """
    try:
        request = next(search)
        while True:
            try:
                answers = yield from put(problem, request)
            except Exception as error:
                request = search.throw(error)
            else:
                request = search.send(answers)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def put(problem: Problem, request: Evaluate) -> Posed[list[Any]]:
    """Put one request to ``problem``, and return its answers."""
    if request.want == "residuals" and all(isinstance(point, Evaluation) for point in request.points):
        (known,) = answer_batch([(problem, request)])  # nothing is simulated: no search needs to wait for it
        if isinstance(known, Exception):
            raise known
        return list(known)
    if request.want != "gradient":
        return (yield problem, request)
    new = [point for point in request.points if not isinstance(point, Evaluation)]
    tried = iter((yield problem, Evaluate(new, differentiable=True)) if new else ())
    seen = [point if isinstance(point, Evaluation) else next(tried) for point in request.points]
    open_ = [k for k, one in enumerate(seen) if one.finite and one.gradient is None]
    if open_:
        found = yield problem, Evaluate([seen[k] for k in open_], "gradient")
        for k, one in zip(open_, found, strict=True):
            seen[k] = one
    return seen


def answer_batch(questions: Sequence[Question]) -> list[Any]:
    """The answers to each request, or the exception it ends in; those that belong together are evaluated at once."""
    found: dict[int, Any] = {}
    for group in group_by(range(len(questions)), lambda k: _kind(questions[k])):
        asked = [questions[k] for k in group]
        found |= dict(zip(group, asked[0][0].evaluate_batch(asked), strict=True))
    return [found[k] for k in range(len(questions))]


def _kind(question: Question) -> Hashable:
    problem, request = question
    return problem.batch_key, request.want, request.differentiable, request.width


def group_by(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Items with equal keys, in the order in which keys first appear."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())


class Member(Generic[Found]):
    """One search under way. question: what it waits for, or None when it has ended, with ``result`` or ``error``."""

    def __init__(self, search: Posed[Found]) -> None:
        self._search = search
        self.result: Found | None = None
        self.error: Exception | None = None
        self.question: Question | None = None
        self.resume(None)

    @property
    def ended(self) -> bool:
        """Whether it waits for nothing more."""
        return self.question is None

    def resume(self, answers: Any) -> None:
        """Let it run up to its next request. answers: to the last one, or an exception to raise there."""
        self.question = None
        try:
            failed = isinstance(answers, Exception)
            self.question = self._search.throw(answers) if failed else self._search.send(answers)
        except StopIteration as end:
            self.result = end.value
        except Exception as error:
            self.error = error


class Driver(Generic[Found]):
    """Takes searches from request to request together."""

    def __init__(self, searches: Sequence[Posed[Found]]) -> None:
        self.members = [Member(search) for search in searches]

    def round(self) -> None:
        """Answer those that wait for what comes first, and let each run up to its next request.

        Each step of a search begins with a differentiable loss. Searches that wait for one are answered when no other
        is left, so that those that have fallen out of step meet again.
        """
        waiting = [(member, member.question) for member in self.members if member.question is not None]
        first = [pair for pair in waiting if not pair[1][1].differentiable] or waiting
        answers = answer_batch([question for _, question in first])
        for (member, _), each in zip(first, answers, strict=True):
            member.resume(each)

    def run(self) -> list[Found]:
        """What the searches find, in their order; the first error where one fails."""
        while not all(member.ended for member in self.members):
            self.round()
        for member in self.members:
            if member.error is not None:
                raise member.error
        return [member.result for member in self.members]  # type: ignore[misc]


def run_search(problem: Problem, search: Search[Found]) -> Found:
    """Run one search on ``problem``, and return what it finds."""
    return run_searches([pose(problem, search)])[0]


def run_searches(searches: Sequence[Posed[Found]]) -> list[Found]:
    """Run searches together, and return what they find, in their order; the first error where one fails."""
    return Driver(searches).run()
