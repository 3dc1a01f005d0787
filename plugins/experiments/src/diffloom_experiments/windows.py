"""Unknowns of windows: what a file says of all of them, said of each."""

from __future__ import annotations

from collections.abc import Sequence

from diffloom.interfaces import InputError
from diffloom_experiments.schema import ExperimentFile, UnknownTable
from diffloom_fitting.scene.windows import OF_WINDOW


def of_windows(content: ExperimentFile, count: int) -> ExperimentFile:
    """The file with an unknown for each of ``count`` windows in place of those that each has of its own; stages and
    priors that name them name all."""
    own = {name: table for name, table in content.unknowns.items() if table.windows}
    if not own:
        return content
    if count < 2:
        raise InputError(f"unknowns.{next(iter(own))}: windows = true needs windows; give time.windows or guess them")
    unknowns: dict[str, UnknownTable] = {}
    for name, table in content.unknowns.items():
        unknowns |= _each(name, table, count) if name in own else {name: table}
    stages = [s.model_copy(update={"only": None if s.only is None else _named(s.only, own, count)})
              for s in content.stages]  # fmt: skip
    gaussian = {one: t for name, t in content.prior.gaussian.items() for one in _named([name], own, count)}
    prior = content.prior.model_copy(update={"gaussian": gaussian})
    return content.model_copy(update={"unknowns": unknowns, "stages": stages, "prior": prior})


def _each(name: str, table: UnknownTable, count: int) -> dict[str, UnknownTable]:
    starts = table.start
    if not isinstance(starts, list):
        starts = [starts] * count
    if len(starts) != count:
        raise InputError(f"unknowns.{name}.start: got {len(starts)} values; expected one, or one for each of {count}")
    return {
        f"{name}{OF_WINDOW}{number + 1}": table.model_copy(update={"start": start, "windows": False})
        for number, start in enumerate(starts)
    }


def _named(names: Sequence[str], own: dict[str, UnknownTable], count: int) -> list[str]:
    return [one for n in names for one in ([f"{n}{OF_WINDOW}{k + 1}" for k in range(count)] if n in own else [n])]
