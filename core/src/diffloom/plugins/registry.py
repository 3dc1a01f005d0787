"""The registry: everything that the loaded plugins offer, by kind and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from diffloom.deprecation import warn_renamed
from diffloom.plugins.collect import collect
from diffloom.plugins.entry import Entry, Origin
from diffloom.plugins.errors import BrokenPluginsError, RegistrationError, UnknownNameError
from diffloom.plugins.kinds import (
    CAMERAS,
    COMMANDS,
    CONTACT_LAWS,
    INTEGRATORS,
    LOGGERS,
    LOSSES,
    MODELS,
    OPTIMISERS,
    RENDERERS,
    SEGMENTERS,
    TERMS,
    VIDEO_READERS,
    Kind,
)
from diffloom.plugins.missing import explain_missing
from diffloom.plugins.report import PluginReport, PluginState

if TYPE_CHECKING:
    from diffloom.interfaces import Integrator, Model, Renderer


class Registry:
    """What is installed. A fresh one is empty and knows nothing of the process's own: use it freely in tests."""

    def __init__(self) -> None:
        self._entries: dict[tuple[Kind, str], Entry] = {}
        self._plugins: list[PluginReport] = []

    def install(self, plugin: object, name: str, distribution: str | None = None, version: str = "0") -> None:
        """Add all that a plugin (a module, or an object with hooks as methods) offers, or raise and add nothing."""
        origin = Origin(name, distribution or name, version)
        found = collect(plugin, origin)
        self.record(
            PluginReport(origin, PluginState.LOADED, offers=tuple(found.offers), warnings=tuple(found.warnings))
        )

    def record(self, report: PluginReport) -> None:
        """Add a plugin and its offers; raises, and adds nothing, when one of its names is taken."""
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
    def plugins(self) -> tuple[PluginReport, ...]:
        """What became of every plugin, sorted by name."""
        return tuple(sorted(self._plugins, key=lambda report: (report.origin.plugin, report.origin.distribution)))

    def raise_if_faulty(self) -> None:
        """Raise BrokenPluginsError when a plugin is broken or one that was asked for is missing."""
        faulty = [str(report) for report in self.plugins if report.faulty]
        if faulty:
            raise BrokenPluginsError("\n".join(faulty))

    def entries(self, kind: Kind) -> tuple[Entry, ...]:
        """All registered things of one kind, sorted by name."""
        return tuple(self._entries[key] for key in sorted(self._entries, key=lambda key: key[1]) if key[0] == kind)

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Names of all registered things of one kind, sorted."""
        return tuple(entry.name for entry in self.entries(kind))

    def entry(self, kind: Kind, name: str) -> Entry:
        """The registered thing of this name, not yet imported; UnknownNameError says what there is instead."""
        try:
            return self._entries[kind, name]
        except (KeyError, TypeError):
            for entry in self.entries(kind):
                if name in entry.formerly:
                    warn_renamed(kind.singular, name, entry.name, depth=5)
                    return entry
            raise UnknownNameError(explain_missing(kind, name, self.names(kind), self._plugins)) from None

    def get(self, kind: Kind, name: str) -> Any:
        """The factory of this name, imported now."""
        return self.entry(kind, name).load()

    def models(self) -> tuple[str, ...]:
        """Names of the installed models."""
        return self.names(MODELS)

    def integrators(self) -> tuple[str, ...]:
        """Names of the installed integrators."""
        return self.names(INTEGRATORS)

    def renderers(self) -> tuple[str, ...]:
        """Names of the installed renderers."""
        return self.names(RENDERERS)

    def terms(self) -> tuple[str, ...]:
        """Names of the installed force terms."""
        return self.names(TERMS)

    def contact_laws(self) -> tuple[str, ...]:
        """Names of the installed contact laws."""
        return self.names(CONTACT_LAWS)

    def losses(self) -> tuple[str, ...]:
        """Names of the installed losses."""
        return self.names(LOSSES)

    def optimisers(self) -> tuple[str, ...]:
        """Names of the installed optimisers."""
        return self.names(OPTIMISERS)

    def video_readers(self) -> tuple[str, ...]:
        """Names of the installed video readers."""
        return self.names(VIDEO_READERS)

    def cameras(self) -> tuple[str, ...]:
        """Names of the installed kinds of camera."""
        return self.names(CAMERAS)

    def segmenters(self) -> tuple[str, ...]:
        """Names of the installed segmenters."""
        return self.names(SEGMENTERS)

    def loggers(self) -> tuple[str, ...]:
        """Names of the installed loggers."""
        return self.names(LOGGERS)

    def commands(self) -> tuple[str, ...]:
        """Names of the installed commands."""
        return self.names(COMMANDS)

    def get_model(self, name: str) -> Callable[..., Model]:
        """The model class (or factory) of this name."""
        return cast("Callable[..., Model]", self.get(MODELS, name))

    def get_integrator(self, name: str) -> Callable[..., Integrator]:
        """The integrator class (or factory) of this name."""
        return cast("Callable[..., Integrator]", self.get(INTEGRATORS, name))

    def get_renderer(self, name: str) -> Callable[..., Renderer]:
        """The renderer class (or factory) of this name."""
        return cast("Callable[..., Renderer]", self.get(RENDERERS, name))

    def get_term(self, name: str) -> Any:
        """The force term of this name."""
        return self.get(TERMS, name)

    def get_contact_law(self, name: str) -> Any:
        """The contact law of this name."""
        return self.get(CONTACT_LAWS, name)

    def get_loss(self, name: str) -> Any:
        """The loss of this name."""
        return self.get(LOSSES, name)

    def get_optimiser(self, name: str) -> Any:
        """The optimiser of this name."""
        return self.get(OPTIMISERS, name)

    def get_video_reader(self, name: str) -> Any:
        """The video reader of this name."""
        return self.get(VIDEO_READERS, name)

    def get_camera(self, name: str) -> Any:
        """The kind of camera of this name."""
        return self.get(CAMERAS, name)

    def get_segmenter(self, name: str) -> Any:
        """The segmenter of this name."""
        return self.get(SEGMENTERS, name)

    def get_logger(self, name: str) -> Any:
        """The logger of this name."""
        return self.get(LOGGERS, name)
