"""The cases of a sweep on an engine: those that are finished are read, the others run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffloom_scale.engines import Engine
from diffloom_scale.engines.local import LocalPool
from diffloom_scale.sweeps.case import Case, Task, fit_task, keep_outcome, place_of, read_outcome


def outcomes_of(cases: Sequence[Case], store: str, engine: Engine) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of the case, its outcome), as they finish. Outcomes are kept here, not where a case ran: whatever is
    stopped goes on from what had come back."""
    places = [place_of(case, store)[0] for case in cases]
    missing = []
    for number, kept in enumerate(places):
        found = read_outcome(kept)
        if found is None:
            missing.append(number)
        else:
            yield number, found
    alone = isinstance(engine, LocalPool) and engine.jobs <= 1
    tasks = [Task(cases[n], _text(cases[n].file), None if alone else 1) for n in missing]
    for k, found in engine.run(fit_task, tasks):
        yield missing[k], keep_outcome(places[missing[k]], found)


def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")
