"""What became of each plugin when it was loaded."""

from dataclasses import dataclass
from enum import StrEnum

from diffloom.plugins.entry import Entry, Origin


class PluginState(StrEnum):
    """What became of a plugin."""

    LOADED = "loaded"
    UNAVAILABLE = "unavailable"
    BROKEN = "broken"
    DISABLED = "disabled"
    MISSING = "missing"


@dataclass(frozen=True)
class PluginReport:
    """What became of one plugin.

    reason: why it is not loaded; empty when it is. offers: what it registered. seconds: time that loading took [s].
    warnings: what its author should know, a line each, though it is loaded. withheld: what a plugin that is not loaded
    had offered before it failed; nobody gets it, but who asks for it is told why.
    """

    origin: Origin
    state: PluginState
    reason: str = ""
    offers: tuple[Entry, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    withheld: tuple[Entry, ...] = ()

    @property
    def faulty(self) -> bool:
        """Whether somebody has to mend something: strict mode refuses to go on."""
        return self.state in (PluginState.BROKEN, PluginState.MISSING)

    def __str__(self) -> str:
        if self.state is PluginState.MISSING:
            return f"plugin {self.origin.plugin!r} is not there: {self.reason}"
        text = f"plugin {self.origin.plugin!r} of {self.origin} is {self.state}"
        return f"{text}: {self.reason}" if self.reason else text
