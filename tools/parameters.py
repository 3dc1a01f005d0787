"""The page of parameters, from the specs of every model and obstacle that is installed. mkdocs puts it in."""

from typing import Any

import torch

from diffloom.interfaces import ParamSpec
from diffloom.plugins import MODELS, get_model, installed_registry
from diffloom_fitting import Orbit
from diffloom_testing.term_hosts import term_subject

MOST = 4  # numbers of a default that are written
OBSTACLES = ("plane", "sphere", "box", "capsule", "height_field", "mesh")
HEAD = """# Parameters

What every model and obstacle can be given, as it declares it: this page is made from their specs whenever the
documentation is built. A default "as built" follows from the mesh, the bodies or the links; "none" is absent unless it
is given. What is bounded below by 0 alone is fitted in log space. Axes such as `particles` take one value for all, or
one each; a control may have a row a step.
"""


def page() -> str:
    """The whole page; models are the small examples that their own checks use."""
    parts = [HEAD]
    for name in model_names():
        parts += [f"## {name}\n", table(get_model(name).example().specs), ""]
    parts += ["## Obstacles\n", "Terms of [any model](../terms.md), each under the name you give it.\n"]
    for name in OBSTACLES:
        parts += [f"### {name}\n", table(tuple(term_subject(name).term.specs)), ""]
    parts += ["## Cameras: orbit\n", "Sought as `camera.<name>`.\n", table(Orbit().specs), ""]
    return "\n".join(parts).rstrip() + "\n"


def model_names() -> tuple[str, ...]:
    """Return the names of the installed models that come with this project, sorted."""
    entries = installed_registry().entries(MODELS)
    return tuple(entry.name for entry in entries if entry.origin.distribution.startswith("diffloom-"))


def table(specs: tuple[ParamSpec, ...]) -> str:
    """One row a parameter."""
    rows = ["| name | default | unit | bounds | axes | meaning |", "|---|---|---|---|---|---|"]
    for spec in specs:
        axes = " × ".join(map(str, spec.shape)) + (", per step" if spec.per_step else "")
        cells = (f"`{spec.name}`", default(spec.default), spec.unit or "1", bounds(spec.bounds), axes, spec.doc)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def default(value: Any) -> str:
    """A default in short."""
    if value is None:
        return "none"
    flat = torch.as_tensor(value, dtype=torch.float64).flatten().tolist()
    if len(flat) > MOST:
        return "as built" if len(set(flat)) > 1 else f"{flat[0]:g}"
    return f"{flat[0]:g}" if len(flat) == 1 else "(" + ", ".join(f"{number:g}" for number in flat) + ")"


def bounds(pair: tuple[float | None, float | None]) -> str:
    """Return the bounds as text; empty without bounds."""
    low, high = pair
    if low is None and high is None:
        return ""
    if high is None:
        return f"≥ {low:g}"
    return f"≤ {high:g}" if low is None else f"{low:g} to {high:g}"
