"""Outcomes of a sweep as Markdown, and as data."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

Outcome = dict[str, Any]


def sweep_table(title: str, pairs: Sequence[tuple[str, Sequence[Outcome]]], note: str = "") -> str:
    """A document: a summary with one row per pair of renderers, then every seed.

    pairs: (label, outcomes). Errors are relative: mean |found - truth| / mean |truth|.
    """
    names = [e["name"] for e in pairs[0][1][0]["estimates"]]
    lines = [f"# {title}", ""]
    if note:
        lines += [note, ""]
    first = pairs[0][1][0]
    lines += [
        f"Images {first['size'][1]}x{first['size'][0]}, {first['frames']} frames in the loss, {first['steps']} "
        "physics steps. Errors are mean |found - truth| / mean |truth| of one fit, summed up over seeds by their mean, "
        "standard deviation, median and worst. *start* is the mean error of the guesses the fits began with; *average* "
        "that of guessing their mean. Seconds are of one processor core; memory is the "
        "peak of the process, whose fits ran one after another.",
        "",
        *_summary(names, pairs),
        "",
        *(f"* Where the time of {label} went: {_shares(outcomes)}." for label, outcomes in pairs[:2]),
    ]
    for label, outcomes in pairs:
        lines += ["", f"## {label}", "", *_seeds(names, outcomes)]
    return "\n".join(lines) + "\n"


def _summary(names: Sequence[str], pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[str]:
    head = ["fit <- target", "seeds", "unknown", "average", "start", "mean", "deviation", "median", "worst", "s / fit",
            "s / iteration", "peak memory"]  # fmt: skip
    rows = [_row(head), _row(["---"] * len(head))]
    for label, outcomes in pairs:
        for number, name in enumerate(names):
            errors = [_estimate(o, name)["error"] for o in outcomes]
            starts = [_estimate(o, name)["start_error"] for o in outcomes]
            cost = ["", "", ""]
            if number == 0:
                cost = [
                    f"{statistics.mean(o['processor_seconds'] for o in outcomes):.1f}",
                    f"{statistics.mean(o['processor_seconds'] / max(1, o['iterations']) for o in outcomes):.3f}",
                    f"{max(o['peak_memory_bytes'] for o in outcomes) / 2**20:.0f} MB",
                ]
            figures = [
                statistics.mean(average_errors(outcomes, name)), statistics.mean(starts), statistics.mean(errors),
                statistics.pstdev(errors), statistics.median(errors), max(errors),
            ]  # fmt: skip
            begin = [label, str(len(outcomes))] if number == 0 else ["", ""]
            rows.append(_row([*begin, name, *(short(f) for f in figures), *cost]))
    return rows


def _shares(outcomes: Sequence[Outcome]) -> str:
    """The parts of a fit's time in percent, the largest first: the median over fits, for a machine that others use may
    stop one of them for a while."""
    parts = {part for outcome in outcomes for part in outcome["seconds_by_part"]}
    usual = {part: statistics.median(_share(outcome, part) for outcome in outcomes) for part in parts}
    whole = sum(usual.values()) or 1.0
    order = sorted(usual.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{part} {100.0 * share / whole:.0f} %" for part, share in order)


def _share(outcome: Outcome, part: str) -> float:
    spent: dict[str, float] = outcome["seconds_by_part"]
    return spent.get(part, 0.0) / (sum(spent.values()) or 1.0)


def average_errors(outcomes: Sequence[Outcome], name: str) -> list[float]:
    """For each fit, the error of guessing the mean of all fits' starts instead: the middle of what was thought
    possible."""
    starts = [_flat(_estimate(o, name)["start"]) for o in outcomes]
    guess = [statistics.mean(column) for column in zip(*starts, strict=True)]
    errors = []
    for outcome in outcomes:
        truth = _flat(_estimate(outcome, name)["truth"])
        wanted = truth * (len(guess) // len(truth))
        size = statistics.mean(abs(t) for t in wanted)
        errors.append(statistics.mean(abs(g - t) for g, t in zip(guess, wanted, strict=True)) / (size or 1.0))
    return errors


def sweep_data(pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[Outcome]:
    """The figures of every fit, one plain record each; values only of unknowns that are one number."""
    return [record for label, outcomes in pairs for record in _records(label, outcomes)]


def _records(label: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    names = [e["name"] for e in outcomes[0]["estimates"]]
    guessed = {name: average_errors(outcomes, name) for name in names}
    return [_record(label, o, {name: guessed[name][k] for name in names}) for k, o in enumerate(outcomes)]


def _record(label: str, o: Outcome, guessed: dict[str, float]) -> Outcome:
    kept = ("seed", "loss", "start_loss", "holdout_loss", "reason", "iterations", "evaluations", "seconds",
            "processor_seconds", "seconds_by_part", "peak_memory_bytes")  # fmt: skip
    estimates = [
        {k: e[k] for k in ("name", "unit", "error", "start_error", "start", "found", "truth") if not _many(e[k])}
        | {"average_error": guessed[e["name"]]}
        for e in o["estimates"]
    ]
    return {"pair": label, **{name: o[name] for name in kept}, "estimates": estimates}


def _many(value: Any) -> bool:
    return isinstance(value, list)


def _seeds(names: Sequence[str], outcomes: Sequence[Outcome]) -> list[str]:
    head = ["seed", *(f"{n}: truth" for n in names[:1]), *(f"error of {n}" for n in names), "loss", "iterations", "s"]
    rows = [_row(head), _row(["---"] * len(head))]
    for o in outcomes:
        truth = _estimate(o, names[0])["truth"]
        rows.append(
            _row(
                [
                    str(o["seed"]),
                    brief_truth(truth),
                    *(short(_estimate(o, n)["error"]) for n in names),
                    short(o["loss"]),
                    str(o["iterations"]),
                    f"{o['processor_seconds']:.1f}",
                ]
            )
        )
    return rows


def brief_truth(truth: Any) -> str:
    """A true value, or the mean of many."""
    flat = _flat(truth)
    return f"{flat[0]:.4g}" if len(flat) == 1 else f"mean {sum(flat) / len(flat):.4g}"


def short(value: float | None) -> str:
    """A figure in two digits."""
    return (
        "" if value is None else f"{value:.1e}" if value == 0.0 or abs(math.log10(abs(value))) > 2 else f"{value:.2g}"
    )


def _estimate(outcome: Outcome, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in outcome["estimates"] if e["name"] == name)
    return found


def _flat(value: Any) -> list[float]:
    return [x for item in value for x in _flat(item)] if isinstance(value, list) else [float(value)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
