"""Plugin system: hooks, a loader that isolates broken plugins, and the registry of installed things.

A plugin's module needs only ``hookimpl`` and ``Register``. Users look things up by name: ``get_model("fem")``,
``get_integrator("semi_implicit")``, ``get_renderer("softras")``; ``models()`` and the like return the names.
"""

from diffloom.plugins.current import (
    current_registry,
    get_integrator,
    get_model,
    get_renderer,
    installed_registry,
    integrators,
    models,
    renderers,
    use_registry,
)
from diffloom.plugins.entry import Entry, Origin, PluginReport, PluginState, import_object
from diffloom.plugins.errors import (
    BrokenPluginsError,
    FactoryError,
    PluginError,
    RegistrationError,
    UnavailableError,
    UnknownNameError,
)
from diffloom.plugins.hookspecs import PLUGIN_API, Availability, Factory, Register, hookimpl
from diffloom.plugins.kinds import COMMANDS, DIAGNOSTICS, INTEGRATORS, MODELS, RENDERERS, Kind
from diffloom.plugins.loader import core_registry
from diffloom.plugins.registry import Registry
from diffloom.plugins.selection import normalise_name

__all__ = [
    "COMMANDS",
    "DIAGNOSTICS",
    "INTEGRATORS",
    "MODELS",
    "PLUGIN_API",
    "RENDERERS",
    "Availability",
    "BrokenPluginsError",
    "Entry",
    "Factory",
    "FactoryError",
    "Kind",
    "Origin",
    "PluginError",
    "PluginReport",
    "PluginState",
    "Register",
    "RegistrationError",
    "Registry",
    "UnavailableError",
    "UnknownNameError",
    "core_registry",
    "current_registry",
    "get_integrator",
    "get_model",
    "get_renderer",
    "hookimpl",
    "import_object",
    "installed_registry",
    "integrators",
    "models",
    "normalise_name",
    "renderers",
    "use_registry",
]
