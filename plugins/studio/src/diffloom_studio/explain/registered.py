"""Pages on registered things, their settings and their parameters, generated from docstrings, signatures and specs."""

import inspect
import re
from typing import Any

from diffloom.plugins import Entry, PluginError
from diffloom_studio.explain.page import Page

#: How an experiment file names a thing of a kind.
IN_A_FILE = {
    "model": '[model] name = "{0}"',
    "integrator": '[time] integrator = "{0}"',
    "term": '[[terms]] kind = "{0}" and a name of your own',
    "renderer": '[renderer] name = "{0}", settings in [renderer.{0}]',
    "contact law": '[model] contact = "{0}"',
    "loss": '[loss] name = "{0}"',
    "optimiser": '[[stages]] optimiser = "{0}", or {{name = "{0}", ...}} with settings',
    "video reader": '[target] reader = "{0}"',
    "camera": '[camera] kind = "{0}", settings in [camera.settings]',
}

#: How it names a parameter, of a model and of other things.
IN_PARAMS = "[params] {0} = ...; to be found: [unknowns.{0}]"
PARAMETER_IN_A_FILE = {
    "camera": '[camera] {0} = ...; to be found: [unknowns."camera.{0}"]',
    "term": '[params] "<name>.{0}" = ...; to be found: [unknowns."<name>.{0}"]',
}


def entry_page(entry: Entry) -> Page:
    """What a registered thing is, what can be set, and, of a model, what its parameters are."""
    title = f"{entry.name}: {entry.kind.singular} of the plugin {entry.origin.plugin} ({entry.origin})"
    reason = entry.unavailable()
    try:
        thing = entry.load() if reason is None else None
    except PluginError as error:
        reason = str(error)
        thing = None
    if thing is None:
        return Page(title, entry.summary, (("unavailable", str(reason)),))
    if entry.kind.singular == "command":
        return Page(title, f"{entry.summary}.\n\n{thing.help or ''}", (("options", f"diffloom {entry.name} --help"),))
    rows = [("settings", ", ".join(_said(p) for p in settings(thing).values()) or "none")]
    if entry.kind.singular in IN_A_FILE:
        rows.append(("in a file", IN_A_FILE[entry.kind.singular].format(entry.name)))
    table = tuple((spec.name, spec.unit or "-", spec.doc) for spec in parameters(thing))
    text = f"{entry.summary}.\n\n{_doc(thing)}"
    return Page(title, text, tuple(rows), "parameters" if table else "", table)


def member_page(entry: Entry, member: str) -> Page | None:
    """What a parameter or setting of a registered thing means; None when it has none of this name."""
    try:
        thing = entry.load()
    except PluginError as error:
        return Page(f"{entry.name}.{member}", str(error))
    of = f"of the {entry.kind.singular} {entry.name} ({entry.origin})"
    for spec in parameters(thing):
        if spec.name == member:
            return Page(f"{entry.name}.{member}: parameter {of}", spec.doc, _spec_rows(entry.kind.singular, spec))
    if member in settings(thing):
        found = settings(thing)[member]
        default = "none: it must be given" if found.default is found.empty else repr(found.default)
        rows = [("type", _annotation(found))] if found.annotation is not found.empty else []
        return Page(f"{entry.name}.{member}: setting {of}", _about(member, _doc(thing)), (*rows, ("default", default)))
    return None


def members(entry: Entry) -> list[str]:
    """Names of all parameters and settings; none of what cannot be loaded."""
    try:
        thing = entry.load()
    except PluginError:
        return []
    return list(dict.fromkeys([*(spec.name for spec in parameters(thing)), *settings(thing)]))


def settings(thing: Any) -> dict[str, inspect.Parameter]:
    """What a thing is made with, by name."""
    try:
        found = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}
    return {name: p for name, p in found.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}


def parameters(thing: Any) -> tuple[Any, ...]:
    """The declared parameters of a model, read off its example; those of other things that declare some, off one made
    with default settings."""
    declared = inspect.isclass(thing) and hasattr(thing, "specs")
    if not declared:
        return ()
    try:
        wants = inspect.signature(thing.example).parameters if hasattr(thing, "example") else None
        # The example of a term wants to know what it acts on; its parameters are the same everywhere.
        made = thing() if wants is None or wants else thing.example()
        return tuple(made.specs)
    except Exception:
        return ()  # It has no example, or that fails: `diffloom plugins check` says why.


def _spec_rows(kind: str, spec: Any) -> tuple[tuple[str, str], ...]:
    shape = f"({', '.join(map(str, spec.shape))}{',' if len(spec.shape) == 1 else ''})" if spec.shape else "one number"
    low, high = spec.bounds
    space = "free" if low is None else "log" if high is None else "bounded"
    bounds = {"free": "none", "log": f"at least {low:g}" if low is not None else ""}.get(space, f"{low} to {high}")
    if space == "free" and high is not None:
        bounds = f"at most {high:g}"
    rows = [
        ("unit", spec.unit or "none"),
        ("default", "absent unless given" if spec.default is None else _value(spec.default)),
        ("shape", shape + (", or what broadcasts to it, such as one number for all" if spec.shape else "")),
        ("bounds", bounds),
        ("searched", f"in the {space} space" if spec.differentiable else "never: it has no gradient"),
        ("in a file", PARAMETER_IN_A_FILE.get(kind, IN_PARAMS).format(spec.name)),
    ]
    if spec.per_step:
        rows.insert(4, ("per step", f"may be given for each step, as the control {spec.name!r}"))
    return tuple(rows)


def _value(default: Any) -> str:
    if getattr(default, "shape", ()):
        return f"values of shape {tuple(default.shape)}"
    return f"{default:g}" if isinstance(default, int | float) else str(default)


def _said(parameter: inspect.Parameter) -> str:
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"


def _annotation(parameter: inspect.Parameter) -> str:
    found = parameter.annotation
    return found if isinstance(found, str) else getattr(found, "__name__", str(found))


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _about(name: str, doc: str) -> str:
    """The sentences of a docstring on one setting, introduced by ``name:``, up to the next such name; all of it where
    there are none."""
    text = " ".join(doc.split())
    start = re.search(rf"(?:^|(?<=[.;)] )|(?<=, ))((?:\w+, )*{re.escape(name)}(?:, \w+)*): ", text)
    if start is None:
        return doc
    rest = text[start.end() :]
    end = re.search(r"(?<=[.;]) (?:\w+, )*\w+: ", rest)
    return rest if end is None else rest[: end.start()]
