"""Registry: everything that the loaded plugins register, by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from diffloom.plugins.catalogue import explain_missing
from diffloom.plugins.collect import collect, collect_kinds
from diffloom.plugins.entry import Entry, Origin, PluginReport, PluginState
from diffloom.plugins.errors import BrokenPluginsError, RegistrationError, UnknownNameError
from diffloom.plugins.kinds import COMMANDS, INTEGRATORS, KINDS, MODELS, RENDERERS, Kind

if TYPE_CHECKING:
    from diffloom.interfaces import Integrator, Model, Renderer


class Registry:
    """Registered things of one set of plugins.

    A new registry is empty and independent of the process's own, so tests can use it freely.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[Kind, str], Entry] = {}
        self._plugins: list[PluginReport] = []
        self._definers: dict[Kind, Origin | None] = dict.fromkeys(KINDS)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All defined kinds: those of the core first, then those of plugins."""
        return tuple(self._definers)

    def definer(self, kind: Kind) -> Origin | None:
        """Return the plugin that defines a kind; None for kinds of the core.

        Args:
            kind: Defined kind.

        Returns:
            Plugin, or None.
        """
        return self._definers[kind]

    def kind(self, word: str) -> Kind | None:
        """Return the kind with this singular or plural.

        Args:
            word: Singular or plural.

        Returns:
            Kind; None if no installed plugin defines it.
        """
        return next((kind for kind in self._definers if word in (kind.singular, kind.plural)), None)

    def define_kinds(self, kinds: Sequence[Kind], origin: Origin) -> None:
        """Add the kinds of a plugin, or raise RegistrationError and add nothing if a name is taken.

        Args:
            kinds: Kinds to add.
            origin: Plugin that defines them.
        """
        definers = dict(self._definers)
        for kind in kinds:
            for other, definer in definers.items():
                if kind.plural == other.plural or kind.singular == other.singular:
                    owner = "the core" if definer is None else "it" if definer == origin else str(definer)
                    raise RegistrationError(f"it defines the kind {kind.singular!r}, which {owner} defines already")
            definers[kind] = origin
        self._definers = definers

    def withdraw_kinds(self, origin: Origin) -> None:
        """Remove the kinds of a failed plugin, and the things that other plugins registered for them.

        Args:
            origin: Plugin that defined them.
        """
        gone = [kind for kind, definer in self._definers.items() if definer == origin]
        for kind in gone:
            del self._definers[kind]
            for key in [key for key in self._entries if key[0] == kind]:
                del self._entries[key]
            self._plugins = [_without_kind(report, kind, origin) for report in self._plugins]

    def install(self, plugin: object, name: str, distribution: str | None = None, version: str = "0") -> None:
        """Add everything that a plugin registers, or raise and add nothing.

        Args:
            plugin: Module, or object with hooks as methods.
            name: Name of the plugin.
            distribution: Name of its distribution; the plugin's name if None.
            version: Version of its distribution.
        """
        origin = Origin(name, distribution or name, version)
        self.define_kinds(collect_kinds(plugin, origin), origin)
        try:
            found = collect(plugin, origin, self.kinds)
            self.record(
                PluginReport(origin, PluginState.LOADED, offers=tuple(found.offers), warnings=tuple(found.warnings))
            )
        except BaseException:
            self.withdraw_kinds(origin)
            raise

    def record(self, report: PluginReport) -> None:
        """Add a plugin's report and registrations, or raise RegistrationError and add nothing if a name is taken.

        Args:
            report: Report on the plugin.
        """
        for offer in report.offers:
            taken = self._entries.get((offer.kind, offer.name))
            if taken is not None:
                raise RegistrationError(
                    f"both {taken.origin} and {offer.origin} register the {offer.kind.singular} {offer.name!r}; "
                    f"the one of {taken.origin.distribution} stays: uninstall or switch off one of them"
                )
        self._entries.update({(offer.kind, offer.name): offer for offer in report.offers})
        self._plugins.append(report)

    @property
    def reports(self) -> tuple[PluginReport, ...]:
        """Reports on all plugins, in the order in which they were loaded."""
        return tuple(self._plugins)

    @property
    def plugins(self) -> tuple[PluginReport, ...]:
        """Reports on all plugins, sorted by name."""
        return tuple(sorted(self._plugins, key=lambda report: (report.origin.plugin, report.origin.distribution)))

    def raise_if_faulty(self) -> None:
        """Raise BrokenPluginsError if a plugin is broken, or one that was requested is missing."""
        faults = [str(report) for report in self.plugins if report.is_faulty]
        if faults:
            raise BrokenPluginsError("\n".join(faults))

    def entries(self, kind: Kind) -> tuple[Entry, ...]:
        """Return all registered things of one kind, sorted by name.

        Args:
            kind: Defined kind.

        Returns:
            Entries.
        """
        return tuple(self._entries[key] for key in sorted(self._entries, key=lambda key: key[1]) if key[0] == kind)

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Return the names of all registered things of one kind, sorted.

        Args:
            kind: Defined kind.

        Returns:
            Names.
        """
        return tuple(entry.name for entry in self.entries(kind))

    def entry(self, kind: Kind, name: str) -> Entry:
        """Return a registered thing without importing it.

        Args:
            kind: Defined kind.
            name: Registered name.

        Returns:
            Entry.

        Raises:
            UnknownNameError: The name does not exist; the message lists the registered ones.
        """
        try:
            return self._entries[kind, name]
        except (KeyError, TypeError):
            raise UnknownNameError(explain_missing(kind, name, self.names(kind), self._plugins)) from None

    def get(self, kind: Kind, name: str) -> Any:
        """Import and return a registered factory.

        Args:
            kind: Defined kind.
            name: Registered name.

        Returns:
            Class or function.

        Raises:
            UnknownNameError: The name does not exist.
            FactoryError: The factory cannot be imported, or is unavailable here.
        """
        return self.entry(kind, name).load()

    def models(self) -> tuple[str, ...]:
        """Return the names of the registered models.

        Returns:
            Names, sorted.
        """
        return self.names(MODELS)

    def integrators(self) -> tuple[str, ...]:
        """Return the names of the registered integrators.

        Returns:
            Names, sorted.
        """
        return self.names(INTEGRATORS)

    def renderers(self) -> tuple[str, ...]:
        """Return the names of the registered renderers.

        Returns:
            Names, sorted.
        """
        return self.names(RENDERERS)

    def commands(self) -> tuple[str, ...]:
        """Return the names of the registered commands.

        Returns:
            Names, sorted.
        """
        return self.names(COMMANDS)

    def get_model(self, name: str) -> Callable[..., Model]:
        """Return the model class (or factory) of this name.

        Args:
            name: Registered name, such as "fem".

        Returns:
            Class or function that makes a model.
        """
        return cast("Callable[..., Model]", self.get(MODELS, name))

    def get_integrator(self, name: str) -> Callable[..., Integrator]:
        """Return the integrator class (or factory) of this name.

        Args:
            name: Registered name, such as "semi_implicit".

        Returns:
            Class or function that makes an integrator.
        """
        return cast("Callable[..., Integrator]", self.get(INTEGRATORS, name))

    def get_renderer(self, name: str) -> Callable[..., Renderer]:
        """Return the renderer class (or factory) of this name.

        Args:
            name: Registered name, such as "softras".

        Returns:
            Class or function that makes a renderer.
        """
        return cast("Callable[..., Renderer]", self.get(RENDERERS, name))


def _without_kind(report: PluginReport, kind: Kind, definer: Origin) -> PluginReport:
    """Return a report without its offers of a kind, with a warning if there were any."""
    kept = tuple(offer for offer in report.offers if offer.kind != kind)
    if kept == report.offers:
        return report
    line = (
        f"its {kind.plural.replace('_', ' ')} are left out: the plugin {definer.plugin!r} of {definer}, which defines "
        "them, is not loaded"
    )
    return replace(report, offers=kept, warnings=(*report.warnings, line))
