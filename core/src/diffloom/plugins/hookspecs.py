"""Hooks of diffloom: the whole contract between the core and a plugin.

A plugin is a module named by an entry point in the group ``diffloom``. It implements any of the hooks as plain
functions under the decorator ``hookimpl``:

- ``diffloom_register_<kind>(register)`` for each kind of thing that it brings. The hook is called once with a callable
  `Register` and registers *factories*: a name, an import path such as ``"package.module:Class"`` (or the object
  itself), and a summary of one line. Import paths keep listing fast, because nothing is imported before it is used.
- ``diffloom_define_kinds()`` if it defines kinds of its own. The core has models, integrators, renderers, commands and
  diagnostics; the kinds of losses and optimisers, for instance, belong to diffloom-fitting.

``diffloom plugins`` lists all hooks with the plugin that defines each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

import pluggy

from diffloom.plugins.kinds import Kind

PROJECT = "diffloom"
ENTRY_POINT_GROUP = "diffloom"

PLUGIN_API = 3
"""Version of this contract. It grows by one when plugins written for the previous version need changes."""

OLDEST_PLUGIN_API = 3
"""The oldest version that this core serves."""

DEFINE_KINDS = "diffloom_define_kinds"

_MARK = f"{PROJECT}_impl"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Factory = str | Callable[..., Any]
"""An import path ``"package.module:attribute"`` or the object itself."""

Availability = str | Callable[[], str | None]
"""A function without arguments, or its import path: returns None where a thing can run, else the reason why not."""


class Register(Protocol):
    """Argument of a registration hook: a function to call once for each thing."""

    def __call__(self, name: str, factory: Factory, *, summary: str, available: Availability | None = None) -> None:
        """Register ``factory`` under ``name``.

        Args:
            name: Lower case letters, digits, ``_`` and ``-``, starting with a letter; unique within its kind.
            factory: Import path ``"package.module:attribute"`` (preferred: nothing is imported) or the object itself.
            summary: One line for tables and help.
            available: Function, or its import path, that returns why the thing cannot run here, or None if it can; it
                must not
                import anything heavy.
        """


def hook_manager(kinds: Iterable[Kind]) -> pluggy.PluginManager:
    """Return a pluggy manager with the registration hook of each kind, and the hook that defines kinds."""
    manager = _Manager(PROJECT)
    hooks = {kind.hook: _specification(kind) for kind in kinds}
    # pluggy needs dir and getattr alone, so any object serves.
    manager.add_hookspecs(_Specifications(diffloom_define_kinds=_define_kinds, **hooks))  # type: ignore[arg-type]
    return manager


class _Manager(pluggy.PluginManager):
    """Plugin manager that passes over the unmarked names of a module at once.

    pluggy calls ``inspect.getattr_static`` for each name, which takes a tenth of the time of listing all plugins.
    """

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Return the options of a hook implementation; None for names without a mark."""
        if isinstance(plugin, ModuleType) and name in (own := vars(plugin)) and not hasattr(own[name], _MARK):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class _Specifications(SimpleNamespace):
    """Specifications of hooks as attributes; ``dir`` lists these alone, because pluggy inspects every attribute."""

    def __dir__(self) -> Iterable[str]:
        return vars(self)


@hookspec
def _define_kinds() -> list[Kind]:
    """Return the kinds of things that this plugin lets other plugins register."""
    raise NotImplementedError


@cache
def _specification(kind: Kind) -> Callable[[Register], None]:
    """Return the specification of a kind's registration hook."""

    def specify(register: Register) -> None:
        pass

    specify.__name__ = kind.hook
    specify.__doc__ = f"Register {kind.plural.replace('_', ' ')}. {kind.doc}".strip()
    return hookspec(specify)
