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
        f"Pictures {first['size'][1]}x{first['size'][0]}, {first['frames']} frames in the loss, {first['steps']} "
        "physics steps. Errors are mean |found - truth| / mean |truth| of one fit, summed up over seeds by their mean, "
        "standard deviation, median and worst. *start* is the mean error of the guesses the fits began with; *average* "
        "that of guessing the mean truth. Seconds are of one processor core.",
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
                _average(outcomes, name), statistics.mean(starts), statistics.mean(errors), statistics.pstdev(errors),
                statistics.median(errors), max(errors),
            ]  # fmt: skip
            begin = [label, str(len(outcomes))] if number == 0 else ["", ""]
            rows.append(_row([*begin, name, *(short(f) for f in figures), *cost]))
    return rows


def _shares(outcomes: Sequence[Outcome]) -> str:
    """The parts of the fits' time in percent, the largest first."""
    total: dict[str, float] = {}
    for outcome in outcomes:
        for part, spent in outcome["seconds_by_part"].items():
            total[part] = total.get(part, 0.0) + spent
    whole = sum(total.values()) or 1.0
    order = sorted(total.items(), key=lambda item: -item[1])
    return ", ".join(f"{part} {100.0 * spent / whole:.0f} %" for part, spent in order)


def _average(outcomes: Sequence[Outcome], name: str) -> float | None:
    """Mean relative error of always guessing the mean of the truths; None for what is not one number."""
    truths = [_estimate(o, name)["truth"] for o in outcomes]
    if not all(isinstance(truth, (int, float)) for truth in truths):
        return None
    guess = statistics.mean(truths)
    return float(statistics.mean(abs(guess - truth) / abs(truth) if truth else abs(guess) for truth in truths))


def sweep_data(pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[Outcome]:
    """The figures of every fit, one plain record each; values only of unknowns that are one number."""
    return [_record(label, outcome) for label, outcomes in pairs for outcome in outcomes]


def _record(label: str, o: Outcome) -> Outcome:
    kept = ("seed", "loss", "start_loss", "held_loss", "reason", "iterations", "evaluations", "seconds",
            "processor_seconds", "seconds_by_part", "peak_memory_bytes")  # fmt: skip
    estimates = [
        {k: e[k] for k in ("name", "unit", "error", "start_error", "start", "found", "truth") if not _many(e[k])}
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
