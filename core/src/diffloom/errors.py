"""Errors that a user meets."""

__all__ = ["BatchError", "InputError", "ParameterError", "SimulationError"]


class InputError(ValueError):
    """Something a user gave is wrong; the message says what was given, what was expected and what to do."""


class SimulationError(RuntimeError):
    """A simulation failed on the way (blew up, did not converge); the message names step, body and element."""


class ParameterError(InputError, SimulationError):
    """A value that a model cannot be simulated with. It is an InputError to who gave it, and to a fit that tries it a
    SimulationError: a trial that is rejected."""


class BatchError(InputError):
    """A model whose scenes cannot be run at once; one by one they can."""
