from diffloom_viewer.recording import record as record
from diffloom_viewer.window import LiveView as LiveView, ViewerWindow as ViewerWindow
