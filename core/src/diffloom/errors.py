"""Errors that users meet."""

__all__ = ["BatchError", "InputError", "ParameterError", "SimulationError"]


class InputError(ValueError):
    """Wrong input; the message names the value given, the values expected and the remedy."""


class SimulationError(RuntimeError):
    """Failure of a simulation (unstable, not converged); the message names step, body and element."""


class ParameterError(InputError, SimulationError):
    """Parameter value with which a model cannot be simulated.

    Callers see an InputError; a fit that tries the value sees a SimulationError and rejects the trial.
    """


class BatchError(InputError):
    """Model whose scenes cannot run as a batch; one by one they can."""
