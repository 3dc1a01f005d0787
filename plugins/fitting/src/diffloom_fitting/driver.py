"""Driver of searches: gathers their requests, answers those that belong together as a batch, and resumes the searches.

Searches are independent. In each round the driver answers requests of one kind and lets each search run up to its next
request. A batch has the bits of single evaluations, so a search finds the same alone and in a batch. Between two
iterations of a fit its state is plain data (`Progress`, `FitState`), so every search can be stored and resumed there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from diffloom_fitting.problem import Evaluate, Evaluation, Found, Problem, Question, Search

__all__ = ["Driver", "Posed", "pose", "put", "run_search", "run_searches"]

Item = TypeVar("Item")
#: A search whose requests name their problem; it may use several problems.
Posed = Generator[Question, list[Any], Found]


def pose(problem: Problem, search: Search[Found]) -> Posed[Found]:
    """Address the requests of a search to a problem.

    A gradient at a new point becomes two requests, first the loss, then the gradient, so that searches that want the
    gradient at once share simulations with those that check the loss first.

    Args:
        problem: The problem.
        search: The search.

    Returns:
        A search whose requests name the problem.
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
    """Send one request to a problem, from within a search: ``answers = yield from put(problem, request)``.

    Args:
        problem: The problem.
        request: The request.

    Returns:
        The answers.
    """
    if request.want == "residuals" and all(isinstance(point, Evaluation) for point in request.points):
        (known,) = answer_batch([(problem, request)])  # answered at once, because nothing is simulated
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
    """Return the answers to each request, or its exception; requests that belong together are evaluated as a batch."""
    found: dict[int, Any] = {}
    for group in group_by(range(len(questions)), lambda k: _kind(questions[k])):
        asked = [questions[k] for k in group]
        found |= dict(zip(group, asked[0][0].evaluate_batch(asked), strict=True))
    return [found[k] for k in range(len(questions))]


def _kind(question: Question) -> Hashable:
    problem, request = question
    return problem.batch_key, request.want, request.differentiable, request.width


def group_by(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items with equal keys, in the order in which the keys first appear."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())


class Member(Generic[Found]):
    """One running search.

    ``question`` is the request that it waits for; None when it has ended, with ``result`` or ``error``.
    """

    def __init__(self, search: Posed[Found]) -> None:
        self._search = search
        self.result: Found | None = None
        self.error: Exception | None = None
        self.question: Question | None = None
        self.resume(None)

    @property
    def ended(self) -> bool:
        """True if the search has ended."""
        return self.question is None

    def resume(self, answers: Any) -> None:
        """Run the search up to its next request.

        Args:
            answers: Answers to the last request, or an exception to raise in the search.
        """
        self.question = None
        try:
            failed = isinstance(answers, Exception)
            self.question = self._search.throw(answers) if failed else self._search.send(answers)
        except StopIteration as end:
            self.result = end.value
        except Exception as error:
            self.error = error


class Driver(Generic[Found]):
    """Driver of several searches.

    Args:
        searches: Searches whose requests name their problem.
    """

    def __init__(self, searches: Sequence[Posed[Found]]) -> None:
        self.members = [Member(search) for search in searches]

    def round(self) -> None:
        """Answer the requests of one kind, and let their searches run up to the next request.

        Each step of a search begins with a differentiable loss. These requests are answered last, so that searches
        resynchronise.
        """
        waiting = [(member, member.question) for member in self.members if member.question is not None]
        first = [pair for pair in waiting if not pair[1][1].differentiable] or waiting
        answers = answer_batch([question for _, question in first])
        for (member, _), each in zip(first, answers, strict=True):
            member.resume(each)

    def run(self) -> list[Found]:
        """Run all searches to their end.

        Returns:
            Their results, in their order.

        Raises:
            Exception: The first error, if a search fails.
        """
        while not all(member.ended for member in self.members):
            self.round()
        for member in self.members:
            if member.error is not None:
                raise member.error
        return [member.result for member in self.members]  # type: ignore[misc]


def run_search(problem: Problem, search: Search[Found]) -> Found:
    """Run one search.

    Args:
        problem: Problem of its requests.
        search: The search, such as ``optimiser.begin(...)``.

    Returns:
        Its result.
    """
    return run_searches([pose(problem, search)])[0]


def run_searches(searches: Sequence[Posed[Found]]) -> list[Found]:
    """Run searches together.

    Args:
        searches: Searches whose requests name their problem (`pose`).

    Returns:
        Their results, in their order.

    Raises:
        Exception: The first error, if a search fails.
    """
    return Driver(searches).run()
