"""Application of diffloom: commands, console, reports, playback and exports."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
