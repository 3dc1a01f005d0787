"""Registrations of one plugin: all of them, or an error."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pluggy

from diffloom.plugins.catalogue import find_defining_distribution
from diffloom.plugins.entry import Entry, Origin
from diffloom.plugins.errors import RegistrationError
from diffloom.plugins.hookspecs import (
    DEFINE_KINDS,
    OLDEST_PLUGIN_API,
    PLUGIN_API,
    Availability,
    Factory,
    Register,
    hook_manager,
)
from diffloom.plugins.kinds import HOOK_PREFIX, Kind

API_ATTRIBUTE = "DIFFLOOM_PLUGIN_API"
UPGRADE = "the guide's page 'Versions' says what to change"


@dataclass
class PluginRegistrations:
    """Registrations of a plugin so far, and warnings for its author."""

    offers: list[Entry] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def collect_kinds(plugin: object, origin: Origin) -> tuple[Kind, ...]:
    """Return the kinds that ``plugin`` (a module, or an object with hooks as methods) defines."""
    _check_api(plugin)
    if not hasattr(plugin, DEFINE_KINDS):
        return ()
    manager = hook_manager(())
    _register_plugin(manager, plugin, origin)
    found = [kind for kinds in manager.hook.diffloom_define_kinds() for kind in kinds]
    for kind in found:
        if not isinstance(kind, Kind):
            raise RegistrationError(f"its {DEFINE_KINDS} returned {kind!r}: return a list of diffloom.plugins.Kind")
    return tuple(found)


def collect(
    plugin: object,
    origin: Origin,
    kinds: Sequence[Kind],
    trace: Callable[[str], object] = lambda line: None,
    into: PluginRegistrations | None = None,
) -> PluginRegistrations:
    """Return everything that ``plugin`` registers.

    Each plugin gets a pluggy manager of its own, so that a failing one leaves nothing behind.

    Args:
        plugin: Module, or object with hooks as methods.
        origin: Its name and distribution.
        kinds: All defined kinds.
        trace: Function that gets a line for each registration.
        into: Registrations to fill and return, so that those before a failure are known.
    """
    found = PluginRegistrations() if into is None else into
    _check_api(plugin)
    implemented = [kind for kind in kinds if hasattr(plugin, kind.hook)]
    manager = hook_manager(implemented)
    _register_plugin(manager, plugin, origin)
    _check_hooks(manager, plugin, kinds, found)
    for kind in implemented:
        getattr(manager.hook, kind.hook)(register=_register_for(kind, origin, found.offers, trace))
    return found


def _register_for(kind: Kind, origin: Origin, offers: list[Entry], trace: Callable[[str], object]) -> Register:
    """Return the ``register`` argument of a hook, which refuses names that the plugin registered before."""

    def register(name: str, factory: Factory, *, summary: str, available: Availability | None = None) -> None:
        entry = Entry(kind, name, factory, summary, origin, available)
        if any(other.kind == kind and other.name == name for other in offers):
            raise RegistrationError(f"it registers the {kind.singular} {name!r} twice")
        offers.append(entry)
        trace(f"{kind.hook}: {origin.plugin} offers {name!r} from {entry.path}")

    # Errors of wrong calls then name register(), as the plugin's source does.
    register.__qualname__ = "register"
    return register


def _check_api(plugin: object) -> None:
    """Raise RegistrationError if the plugin needs another version of the API."""
    needs: Any = getattr(plugin, API_ATTRIBUTE, None)
    if needs is None:
        return  # the plugin requires no version
    if not isinstance(needs, int) or isinstance(needs, bool):
        raise RegistrationError(f"its {API_ATTRIBUTE} is {needs!r}: give a whole number, such as {PLUGIN_API}")
    if needs > PLUGIN_API:
        raise RegistrationError(
            f"it needs plugin API {needs}, and this diffloom-core has {PLUGIN_API}: upgrade diffloom-core"
        )
    if needs < OLDEST_PLUGIN_API:
        raise RegistrationError(
            f"it was written for plugin API {needs}, and the oldest served is {OLDEST_PLUGIN_API}: upgrade the "
            f"plugin ({UPGRADE})"
        )


def _register_plugin(manager: pluggy.PluginManager, plugin: object, origin: Origin) -> None:
    """Register a plugin with pluggy, and report wrong signatures of its hooks."""
    try:
        manager.register(plugin, origin.plugin)
    except pluggy.PluginValidationError as error:
        # The first line only repeats the plugin's name.
        cause = " ".join(str(error).split("\n", 1)[-1].split())
        raise RegistrationError(f"it implements a hook wrongly: {cause}") from error


def _check_hooks(
    manager: pluggy.PluginManager, plugin: object, kinds: Sequence[Kind], found: PluginRegistrations
) -> None:
    """Warn of hooks that are unknown; refuse a plugin without a hook, or with one that lacks the decorator."""
    known = [kind.hook for kind in kinds]
    callers = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    for name in sorted(set(callers) - {*known, DEFINE_KINDS}):
        if not all(hook.optionalhook for hook in callers[name].get_hookimpls()):
            found.warnings.append(f"its hook {name} is unknown here and left out{_advice(name, known)}")
    for name in known:
        if name not in callers and inspect.isroutine(getattr(plugin, name, None)):
            raise RegistrationError(f"its function {name} lacks the decorator @diffloom.plugins.hookimpl")
    if not callers:
        raise RegistrationError(f"it implements no hook; the hooks are {', '.join(known)}")


def _advice(name: str, known: list[str]) -> str:
    """Return what to do about an unknown hook."""
    # Compare without the common prefix, which would make any two names similar.
    kinds = {hook.removeprefix(HOOK_PREFIX): hook for hook in known}
    from difflib import get_close_matches

    near = get_close_matches(name.removeprefix(HOOK_PREFIX), kinds, n=1, cutoff=0.75)
    if near:
        return f"; did you mean {kinds[near[0]]}?"
    owner = find_defining_distribution(name)
    cause = "install the plugin that defines it" if owner is None else f"{owner}, which defines it, is not loaded"
    return f": {cause}; or mark it @hookimpl(optionalhook=True)"
