"""Loggers: who is told of a fit while it runs."""

from diffloom_scale.loggers.logger import Logger, logged

__all__ = ["Logger", "logged"]
