"""Tables and sentences of a result."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffloom_fitting.gradient_check import GradientCheck, advise_on_gradient
from diffloom_fitting.numbers import (
    format_memory,
    format_number,
    format_percent,
    format_seconds,
    format_value,
    format_with_caveat,
)
from diffloom_fitting.results import Result
from diffloom_fitting.trust.ledger_words import describe_shares, make_ledger_rows
from diffloom_fitting.trust.uncertainty import Uncertainty

__all__ = ["get_estimate_heading", "list_ledger", "result_lines", "result_table", "verdict_lines"]


def result_table(result: Result) -> Table:
    """Return the estimates with their uncertainty, and the truth if it is known.

    Args:
        result: The result.

    Returns:
        A table for rich.
    """
    known = any(e.truth is not None for e in result.estimates)
    table = Table(title=None, header_style="bold")
    for name in ("unknown", "unit", "start", get_estimate_heading(result)):
        table.add_column(name, justify="left" if name in ("unknown", "unit") else "right")
    if known:
        table.add_column("truth", justify="right")
        table.add_column("error", justify="right")
    for e in result.estimates:
        row = [e.name, e.unit, format_value(e.start), format_with_caveat(format_value(e.found, e.deviation), e.caveat)]
        if known:
            row += ["" if e.truth is None else format_value(e.truth), format_percent(e.error)]
        table.add_row(*map(Text, row))
    return table


def get_estimate_heading(result: Result) -> str:
    """Return the heading of the estimates: "reached" for a red fit, else "found".

    Args:
        result: The result.

    Returns:
        The heading.
    """
    return "reached" if result.verdict.level == "red" else "found"


def verdict_lines(result: Result) -> list[str]:
    """Return the verdict as lines of text.

    Args:
        result: The result of a fit.

    Returns:
        A line for the overall level and one for each part; empty if the verdict was not asked for.
    """
    if result.uncertainty == "not asked for":
        return []
    verdict = result.verdict
    return [f"verdict: {verdict.level}", *(f"  {part}: {finding.text}" for part, finding in verdict.findings())]


def result_lines(result: Result) -> list[str]:
    """Return what a report says below the table, one sentence a line.

    Args:
        result: The result of a fit.

    Returns:
        Lines on goal, loss, time, views, holdout frames, uncertainty and gradients.
    """
    lines = [] if result.goal is None else [result.goal.words(result.steps)]
    lines += [
        f"loss {format_number(result.start_loss, 4)} -> {format_number(result.loss, 4)} in {result.iterations} "
        "iterations and "
        f"{format_seconds(result.seconds)}, {format_seconds(result.seconds_per_iteration)} each; peak memory "
        f"{format_memory(result.memory)}"
        + (f"; compiling, once, took another {format_seconds(result.compiling)}" if result.compiling >= 0.5 else ""),
        f"ended because {result.reason}",
    ]
    if result.views:
        lines.append(
            "loss by view: " + ", ".join(f"{label} {format_number(v, 4)}" for label, v in result.views.items())
        )
    if result.holdout_loss is not None and result.holdout_start_loss is not None:
        lines.append(
            f"loss on the holdout: {format_number(result.holdout_start_loss, 4)} -> "
            f"{format_number(result.holdout_loss, 4)}"
        )
    if result.track_pixels is not None:
        aside = (
            "" if result.holdout_pixels is None else f", {format_number(result.holdout_pixels, 3)} px on holdout frames"
        )
        lines.append(f"the object's centroid is off by {format_number(result.track_pixels, 3)} px (rms){aside}")
    if isinstance(result.uncertainty, Uncertainty) and result.uncertainty.noise > 1e-9 and _any_told(result):
        lines.append(describe_uncertainty(result.uncertainty, result.verdict.reasons))
        shown = {e.name: e.deviation for e in result.estimates if e.deviation is not None}
        if len(shown) == len(result.estimates):
            lines += describe_shares(result.uncertainty.ledger, shown, {e.name: e.unit for e in result.estimates})
    elif isinstance(result.uncertainty, str) and result.uncertainty != "not asked for":
        lines.append(f"no uncertainty (±): {result.uncertainty}")
    lines += [
        f"95 % of the posterior: {e.name} from {format_value(e.interval[0])} to {format_value(e.interval[1])} "
        f"{e.unit}".rstrip()
        for e in result.estimates
        if e.interval is not None
    ]
    lines += describe_gradients(result)
    return lines


def list_ledger(result: Result) -> list[dict[str, str]]:
    """Return what a fit took as known as rows of text, the largest part of ± first.

    Args:
        result: The result of a fit.

    Returns:
        Rows with the columns assumed, value, from, tolerance, part of ±, change by 1 % and what the pixels say; none
        for fits of synthetic videos.
    """
    return make_ledger_rows(result.uncertainty.ledger) if isinstance(result.uncertainty, Uncertainty) else []


def _any_told(result: Result) -> bool:
    return any(e.deviation is not None for e in result.estimates)


def describe_uncertainty(found: Uncertainty, reasons: str = "") -> str:
    """Explain in sentences what ± means and what it assumes.

    Args:
        found: The uncertainty of the fit.
        reasons: The parts of the verdict that are not green; empty if all are.

    Returns:
        The sentences, in one line.
    """
    told = found.meaning or f"± is one standard deviation, for noise of {format_number(found.noise, 3)} per pixel"
    if found.posterior is not None:
        count = found.posterior.draws.places.shape[0] * found.posterior.draws.places.shape[1]
        told += f", from {count} draws of the posterior"
    if found.inflation > 1.05:
        told += (
            ". The noise is correlated over neighbouring pixels and frames, so ± is up to "
            f"{format_number(found.inflation, 2)} times wider than for independent pixels"
        )
    if found.method == "blocks":
        told += ". ± is at least as wide as windows of time disagree"
    if reasons:
        return f"{told}. The verdict is not green, so the error may be larger than ±: {reasons}"
    return f"{told}. ± assumes that the residuals are noise and that the model is right"


def describe_gradients(result: Result) -> list[str]:
    """Describe the gradient check in a sentence; where a fit is not green, also what wide changes do to the loss."""
    check, wide = result.gradient, result.wide
    apart = []
    if result.verdict.level != "green" and wide is not None and math.isfinite(wide.cosine) and not wide.agrees():
        apart = [
            f"at the start, changes of {100 * wide.width:g} % change the loss {1.0 / max(wide.ratio, 1e-9):.2g} times "
            f"as much as the gradient says (cosine {wide.cosine:.2f}), so a fit may stop early; "
            f"{advise_on_gradient(result.experiment, check)}"
        ]
    if isinstance(check, GradientCheck):
        word = "agrees" if check.passed else "DOES NOT AGREE"
        return [f"gradient {word} with finite differences: worst error {check.worst:.1e}", *apart]
    return [] if check == "not asked for" else [f"gradient check failed: {check}"]


def summarise(result: Result) -> str:
    """Return a result in one line: verdict, estimates, loss and iterations.

    Args:
        result: The result.

    Returns:
        The line; at most four estimates are named.
    """
    level = "not judged" if result.uncertainty == "not asked for" else result.verdict.level
    told = [
        f"{e.name} = {format_with_caveat(format_value(e.found, e.deviation), e.caveat)} {e.unit}".rstrip()
        for e in result.estimates[:4]
    ]
    more = [f"{len(result.estimates) - 4} more"] if len(result.estimates) > 4 else []
    return (
        f"<Result: {level}; {', '.join([*told, *more])}; loss {format_number(result.loss, 4)} after "
        f"{result.iterations} iterations>"
    )


def plain_table(result: Result) -> str:
    """Return verdict, table and lines of a result as text."""
    console = Console(width=110, record=False, color_system=None, force_terminal=False)
    with console.capture() as capture:
        for line in verdict_lines(result):
            console.print(line, markup=False)
        console.print(result_table(result))
        for line in result_lines(result):
            console.print(line, markup=False)
    return capture.get()
