"""Selection of the plugins to load, from environment variables."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from diffloom.plugins.errors import PluginError

ONLY = "DIFFLOOM_PLUGINS"
EXCEPT = "DIFFLOOM_NO_PLUGINS"
STRICT = "DIFFLOOM_STRICT_PLUGINS"
TRACE = "DIFFLOOM_TRACE_PLUGINS"


@dataclass(frozen=True)
class Selection:
    """Plugins to load. A name is a plugin's or its distribution's.

    Args:
        only: Names to load; None for all.
        without: Names to leave out.
        strict: True if a broken plugin is an error.
        trace: True to report loading on stderr, with tracebacks.
    """

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    strict: bool = False
    trace: bool = False

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "Selection":
        """Return the selection of the environment variables: without ``DIFFLOOM_PLUGINS`` all plugins, with an empty
        one none.
        """
        env = os.environ if environment is None else environment
        return _make_selection(env.get(ONLY), env.get(EXCEPT, ""), env.get(STRICT, ""), env.get(TRACE, ""))

    def refuses(self, plugin: str, distribution: str) -> str | None:
        """Return why a plugin is not loaded, or None."""
        called = {normalise_name(plugin), normalise_name(distribution)}
        if called & self.without:
            return f"switched off by --no-plugin or {EXCEPT}"
        if self.only is not None and not called & self.only:
            return f"not in the list of {ONLY}"
        return None


@lru_cache  # every lookup by name reads the environment
def _make_selection(only: str | None, without: str, strict: str, trace: str) -> Selection:
    """Return the memoised selection for these values."""
    return Selection(
        only=None if only is None else _names(only),
        without=_names(without),
        strict=_switch(STRICT, strict),
        trace=_switch(TRACE, trace),
    )


def normalise_name(name: str) -> str:
    """Return one spelling for names that differ only in case and in ``-``, ``_`` and ``.``.

    Args:
        name: Name of a distribution or plugin.

    Returns:
        Lower case name with ``-``.
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _names(text: str) -> frozenset[str]:
    """Return the names in a text, normalised."""
    return frozenset(normalise_name(name) for name in re.split(r"[,\s]+", text) if name)


def _switch(variable: str, given: str) -> bool:
    """Return the value of a switch."""
    text = given.strip().lower()
    if text in ("", "0", "no", "off", "false"):
        return False
    if text in ("1", "yes", "on", "true"):
        return True
    raise PluginError(f"{variable} is {given!r}: set it to 1 or 0")
