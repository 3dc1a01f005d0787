"""Kinds of things that diffloom-scale lets plugins register."""

from importlib.util import find_spec

from diffloom.plugins import Kind

LOGGERS = Kind(
    "loggers",
    "logger",
    "diffloom_scale.loggers:Logger",
    "Loggers: classes that implement ``diffloom_scale.Logger``, called after each iteration.",
)

get_logger = LOGGERS.get


def needs_tensorboard() -> str | None:
    """Return the reason why files of TensorBoard cannot be written, or None."""
    return _explain_missing("tensorboard")


def needs_mlflow() -> str | None:
    """Return the reason why MLflow cannot be used, or None."""
    return _explain_missing("mlflow")


def _explain_missing(library: str) -> str | None:
    return None if find_spec(library) else f"{library} is not installed: pip install 'diffloom-scale[{library}]'"
