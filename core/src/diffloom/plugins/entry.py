"""Registered things, and reports on the plugins that register them."""

import importlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from diffloom.plugins.errors import FactoryError, RegistrationError
from diffloom.plugins.hookspecs import Availability, Factory
from diffloom.plugins.kinds import Kind

_FORM = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_import_path(text: str) -> bool:
    """Return True if ``text`` has the form ``"package.module:attribute"``; nothing is imported."""
    return _FORM.fullmatch(text) is not None


def import_object(path: str) -> Any:
    """Import the object of an import path.

    Args:
        path: Import path ``"package.module:attribute"``.

    Returns:
        The object; errors of the import are not caught.
    """
    module, _, attributes = path.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_TWO_WORDS = re.compile(r"[a-z][a-z0-9_-]*( [a-z][a-z0-9_-]*)?")


@dataclass(frozen=True)
class Origin:
    """Plugin and distribution that something comes from.

    Args:
        plugin: Name of the plugin's entry point.
        distribution: Name of the distribution.
        version: Version of the distribution.
    """

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Entry:
    """Registered factory; its form is checked on construction, and nothing is imported.

    Args:
        kind: Kind of thing.
        name: Registered name.
        factory: Import path or object.
        summary: One line for tables and help.
        origin: Plugin that registers it.
        available: Function, or its import path, that returns why the thing cannot run here, or None.
    """

    kind: Kind
    name: str
    factory: Factory
    summary: str
    origin: Origin
    available: Availability | None = None

    def __post_init__(self) -> None:
        what = f"the {self.kind.singular} {self.name!r}"
        form = _TWO_WORDS if self.kind.subcommands else _NAME
        if not isinstance(self.name, str) or not form.fullmatch(self.name):
            raise RegistrationError(
                f"{what} has a bad name: use lower case letters, digits, '_' and '-', starting with a letter"
            )
        if not isinstance(self.summary, str) or not self.summary.strip() or "\n" in self.summary:
            raise RegistrationError(f"{what} needs a summary of one line, not {self.summary!r}")
        _check_reference(what, "factory", self.factory)
        if self.available is not None:
            _check_reference(what, "availability", self.available)

    @property
    def path(self) -> str:
        """Import path of the factory, for messages."""
        if isinstance(self.factory, str):
            return self.factory
        return f"{self.factory.__module__}:{getattr(self.factory, '__qualname__', repr(self.factory))}"

    def unavailable(self) -> str | None:
        """Return why the thing cannot run here, or None; a failing availability function is a reason too.

        Returns:
            Reason, or None.
        """
        if self.available is None:
            return None
        try:
            check = import_object(self.available) if isinstance(self.available, str) else self.available
            reason = check()
        except Exception as error:
            return f"its availability check failed: {type(error).__name__}: {error}"
        if reason is None or (isinstance(reason, str) and reason):
            return reason
        return f"its availability check returned {reason!r}, not None or a reason"

    def load(self) -> Any:
        """Import the factory and check its class.

        Returns:
            Class or function.

        Raises:
            FactoryError: The factory cannot be imported, is unavailable here, or has another class than its kind
                requires.
        """
        what = f"the {self.kind.singular} {self.name!r} of {self.origin}"
        reason = self.unavailable()
        if reason is not None:
            raise FactoryError(f"{what} is unavailable here: {reason}")
        if isinstance(self.factory, str):
            try:
                found = import_object(self.factory)
            except Exception as error:
                raise FactoryError(
                    f"{what} cannot be loaded from {self.factory}: {type(error).__name__}: {error}"
                ) from error
        else:
            found = self.factory
        self._check_interface(what, found)
        return found

    def _check_interface(self, what: str, found: Any) -> None:
        """Raise FactoryError unless the factory fits its kind."""
        if not callable(found):
            raise FactoryError(f"{what} ({self.path}) cannot be called: it is {found!r}")
        if self.kind.interface is None or not isinstance(found, type):
            return
        interface = import_object(self.kind.interface)
        if not issubclass(found, interface):
            raise FactoryError(f"{what} ({self.path}) is not a subclass of {self.kind.interface.replace(':', '.')}")


def _check_reference(what: str, role: str, given: object) -> None:
    """Raise RegistrationError for a malformed import path, or an object that is not callable."""
    if isinstance(given, str) and not is_import_path(given):
        raise RegistrationError(f"{what} has the {role} {given!r}: write an import path like 'package.module:name'")
    if not isinstance(given, str) and not callable(given):
        raise RegistrationError(f"{what} has the {role} {given!r}: give an import path or something callable")


class PluginState(StrEnum):
    """Outcome of loading a plugin."""

    LOADED = "loaded"
    UNAVAILABLE = "unavailable"
    BROKEN = "broken"
    DISABLED = "disabled"
    MISSING = "missing"


@dataclass(frozen=True)
class PluginReport:
    """Report on the loading of one plugin.

    Args:
        origin: Plugin and its distribution.
        state: Outcome.
        reason: Reason why it is not loaded; empty if it is.
        offers: Things that it registered.
        seconds: Time that loading took [s].
        warnings: Lines for its author about a loaded plugin.
        withheld: Things that a failed plugin had registered before; they are not available, but messages explain why.
    """

    origin: Origin
    state: PluginState
    reason: str = ""
    offers: tuple[Entry, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    withheld: tuple[Entry, ...] = ()

    @property
    def is_faulty(self) -> bool:
        """True if the plugin needs repair, with which strict mode does not continue."""
        return self.state in (PluginState.BROKEN, PluginState.MISSING)

    def __str__(self) -> str:
        if self.state is PluginState.MISSING:
            return f"plugin {self.origin.plugin!r} is not there: {self.reason}"
        text = f"plugin {self.origin.plugin!r} of {self.origin} is {self.state}"
        return f"{text}: {self.reason}" if self.reason else text
