"""What a person sees while a fit runs: a live table in a terminal, plain lines elsewhere."""

from diffloom_fitting.result_tables import plain_table, result_table
from diffloom_studio.console.lines import PlainLines
from diffloom_studio.console.live import LiveTable
from diffloom_studio.console.watcher import Watcher, watcher

__all__ = ["LiveTable", "PlainLines", "Watcher", "plain_table", "result_table", "watcher"]
