"""Find what a name stands for: a key of a file, a registered thing, a setting or parameter of one."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from diffloom.plugins import Entry, PluginError, installed_registry
from diffloom_experiments.keys import file_keys
from diffloom_studio.explain.page import Page


def explanations(name: str) -> list[Page]:
    """Everything that ``name`` stands for. Torch is imported only where a registered thing has to be opened."""
    keys = file_keys()
    found = [_key_page(keys[place]) for place in dict.fromkeys(_places(name)) if place in keys][:1]
    bare = _without_kind(name)
    named = [entry for entry in entries() if entry.name == bare]
    # Parameters of a world's bodies have dots of their own: world.ball.mass.
    splits = {bare.rpartition(".")[::2], bare.partition(".")[::2]}
    owners = [(entry, member) for owner, member in sorted(splits) for entry in entries() if entry.name == owner]
    if named or owners:
        from diffloom_studio.explain.registered import entry_page, member_page

        found += [entry_page(entry) for entry in named]
        found += [page for entry, member in owners if (page := member_page(entry, member)) is not None]
    if not found and "." not in name:
        from diffloom_studio.explain.registered import member_page

        found = [page for entry in _loadable() if (page := member_page(entry, name)) is not None]
    return found


def suggestion(name: str) -> str:
    """The nearest names there are, as the end of a message."""
    known = [*file_keys(), *(entry.name for entry in entries())]
    owner, _, member = _without_kind(name).rpartition(".")
    for entry in entries():
        if entry.name == owner:
            from diffloom_studio.explain.registered import members

            inside = members(entry)
            near = get_close_matches(member, inside, n=3)
            hint = f"; did you mean {_joined(f'{owner}.{each}' for each in near)}?" if near else ""
            return f"{hint or '.'} The {entry.kind.singular} {owner!r} has: {', '.join(inside) or 'nothing to set'}"
    if "." not in name:
        from diffloom_studio.explain.registered import members

        known += [f"{entry.name}.{each}" for entry in _loadable() for each in members(entry)]
        short: dict[str, list[str]] = {}
        for each in known:
            short.setdefault(each.rpartition(".")[2], []).append(each)
        near = [each for part in get_close_matches(name, short, n=2) for each in short[part]][:4]
    else:
        near = get_close_matches(name, known, n=3)
    if near:
        return f"; did you mean {_joined(near)}?"
    return "; `diffloom plugins` lists what is installed, `diffloom schema` what a file may say"


def entries() -> Iterator[Entry]:
    """All that is registered."""
    registry = installed_registry()
    return (entry for kind in registry.kinds for entry in registry.entries(kind))


def _loadable() -> Iterator[Entry]:
    """What can be opened here, commands aside: these have no settings but options."""
    for entry in entries():
        try:
            if entry.kind.singular != "command" and entry.unavailable() is None:
                entry.load()
                yield entry
        except PluginError:
            continue


def _without_kind(name: str) -> str:
    """``softras.sigma`` of ``renderer.softras.sigma``."""
    first, _, rest = name.partition(".")
    return rest if rest and first in {kind.singular for kind in installed_registry().kinds} else name


def _places(name: str) -> Iterator[str]:
    """The name as a key's place, and without one of the names or numbers that a user chooses in a file."""
    yield name
    parts = name.split(".")
    for number in range(1, len(parts) - 1):
        yield ".".join([*parts[:number], *parts[number + 1 :]])


def _key_page(key: Any) -> Page:
    default = "none: it must be given" if key.default is None else key.default or "empty"
    rows = [("give", key.kind), ("default", default)]
    if key.keys and key.keys != ("name",):
        rows.append(("keys", ", ".join(key.keys)))
    return Page(f"{key.place}: key of an experiment file", key.text, tuple(rows))


def _joined(names: Iterable[str]) -> str:
    return " or ".join(repr(each) for each in names)
