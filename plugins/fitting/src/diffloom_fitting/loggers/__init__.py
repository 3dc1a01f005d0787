"""Loggers: who is told of a fit while it runs."""

from diffloom_fitting.loggers.logger import Logger, logged

__all__ = ["Logger", "logged"]
