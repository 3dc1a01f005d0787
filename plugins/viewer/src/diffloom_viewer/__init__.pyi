from diffloom_viewer.recording import record as record
from diffloom_viewer.window import Live as Live, Window as Window
