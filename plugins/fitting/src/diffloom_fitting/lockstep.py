"""Several searches at once, in lockstep: what they ask of their objectives is answered together.

A search is ordinary code that asks for one thing after the other: an optimiser's step, a start's stages, a chain of
draws. Each runs in a thread of its own, one at a time, until it asks; when all have asked, or ended, one simulation and
one drawing answer all of them. Since a batch has the bits of single runs, so have the searches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

#: Asks for some things at once, and has the answers to them.
Ask = Callable[[Sequence[Any]], list[Any]]


class _Cancelled(BaseException):
    """Raised in a search that nobody waits for any more."""


class Member:
    """One search. asked: what it waits for. ended: whether it has; then ``result`` and ``error`` tell how."""

    def __init__(self, search: Callable[[Ask], Any]) -> None:
        self.asked: Sequence[Any] = ()
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._search, self._cancelled = search, False
        self._answers: list[Any] = []
        self._go, self._stands = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._stands.acquire()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def rank(self) -> int:
        """When it is to be answered: the largest of its questions' own ``rank``."""
        return max((getattr(request, "rank", 0) for request in self.asked), default=0)

    def resume(self, answers: list[Any]) -> None:
        """Let it run until it asks again or ends; answers: to what it asked before."""
        self._answers = answers
        self._go.release()
        self._stands.acquire()

    def cancel(self) -> None:
        """End it where it waits, or will."""
        self._cancelled = True
        self._go.release()
        self._thread.join()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._cancelled:
                self.result = self._search(self._ask)
        except _Cancelled:
            pass
        except BaseException as error:
            self.error = error
        self.ended = True
        self._stands.release()

    def _ask(self, requests: Sequence[Any]) -> list[Any]:
        self.asked = requests
        self._stands.release()
        self._go.acquire()
        if self._cancelled:
            raise _Cancelled
        for answer in self._answers:
            if isinstance(answer, Exception):
                raise answer
        return self._answers


class Lockstep:
    """Searches that are taken from question to question together."""

    def __init__(self, searches: Sequence[Callable[[Ask], Any]], answer: Ask) -> None:
        """answer: an exception among the answers is raised where it was asked."""
        self._answer = answer
        self.members = [Member(search) for search in searches]
        for member in self.members:
            member.resume([])

    def round(self) -> None:
        """Answer those that wait for what comes first, and let each run up to its next question.

        Others wait on, so that searches that have fallen out of step find each other again at what comes last.
        """
        waiting = [member for member in self.members if not member.ended]
        first_rank = min(member.rank for member in waiting)
        waiting = [member for member in waiting if member.rank == first_rank]
        answers = self._answer([request for member in waiting for request in member.asked])
        first = 0
        for member in waiting:
            last = first + len(member.asked)
            member.resume(answers[first:last])
            first = last

    def close(self) -> None:
        """End those that still run."""
        for member in self.members:
            if not member.ended:
                member.cancel()


def in_lockstep(searches: Sequence[Callable[[Ask], Any]], answer: Ask) -> list[Any]:
    """What the searches find, in their order; the first error where one fails."""
    steps = Lockstep(searches, answer)
    try:
        while not all(member.ended for member in steps.members):
            steps.round()
    finally:
        steps.close()
    for member in steps.members:
        if member.error is not None:
            raise member.error
    return [member.result for member in steps.members]
