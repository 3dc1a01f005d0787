"""Command ``diffloom explain NAME``: describe a parameter, a setting, a registered thing, a key of an experiment file
or a public class or function.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from diffloom.plugins import Entry, PluginError, installed_registry
from diffloom_experiments.kinds import experiment_kinds

if TYPE_CHECKING:
    from diffloom_experiments.keys import FileKey

WIDTH = 100


@dataclass(frozen=True)
class Page:
    """Explanation of one name.

    title: one line. text: description, in paragraphs. rows: pairs of a label and a value. table: headed rows of a
    listing.
    """

    title: str
    text: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    heading: str = ""
    table: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        lines = [self.title]
        for paragraph in self.text.split("\n\n") if self.text else ():
            # A section such as Args: has its entries on separate lines.
            head, *parts = re.split(r"\n(?= {4}\S)", paragraph)
            lines += textwrap.wrap(" ".join(head.split()), WIDTH, initial_indent="  ", subsequent_indent="  ")
            for part in parts:
                text = " ".join(part.split())
                lines += textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="        ")
        wide = max((len(what) for what, _ in self.rows), default=0)
        for what, value in self.rows:
            indent = " " * (wide + 4)
            lines += textwrap.wrap(value, WIDTH, initial_indent=f"  {what:{wide}}  ", subsequent_indent=indent)
        if self.table:
            lines += [f"  {self.heading}:", *_format_columns(self.table)]
        return "\n".join(lines)


def _format_columns(table: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return aligned columns; the last one is wrapped."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
    lines: list[str] = []
    for row in table:
        start = "    " + "".join(f"{cell:{width}}  " for cell, width in zip(row, widths, strict=False))
        lines += textwrap.wrap(row[-1], WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start]
    return lines


#: Key of an experiment file that names a thing of a kind.
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

#: Keys of an experiment file for a parameter, of a model and of other things.
IN_PARAMS = "[params] {0} = ...; to be found: [unknowns.{0}]"
PARAMETER_IN_A_FILE = {
    "camera": '[camera] {0} = ...; to be found: [unknowns."camera.{0}"]',
    "term": '[params] "<name>.{0}" = ...; to be found: [unknowns."<name>.{0}"]',
}


#: Modules whose public names are explained; each name once.
PUBLIC = (
    "diffloom.interfaces", "diffloom", "diffloom_mechanics", "diffloom_kernels", "diffloom_fitting", "diffloom_testing",
)  # fmt: skip


def make_public_pages(name: str) -> list[Page]:
    """Return the page of a public class or function, such as Surface or NodeTerm; none for an unknown name."""
    for module in PUBLIC:
        if not name.isidentifier() or importlib.util.find_spec(module) is None:
            continue
        home = importlib.import_module(module)
        if name not in getattr(home, "__all__", ()):
            continue
        thing = getattr(home, name)
        what = "class" if inspect.isclass(thing) else "function" if callable(thing) else "value"
        rows = [("import", f"from {module} import {name}")]
        abstract = sorted(getattr(thing, "__abstractmethods__", ()))
        if abstract:
            rows.append(("to define", ", ".join(abstract)))
        return [Page(f"{name}: {what} of {module}", _read_doc(thing), (*rows, *_list_fields(thing)))]
    return []


def _list_fields(thing: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields of a dataclass, or the arguments of a function, as one row."""
    given = read_settings(thing)
    return (("takes", ", ".join(_format_setting(p) for p in given.values())),) if given else ()


def make_entry_page(entry: Entry) -> Page:
    """Return the description of a registered thing, its settings and, of a model, its parameters."""
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
    rows = [("settings", ", ".join(_format_setting(p) for p in read_settings(thing).values()) or "none")]
    if entry.kind.singular in IN_A_FILE:
        rows.append(("in a file", IN_A_FILE[entry.kind.singular].format(entry.name)))
    table = tuple((spec.name, spec.unit or "-", spec.doc) for spec in read_parameters(thing))
    text = f"{entry.summary}.\n\n{_read_doc(thing)}"
    return Page(title, text, tuple(rows), "parameters" if table else "", table)


