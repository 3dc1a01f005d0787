"""Ask one plugin what it offers: all of it, or an error."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import pluggy

from diffloom.plugins.entry import Entry, Origin
from diffloom.plugins.errors import RegistrationError
from diffloom.plugins.hookspecs import OLDEST_PLUGIN_API, PLUGIN_API, PROJECT, Availability, Factory, Hooks, Register
from diffloom.plugins.kinds import KINDS, Kind

API_ATTRIBUTE = "DIFFLOOM_PLUGIN_API"


@dataclass
class Collected:
    """What a plugin has offered so far, and what its author should know, a line each."""

    offers: list[Entry] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def collect(
    plugin: object,
    origin: Origin,
    trace: Callable[[str], object] = lambda line: None,
    into: Collected | None = None,
) -> Collected:
    """Everything that ``plugin`` (a module, or an object with hooks as methods) offers.

    Each plugin gets a pluggy manager of its own, so one that fails half-way leaves nothing behind. into: filled and
    returned, so that what was offered before a failure can be told.
    """
    found = Collected() if into is None else into
    _check_api(plugin, found)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    _register(manager, plugin, origin, found)
    for kind in KINDS:
        getattr(manager.hook, kind.hook)(register=_register_for(kind, origin, found.offers, trace))
    return found


def _register_for(kind: Kind, origin: Origin, offers: list[Entry], trace: Callable[[str], object]) -> Register:
    """The ``register`` that a hook is given: collects, and refuses what the plugin already offered."""

    def register(
        name: str, factory: Factory, *, summary: str, available: Availability | None = None,
        formerly: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        entry = Entry(kind, name, factory, summary, origin, available, formerly)
        if any(other.kind == kind and other.name == name for other in offers):
            raise RegistrationError(f"it registers the {kind.singular} {name!r} twice")
        offers.append(entry)
        trace(f"{kind.hook}: {origin.plugin} offers {name!r} from {entry.path}")

    # So that a wrong call is reported as one of register(), which is what its author wrote.
    register.__qualname__ = "register"
    return register


def _check_api(plugin: object, found: Collected) -> None:
    needs: Any = getattr(plugin, API_ATTRIBUTE, None)
    if needs is None:
        return  # It relies on nothing that has a version: hooks and register() have been the same since the first.
    if not isinstance(needs, int) or isinstance(needs, bool):
        raise RegistrationError(f"its {API_ATTRIBUTE} is {needs!r}: give a whole number, such as {PLUGIN_API}")
    if needs > PLUGIN_API:
        raise RegistrationError(
            f"it needs plugin API {needs}, and this diffloom-core offers {PLUGIN_API}: upgrade diffloom-core"
        )
    if needs < OLDEST_PLUGIN_API:
        raise RegistrationError(
            f"it was written for plugin API {needs}, and the oldest served is {OLDEST_PLUGIN_API}: upgrade the plugin"
        )
    if needs < PLUGIN_API:
        found.warnings.append(
            f"it was written for plugin API {needs} and is served as such by {PLUGIN_API}; what its author has to "
            "change is in the guide under 'Plugin API 2'"
        )


def _register(manager: pluggy.PluginManager, plugin: object, origin: Origin, found: Collected) -> None:
    known = [kind.hook for kind in KINDS]
    try:
        manager.register(plugin, origin.plugin)
    except pluggy.PluginValidationError as error:
        # The first line only repeats the plugin's name.
        cause = " ".join(str(error).split("\n", 1)[-1].split())
        raise RegistrationError(f"it implements a hook wrongly: {cause}") from error
    callers = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    for name in sorted(set(callers) - set(known)):
        if not all(hook.optionalhook for hook in callers[name].get_hookimpls()):
            found.warnings.append(
                f"its hook {name} is unknown to this diffloom-core and left out{_advice(name, known)}"
            )
    for name in known:
        if name not in callers and inspect.isroutine(getattr(plugin, name, None)):
            raise RegistrationError(f"its function {name} lacks the decorator @diffloom.plugins.hookimpl")
    if not callers:
        raise RegistrationError(f"it implements no hook; the hooks are {', '.join(known)}")


def _advice(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.9)
    if near:
        return f"; did you mean {near[0]}?"
    return ": upgrade diffloom-core, or mark it @hookimpl(optionalhook=True)"
