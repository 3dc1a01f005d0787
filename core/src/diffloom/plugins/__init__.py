"""The plugin system: hooks, a loader that no broken plugin can bring down, and the registry of what is installed.

A plugin's module needs only ``hookimpl`` and ``Register``. Everyone else asks by name: ``get_model("fem")``,
``get_integrator("semi_implicit")``, ``get_renderer("softras")``; ``models()`` and its kin say which names there are.
"""

from diffloom.deprecation import renamed_names
from diffloom.plugins.current import (
    cameras,
    contact_laws,
    current_registry,
    get_camera,
    get_contact_law,
    get_integrator,
    get_logger,
    get_loss,
    get_model,
    get_optimiser,
    get_renderer,
    get_segmenter,
    get_term,
    get_video_reader,
    installed_registry,
    integrators,
    loggers,
    losses,
    models,
    optimisers,
    renderers,
    segmenters,
    terms,
    use_registry,
    video_readers,
)
from diffloom.plugins.errors import (
    BrokenPluginsError,
    FactoryError,
    PluginError,
    RegistrationError,
    UnavailableError,
    UnknownNameError,
)
from diffloom.plugins.hookspecs import PLUGIN_API, Availability, Factory, Register, hookimpl
from diffloom.plugins.registry import Registry

__getattr__ = renamed_names(__name__, {"survey": "installed_registry"})

__all__ = [
    "PLUGIN_API",
    "Availability",
    "BrokenPluginsError",
    "Factory",
    "FactoryError",
    "PluginError",
    "Register",
    "RegistrationError",
    "Registry",
    "UnavailableError",
    "UnknownNameError",
    "cameras",
    "contact_laws",
    "current_registry",
    "get_camera",
    "get_contact_law",
    "get_integrator",
    "get_logger",
    "get_loss",
    "get_model",
    "get_optimiser",
    "get_renderer",
    "get_segmenter",
    "get_term",
    "get_video_reader",
    "hookimpl",
    "installed_registry",
    "integrators",
    "loggers",
    "losses",
    "models",
    "optimisers",
    "renderers",
    "segmenters",
    "terms",
    "use_registry",
    "video_readers",
]