def make_member_page(entry: Entry, member: str) -> Page | None:
    """Return the meaning of a parameter or setting of a registered thing; None when it has none of this name."""
    try:
        thing = entry.load()
    except PluginError as error:
        return Page(f"{entry.name}.{member}", str(error))
    of = f"of the {entry.kind.singular} {entry.name} ({entry.origin})"
    for spec in read_parameters(thing):
        if spec.name == member:
            return Page(f"{entry.name}.{member}: parameter {of}", spec.doc, _make_spec_rows(entry.kind.singular, spec))
    if member in read_settings(thing):
        found = read_settings(thing)[member]
        default = "none: it must be given" if found.default is found.empty else repr(found.default)
        rows = [("type", _format_annotation(found))] if found.annotation is not found.empty else []
        return Page(
            f"{entry.name}.{member}: setting {of}",
            _extract_setting(member, _read_doc(thing)),
            (*rows, ("default", default)),
        )
    return None


def list_members(entry: Entry) -> list[str]:
    """Return the names of all parameters and settings; none of a thing that cannot be loaded."""
    try:
        thing = entry.load()
    except PluginError:
        return []
    return list(dict.fromkeys([*(spec.name for spec in read_parameters(thing)), *read_settings(thing)]))


def read_settings(thing: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a thing's constructor, by name."""
    try:
        found = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}
    return {name: p for name, p in found.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}


def read_parameters(thing: Any) -> tuple[Any, ...]:
    """Return the declared parameters of a model from its example; those of other things from one with default
    settings.
    """
    declared = inspect.isclass(thing) and hasattr(thing, "specs")
    if not declared:
        return ()
    try:
        wants = inspect.signature(thing.example).parameters if hasattr(thing, "example") else None
        # The example of a term needs a model to act on, but its parameters do not depend on the model.
        made = thing() if wants is None or wants else thing.example()
        return tuple(made.specs)
    except Exception:
        return ()  # no example, or a broken one: `diffloom plugins check` says why


def _make_spec_rows(kind: str, spec: Any) -> tuple[tuple[str, str], ...]:
    """Return the properties of a parameter as rows."""
    shape = f"({', '.join(map(str, spec.shape))}{',' if len(spec.shape) == 1 else ''})" if spec.shape else "one number"
    low, high = spec.bounds
    space = "free" if low is None else "log" if high is None else "bounded"
    bounds = {"free": "none", "log": f"at least {low:g}" if low is not None else ""}.get(space, f"{low} to {high}")
    if space == "free" and high is not None:
        bounds = f"at most {high:g}"
    rows = [
        ("unit", spec.unit or "none"),
        ("default", "absent unless given" if spec.default is None else _format_value(spec.default)),
        ("shape", shape + (", or what broadcasts to it, such as one number for all" if spec.shape else "")),
        ("bounds", bounds),
        ("searched", f"in the {space} space" if spec.differentiable else "never: it has no gradient"),
        ("in a file", PARAMETER_IN_A_FILE.get(kind, IN_PARAMS).format(spec.name)),
    ]
    if spec.per_step:
        rows.insert(4, ("per step", f"may be given for each step, as the control {spec.name!r}"))
    return tuple(rows)


def _format_value(default: Any) -> str:
    if getattr(default, "shape", ()):
        return f"values of shape {tuple(default.shape)}"
    return f"{default:g}" if isinstance(default, int | float) else str(default)


def _format_setting(parameter: inspect.Parameter) -> str:
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"


def _format_annotation(parameter: inspect.Parameter) -> str:
    found = parameter.annotation
    return found if isinstance(found, str) else getattr(found, "__name__", str(found))


def _read_doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _extract_setting(name: str, doc: str) -> str:
    """Return the text of a docstring on one setting: its entry in ``Args:``, or the sentences after ``name:``; else all
    of it.
    """
    entry = re.search(rf"^( +)(?:\w+, )*{re.escape(name)}(?:, \w+)*: (.*(?:\n\1 +.*)*)", doc, flags=re.MULTILINE)
    if entry is not None:
        return " ".join(entry[2].split())
    text = " ".join(doc.split())
    start = re.search(rf"(?:^|(?<=[.;)] )|(?<=, ))((?:\w+, )*{re.escape(name)}(?:, \w+)*): ", text)
    if start is None:
        return doc
    rest = text[start.end() :]
    end = re.search(r"(?<=[.;]) (?:\w+, )*\w+: ", rest)
    return rest if end is None else rest[: end.start()]


