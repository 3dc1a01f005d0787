"""Kinds of things that diffloom-scale lets plugins register."""

from diffloom.plugins import Kind

LOGGERS = Kind(
    "loggers",
    "logger",
    "diffloom_scale.loggers:Logger",
    "Loggers: classes that implement ``diffloom_scale.Logger``, called after each iteration.",
)

get_logger = LOGGERS.get
