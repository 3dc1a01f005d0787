"""Viewer of fits in 3D, in a browser.

from diffloom_studio.playback import load_playback
from diffloom_viewer import ViewerWindow

window = ViewerWindow(load_playback("runs/demo"))
window.wait()
"""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
