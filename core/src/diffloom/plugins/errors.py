"""Errors of the plugin system."""


class PluginError(Exception):
    """Base of all errors of the plugin system."""


class UnavailableError(PluginError):
    """Plugin that is sound but cannot run here; plugins raise it at import or in a hook, with the reason in a few
    words.

    For one thing among several use the argument ``available`` of ``register`` instead.
    """


class RegistrationError(PluginError):
    """Registration that cannot be accepted: a bad name, a name already taken, a bad factory."""


class BrokenPluginsError(PluginError):
    """Broken plugins while ``DIFFLOOM_STRICT_PLUGINS`` is set."""


class UnknownNameError(PluginError, LookupError):
    """Name under which nothing of this kind is registered."""


class FactoryError(PluginError):
    """Registered thing that cannot be imported, is unavailable here, or has the wrong class."""
