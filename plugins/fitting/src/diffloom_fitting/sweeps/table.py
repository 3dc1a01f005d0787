"""Outcomes of a sweep as Markdown."""

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
        f"{len(pairs[0][1])} seeds; pictures {first['size'][1]}x{first['size'][0]}, {first['frames']} frames in the "
        f"loss, {first['steps']} physics steps. Errors are mean |found - truth| / mean |truth|; *start* is the "
        "error of the guess each fit began with.",
        "",
        *_summary(names, pairs),
    ]
    for label, outcomes in pairs:
        lines += ["", f"## {label}", "", *_seeds(names, outcomes)]
    return "\n".join(lines) + "\n"


def _summary(names: Sequence[str], pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[str]:
    head = ["fit <- target", "unknown", "start", "mean", "median", "worst", "s / fit", "s / iteration", "peak memory"]
    rows = [_row(head), _row(["---"] * len(head))]
    for label, outcomes in pairs:
        for number, name in enumerate(names):
            errors = [_estimate(o, name)["error"] for o in outcomes]
            starts = [_estimate(o, name)["start_error"] for o in outcomes]
            cost = ["", "", ""]
            if number == 0:
                cost = [
                    f"{statistics.mean(o['seconds'] for o in outcomes):.1f}",
                    f"{statistics.mean(o['seconds'] / max(1, o['iterations']) for o in outcomes):.3f}",
                    f"{max(o['peak_memory_bytes'] for o in outcomes) / 2**20:.0f} MB",
                ]
            figures = [statistics.mean(starts), statistics.mean(errors), statistics.median(errors), max(errors)]
            rows.append(_row([label if number == 0 else "", name, *(short(f) for f in figures), *cost]))
    return rows


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
                    f"{o['seconds']:.1f}",
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
