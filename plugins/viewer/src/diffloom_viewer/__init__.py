"""Look at a fit in 3D, in a browser.

from diffloom_studio.playback import load_playback
from diffloom_viewer import Window

window = Window(load_playback("runs/demo"))
window.wait()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffloom_viewer.live import Live
    from diffloom_viewer.recording import record
    from diffloom_viewer.window import Window

_HOMES = {"Live": "live", "Window": "window", "record": "recording"}

__all__ = ["Live", "Window", "record"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the plugin's own module must not bring in torch.
    if name in _HOMES:
        return getattr(import_module(f"diffloom_viewer.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
