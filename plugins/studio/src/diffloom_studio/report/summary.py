"""What the page says in numbers and sentences."""

from __future__ import annotations

from diffloom_fitting.numbers import memory, number, percent, pretty_unit, seconds, shown, shown_lines, with_caveat
from diffloom_fitting.result import Result
from diffloom_fitting.result_tables import found_word
from diffloom_fitting.stopwatch import PARTS


def headline(result: Result) -> str:
    """What was found, in a sentence."""
    if result.goal is not None:
        told = result.goal.words(result.steps)
        return f"{told[0].upper()}{told[1:]}."
    parts = []
    for e in result.estimates[:4]:
        unit = f" {pretty_unit(e.unit)}" if e.unit else ""
        told = f"{e.name} = {shown(e.found, e.deviation if e.found.numel() == 1 else None)}{unit}"
        told = with_caveat(told, e.caveat)
        parts.append(told + (f", {percent(e.error)} from the truth" if e.error is not None else ""))
    more = len(result.estimates) - 4
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."


def cards(result: Result) -> list[tuple[str, str]]:
    """The key figures: (figure, what it is)."""
    found = [
        (number(result.loss, 3), f"loss, from {number(result.start_loss, 3)}"),
        (str(result.iterations), "iterations"),
        (seconds(result.seconds), "fitting time"),
        (seconds(result.seconds_per_iteration), "per iteration"),
        (memory(result.memory), "peak memory"),
    ]
    if result.compiling >= 0.5:
        found.insert(4, (seconds(result.compiling), "compiling, once"))
    if result.holdout_loss is not None:
        found.insert(1, (number(result.holdout_loss, 3), "loss on frames kept aside"))
    return found


def rows(result: Result) -> list[dict[str, list[str]]]:
    """The table of estimates, each cell in lines; truth and error only where a truth is known."""
    known = any(e.truth is not None for e in result.estimates)
    found = []
    for e in result.estimates:
        row = {
            "unknown": [e.name],
            "unit": [pretty_unit(e.unit)],
            "start": shown_lines(e.start),
            found_word(result): [*shown_lines(e.found, e.deviation), *([f"({e.caveat})"] if e.caveat else [])],
        }
        if known:
            row |= {"truth": [] if e.truth is None else shown_lines(e.truth), "error": [percent(e.error)]}
        found.append(row)
    return found


def shares(result: Result) -> list[tuple[str, float, str]]:
    """Where the time went: (part, percent of all, seconds)."""
    total = sum(result.shares.values())
    parts = [p for p in PARTS if p in result.shares]
    return [(p, 100.0 * result.shares[p] / total, seconds(result.shares[p])) for p in parts] if total > 0.0 else []
