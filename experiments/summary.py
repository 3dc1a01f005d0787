"""Write the tables in README.md from the figures in results/: `python experiments/summary.py`."""

import json
import statistics
from pathlib import Path

FOLDER = Path(__file__).parent
MARKS = ("<!-- summary: begin -->", "<!-- summary: end -->")
MARKS_BESIDE = ("<!-- beside: begin -->", "<!-- beside: end -->")
OTHERS = ("3D states", "CMA-ES", "finite differences")
PAIRS = ("softras <- softras", "dibr <- dibr", "dibr <- softras", "softras <- dibr")
# Results of the paper from video (its Tables 1 to 3), and our aims.
KNOWN = {
    "rigid-mass": {"density": ("9.0e-5", 1e-6)},
    "rigid-contact-linear": {
        "mass": ("2.9e-4", 1e-3), "contact_damping": ("0.40", 1e-3), "contact_stiffness": ("0.0026", 1e-3),
        "friction_stiffness": ("0.0017", 1e-3), "friction": ("0.0073", 1e-3),
    },
    "fem-mass": {"mass": ("0.048", 1e-2)},
    "fem-material": {"shear_modulus": ("0.0054", 1e-3), "lame_modulus": ("0.0056", 1e-3)},
    "cloth-velocity": {"velocity": ("0.026", 5e-3)},
}  # fmt: skip


def table() -> str:
    """Median error and how many fits reach the goal, for each unknown and pair of renderers."""
    head = ["experiment", "unknown", "paper", "goal", *PAIRS, "s / fit"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, unknowns in KNOWN.items():
        fits = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
        own = [fit["processor_seconds"] for fit in fits if fit["pair"] in PAIRS[:2]]
        for number, (unknown, (paper, goal)) in enumerate(unknowns.items()):
            cells = [_cell([f for f in fits if f["pair"] == pair], unknown, goal) for pair in PAIRS]
            first = name if number == 0 else ""
            cost = f"{statistics.mean(own):.1f}" if number == 0 else ""
            lines.append("| " + " | ".join([first, unknown, paper, f"{goal:g}", *cells, cost]) + " |")
    return "\n".join(lines)


def comparison() -> str:
    """Beside ours (the soft rasterizer with its own videos): guesses, and the same experiment seen or searched
    otherwise. Median error, and the mean seconds of a fit."""
    head = ["experiment", "unknown", "random guess", "average guess", *OTHERS, "ours"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, unknowns in KNOWN.items():
        fits = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
        own = [fit for fit in fits if fit["pair"] == PAIRS[0]]
        for number, unknown in enumerate(unknowns):
            guesses = [
                f"{statistics.mean(_figures(own, unknown, key)):.2g}" for key in ("start_error", "average_error")
            ]
            parts = [[fit for fit in fits if fit["pair"] == label] for label in OTHERS]
            cells = [_timed(part, unknown, number == 0) for part in (*parts, own)]
            lines.append("| " + " | ".join([name if number == 0 else "", unknown, *guesses, *cells]) + " |")
    return "\n".join(lines)


def _figures(fits: list[dict], unknown: str, key: str) -> list[float]:
    return [e[key] for fit in fits for e in fit["estimates"] if e["name"] == unknown]


def _timed(fits: list[dict], unknown: str, first: bool) -> str:
    if not fits:
        return "not run"
    cost = f" ({statistics.mean(fit['processor_seconds'] for fit in fits):.1f} s)" if first else ""
    return f"{statistics.median(_figures(fits, unknown, 'error')):.0e}{cost}"


def _cell(fits: list[dict], unknown: str, goal: float) -> str:
    errors = _figures(fits, unknown, "error")
    if not errors:
        return "not run"
    reached = sum(error <= goal for error in errors)
    return f"{statistics.median(errors):.0e} ({reached}/{len(errors)})"


def main() -> None:
    """Put the tables between the marks."""
    page = FOLDER / "README.md"
    text = page.read_text(encoding="utf-8")
    for (begin, end), made in ((MARKS, table()), (MARKS_BESIDE, comparison())):
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{made}\n{end}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