def find_explanations(name: str) -> list[Page]:
    """Return a page for everything that ``name`` stands for. Torch is imported only where a registered thing is
    loaded.
    """
    found = [*_make_key_pages(name), *make_public_pages(name)]
    bare = _strip_kind(name)
    named = [entry for entry in list_entries() if entry.name == bare]
    # Parameters of a world's bodies contain dots: world.ball.mass.
    splits = {bare.rpartition(".")[::2], bare.partition(".")[::2]}
    owners = [(entry, member) for owner, member in sorted(splits) for entry in list_entries() if entry.name == owner]
    if named or owners:
        found += [make_entry_page(entry) for entry in named]
        found += [page for entry, member in owners if (page := make_member_page(entry, member)) is not None]
    if not found and "." not in name:
        found = [page for entry in _find_loadable() if (page := make_member_page(entry, name)) is not None]
    return found


def suggest(name: str) -> str:
    """Return the nearest known names, as the end of a message."""
    from diffloom_experiments.keys import file_keys

    keys = {place: None for kind in experiment_kinds().values() for place in file_keys(kind.schema())}
    known = [*keys, *(entry.name for entry in list_entries())]
    owner, _, member = _strip_kind(name).rpartition(".")
    for entry in list_entries():
        if entry.name == owner:
            inside = list_members(entry)
            near = get_close_matches(member, inside, n=3)
            hint = f"; did you mean {_join(f'{owner}.{each}' for each in near)}?" if near else ""
            return f"{hint or '.'} The {entry.kind.singular} {owner!r} has: {', '.join(inside) or 'nothing to set'}"
    if "." not in name:
        known += [f"{entry.name}.{each}" for entry in _find_loadable() for each in list_members(entry)]
        short: dict[str, list[str]] = {}
        for each in known:
            short.setdefault(each.rpartition(".")[2], []).append(each)
        # Names that contain the word: shear is the beginning of shear_modulus. Similar words only if there are none.
        parts = [part for part in sorted(short, key=len) if name.lower() in part.split("_")]
        parts = parts or get_close_matches(name, short, n=2)
        near = list(dict.fromkeys(each for part in parts for each in short[part]))[:4]
    else:
        near = get_close_matches(name, known, n=3)
    if near:
        return f"; did you mean {_join(near)}?"
    return "; `diffloom plugins` lists what is installed, `diffloom schema` what a file may say"


def list_entries() -> Iterator[Entry]:
    """Return everything that is registered."""
    registry = installed_registry()
    return (entry for kind in registry.kinds for entry in registry.entries(kind))


def _find_loadable() -> Iterator[Entry]:
    """Yield the entries that can be loaded here, without commands, which have no settings."""
    for entry in list_entries():
        try:
            if entry.kind.singular != "command" and entry.unavailable() is None:
                entry.load()
                yield entry
        except PluginError:
            continue


def _strip_kind(name: str) -> str:
    """Return ``softras.sigma`` for ``renderer.softras.sigma``."""
    first, _, rest = name.partition(".")
    return rest if rest and first in {kind.singular for kind in installed_registry().kinds} else name


def _list_places(name: str) -> Iterator[str]:
    """Yield the name as a key's place, and without one of the names or numbers that a user chooses in a file."""
    yield name
    parts = name.split(".")
    for number in range(1, len(parts) - 1):
        yield ".".join([*parts[:number], *parts[number + 1 :]])


def _make_key_pages(name: str) -> list[Page]:
    """Return a page for each kind of experiment file that has this key, unless an earlier page says it already."""
    from diffloom_experiments.keys import file_keys

    pages: dict[tuple[Any, ...], Page] = {}
    for kind in experiment_kinds().values():
        keys = file_keys(kind.schema())
        for place in [place for place in dict.fromkeys(_list_places(name)) if place in keys][:1]:
            page = _make_key_page(keys[place], kind.noun)
            pages.setdefault((page.text, page.rows), page)
    return list(pages.values())


def _make_key_page(key: FileKey, noun: str) -> Page:
    """Return the page of one key."""
    default = "none: it must be given" if key.default is None else key.default or "empty"
    rows = [("give", key.kind), ("default", default)]
    if key.keys and key.keys != ("name",):
        rows.append(("keys", ", ".join(key.keys)))
    return Page(f"{key.place}: key of {noun}", key.text, tuple(rows))


def _join(names: Iterable[str]) -> str:
    return " or ".join(repr(each) for each in names)


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain NAME: a parameter (fem.shear_modulus), a setting (softras.sigma), anything registered (gauss_newton), a
    key of an experiment file (unknowns.start), or a public class or function (NodeTerm).

    A bare name, such as shear_modulus, is looked up in everything that is installed.
    """
    found = find_explanations(name)
    if not found:
        raise click.ClickException(f"nothing is called {name!r}{suggest(name)}")
    click.echo("\n\n".join(str(each) for each in found))
