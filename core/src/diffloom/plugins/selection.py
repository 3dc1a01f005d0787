"""Which plugins to load, and how strictly: the environment's switches in one value."""

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
    """Which plugins to load.

    only: names to load, or None for all. without: names to leave out. A name is a plugin's or its distribution's.
    strict: a broken plugin is an error. trace: say on stderr what is loaded, and show tracebacks.
    """

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    strict: bool = False
    trace: bool = False

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "Selection":
        """What the variables ask for: an unset ``DIFFLOOM_PLUGINS`` means all plugins, an empty one none."""
        env = os.environ if environment is None else environment
        return _selected(env.get(ONLY), env.get(EXCEPT, ""), env.get(STRICT, ""), env.get(TRACE, ""))

    def refuses(self, plugin: str, distribution: str) -> str | None:
        """Why this plugin is not to be loaded, or None."""
        called = {normalized(plugin), normalized(distribution)}
        if called & self.without:
            return f"switched off by --no-plugin or {EXCEPT}"
        if self.only is not None and not called & self.only:
            return f"not among those that {ONLY} names"
        return None


@lru_cache  # every plugin that is asked for by name asks the environment first
def _selected(only: str | None, without: str, strict: str, trace: str) -> Selection:
    return Selection(
        only=None if only is None else _names(only),
        without=_names(without),
        strict=_switch(STRICT, strict),
        trace=_switch(TRACE, trace),
    )


def normalized(name: str) -> str:
    """One spelling for names that differ only in case and in ``-``, ``_`` and ``.``."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _names(text: str) -> frozenset[str]:
    return frozenset(normalized(name) for name in re.split(r"[,\s]+", text) if name)


def _switch(variable: str, given: str) -> bool:
    text = given.strip().lower()
    if text in ("", "0", "no", "off", "false"):
        return False
    if text in ("1", "yes", "on", "true"):
        return True
    raise PluginError(f"{variable} is {given!r}: set it to 1 or 0")
