"""Sentences and rows on what a fit took as known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from diffloom_fitting.numbers import format_number
from diffloom_fitting.trust.ledger import BEYOND, Ledger, LedgerEntry

SEVERAL = 2.0  # change of an unknown, in deviations, by what the pixels say of the assumptions, of an amber fit
MATTERS = 0.5  # change of an unknown, in deviations, from which on a contradicted assumption matters
TOLD = 2  # number of assumptions in a sentence
ABSOLUTE = ("deg", "m", "px", "s", "rad", "m/s", "rad/s", "1/s")  # units in which a share of the value says little
LEAST = 0.1  # least share of ± that is worth a sentence
#: Entries without a tolerance of their own, with the entry or the test that prices them.
PRICED_BY = {
    "time.dt": "by half the step",
    "integrator": "by half the step, with time.dt",
    "model and law of contact": "by its constants, and by the tests of misfit",
    "renderer": "by exact coverage",
    "blur, light and lag of the camera": "by the pixels",
    "segmentation": "0.25 px",
    "place in frames": "by the displacement that remains",
    "what the pixels contradict": "by its correction",
}


def describe_doubts(ledger: Ledger, deviation: Mapping[str, Tensor]) -> str:
    """Describe the assumptions that are unlikely in themselves or that the pixels contradict.

    Args:
        ledger: The ledger of the fit.
        deviation: Deviations of the unknowns, by name.

    Returns:
        A sentence with the key to change; empty if there is no doubt.
    """
    if ledger.doubts:
        return ledger.doubts[0]
    whole = _flatten(deviation)
    against = any(one.contradicted and _moved(one, whole) > MATTERS for one in ledger.entries)
    if not against and ledger.shift <= SEVERAL:
        return ""
    best = max(ledger.entries, key=lambda one: one.explains)
    if best.explains > BEYOND**2:
        return f"{describe_difference(best)}; ± includes the change; {_advise(best)}"
    return (
        "the pixels contradict what was taken as known: within the tolerances of the ledger an unknown would "
        f"change by {format_number(ledger.shift, 2)} standard deviations; ± includes the change; measure "
        "the largest of them"
    )


def advise_on_doubts(ledger: Ledger, deviation: Mapping[str, Tensor]) -> str:
    """Advise on the assumption that the pixels contradict.

    Args:
        ledger: The ledger of the fit.
        deviation: Deviations of the unknowns, by name.

    Returns:
        A sentence; empty if there is no doubt.
    """
    if ledger.doubts or not describe_doubts(ledger, deviation):
        return ""
    best = max(ledger.entries, key=lambda one: one.explains)
    said = _advise(best)
    return f"What the fit takes as known does not fit the video, first of all {best.name}: {said}."


def describe_difference(one: LedgerEntry) -> str:
    """Describe the difference of an assumption from what the pixels say.

    Args:
        one: The entry of the ledger.

    Returns:
        Half a sentence, such as "the video contradicts what the fit takes as known; a camera.roll of 1.9 ± 0.2 deg in
        place of 0 would explain it best".
    """
    assert not isinstance(one.value, str)
    seen, doubt = format_number(one.value - one.alone, 4), format_number(one.alone_deviation, 2)
    unit = f" {one.unit}" if one.unit else ""
    return (
        f"the video contradicts what the fit takes as known; a {one.name} of {seen} ± {doubt}{unit} in place of "
        f"{format_number(one.value, 4)} would explain it best"
    )


def _advise(one: LedgerEntry) -> str:
    exact = f'or [assumed] "{one.name}" with its true tolerance'
    if not one.seek:
        return f"correct it, {exact}"
    return f'correct it, or let the fit seek it: [assumed] "{one.seek}" = "seek"; {exact}'


def _moved(one: LedgerEntry, whole: Sequence[float]) -> float:
    """Return the largest change of an unknown, in deviations, by the difference of an assumption."""
    times = abs(one.off) / one.tolerance if one.tolerance else 0.0
    parts = [times * abs(c) / w for c, w in zip(one.change, whole, strict=True) if math.isfinite(w) and w > 0.0]
    return max(parts, default=0.0)


def _flatten(deviation: Mapping[str, Tensor]) -> list[float]:
    return torch.cat([value.reshape(-1).double() for value in deviation.values()]).tolist() if deviation else []


def describe_shares(ledger: Ledger, deviation: Mapping[str, Tensor], units: Mapping[str, str]) -> list[str]:
    """Describe the largest parts of ± that come from what a fit took as known, a line for each unknown.

    Args:
        ledger: The ledger.
        deviation: Deviations of the unknowns, by name.
        units: Their units, by name.

    Returns:
        Lines such as "gravity: of ± 0.21 m/s^2, 0.18 come from size (± 1 %)".
    """
    lines, number = [], 0
    for name, value in deviation.items():
        for whole in value.reshape(-1).tolist():
            label, i = ledger.labels[number] if ledger.labels else name, number
            number += 1
            if not ledger.entries or not math.isfinite(whole) or whole <= 0.0:
                continue
            largest = sorted(ledger.entries, key=lambda one: -one.share[i])[:TOLD]
            parts = [f"{format_number(one.share[i], 2)} {'come' if k == 0 else ''} from {one.name}{_bracket(one)}"
                     for k, one in enumerate(largest) if one.share[i] > LEAST * whole]  # fmt: skip
            if parts:
                unit = f" {units[name]}" if units.get(name) else ""
                told = " and ".join(" ".join(part.split()) for part in parts)
                lines.append(f"{label}: of ± {format_number(whole, 2)}{unit}, {told}")
    return lines


def _bracket(one: LedgerEntry) -> str:
    told = describe_tolerance(one)
    return f" ({told})" if told else ""


def describe_tolerance(one: LedgerEntry) -> str:
    """Describe a tolerance, such as "± 2 %" or "± 1 deg"; empty for errors that have a test of their own.

    Args:
        one: The entry.

    Returns:
        The text.
    """
    if not one.tolerance or isinstance(one.value, str):
        return ""
    if (one.unit in ABSOLUTE and "distance" not in one.name) or not one.value:
        return f"± {format_number(one.tolerance, 2)} {one.unit}".strip()
    return f"± {format_number(100.0 * one.tolerance / abs(one.value), 2)} %"


def make_ledger_rows(ledger: Ledger) -> list[dict[str, str]]:
    """Return the ledger as rows of text for a table.

    Args:
        ledger: The ledger.

    Returns:
        Rows with the columns assumed, value, from, tolerance, part of ±, per cent and pixels.
    """
    rows = []
    for one in ledger.entries:
        value = one.value if isinstance(one.value, str) else f"{format_number(one.value, 4)} {one.unit}".strip()
        seen = ""
        if math.isfinite(one.off_deviation) and one.off_deviation < one.tolerance and not isinstance(one.value, str):
            seen = f"{format_number(one.value - one.off, 4)} ± {format_number(one.off_deviation, 2)}"
        rows.append({
            "assumed": one.name, "value": value, "from": one.origin,
            "tolerance": describe_tolerance(one) or PRICED_BY.get(one.name, ""),
            "part of ±": _join(ledger.labels, one.share), "change by 1 %": _join(ledger.labels, one.percent, "+.2g"),
            "the pixels say": seen,
        })  # fmt: skip
    return rows


def _join(labels: Sequence[str], numbers: Sequence[float], form: str = ".2g") -> str:
    pairs = zip(labels, numbers, strict=False)
    return ", ".join(f"{label.replace(', ', ',')} {number:{form}}" for label, number in pairs)
