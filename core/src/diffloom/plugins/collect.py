"""Ask one plugin what it offers: all of it, or an error."""

import inspect
from collections.abc import Callable
from typing import Any

import pluggy

from diffloom.plugins.entry import Entry, Origin
from diffloom.plugins.errors import RegistrationError
from diffloom.plugins.hookspecs import OLDEST_PLUGIN_API, PLUGIN_API, PROJECT, Availability, Factory, Hooks, Register
from diffloom.plugins.kinds import KINDS, Kind

API_ATTRIBUTE = "DIFFLOOM_PLUGIN_API"


def collect(plugin: object, origin: Origin, trace: Callable[[str], object] = lambda line: None) -> tuple[Entry, ...]:
    """Everything that ``plugin`` (a module, or an object with hooks as methods) offers.

    Each plugin gets a pluggy manager of its own, so one that fails half-way leaves nothing behind.
    """
    _check_api(plugin)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    _register(manager, plugin, origin)
    offers: list[Entry] = []
    for kind in KINDS:
        getattr(manager.hook, kind.hook)(register=_register_for(kind, origin, offers, trace))
    return tuple(offers)


def _register_for(kind: Kind, origin: Origin, offers: list[Entry], trace: Callable[[str], object]) -> Register:
    """The ``register`` that a hook is given: collects, and refuses what the plugin already offered."""

    def register(name: str, factory: Factory, *, summary: str, available: Availability | None = None) -> None:
        entry = Entry(kind, name, factory, summary, origin, available)
        if any(other.kind == kind and other.name == name for other in offers):
            raise RegistrationError(f"it registers the {kind.singular} {name!r} twice")
        offers.append(entry)
        trace(f"{kind.hook}: {origin.plugin} offers {name!r} from {entry.path}")

    # So that a wrong call is reported as one of register(), which is what its author wrote.
    register.__qualname__ = "register"
    return register


def _check_api(plugin: object) -> None:
    needs: Any = getattr(plugin, API_ATTRIBUTE, OLDEST_PLUGIN_API)
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


def _register(manager: pluggy.PluginManager, plugin: object, origin: Origin) -> None:
    known = ", ".join(kind.hook for kind in KINDS)
    try:
        manager.register(plugin, origin.plugin)
    except pluggy.PluginValidationError as error:
        # The first line only repeats the plugin's name.
        cause = " ".join(str(error).split("\n", 1)[-1].split())
        raise RegistrationError(f"it implements a hook wrongly: {cause}") from error
    implemented = {caller.name for caller in manager.get_hookcallers(plugin) or ()}
    unknown = sorted(implemented - {kind.hook for kind in KINDS})
    if unknown:
        raise RegistrationError(f"it implements {', '.join(unknown)}; the hooks are {known}")
    for kind in KINDS:
        if kind.hook not in implemented and inspect.isroutine(getattr(plugin, kind.hook, None)):
            raise RegistrationError(f"its function {kind.hook} lacks the decorator @diffloom.plugins.hookimpl")
    if not implemented:
        raise RegistrationError(f"it implements no hook; the hooks are {known}")
