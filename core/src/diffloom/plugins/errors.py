"""What can go wrong with plugins, as exceptions."""


class PluginError(Exception):
    """Base of all errors of the plugin system."""


class UnavailableError(PluginError):
    """Raised by a plugin (at import or in a hook) that is sound but cannot run here: say why, in a few words.

    For one thing among several use the argument ``available`` of ``register`` instead.
    """


class RegistrationError(PluginError):
    """A plugin offered something that cannot be accepted: a bad name, a name already taken, a bad factory."""


class BrokenPluginsError(PluginError):
    """Plugins failed to load and ``DIFFLOOM_STRICT_PLUGINS`` is set."""


class UnknownNameError(PluginError, LookupError):
    """Nothing of this kind is registered under this name."""


class FactoryError(PluginError):
    """A registered thing cannot be imported, is unavailable here, or is not what its kind must be."""
