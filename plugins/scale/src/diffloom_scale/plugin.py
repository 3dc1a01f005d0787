"""Registrations of diffloom-scale. Import paths only: nothing heavy is imported before it is used."""

from functools import partial
from importlib.util import find_spec

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_scale.kinds import LOGGERS

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [LOGGERS]


@hookimpl
def diffloom_register_loggers(register: Register) -> None:
    """Register the loggers."""
    register("csv", "diffloom_scale.loggers:CsvTable", summary="A table of all iterations")
    for name, logger, summary in (
        ("tensorboard", "TensorBoard", "Event files for TensorBoard"),
        ("mlflow", "MlFlow", "Runs of MLflow"),
    ):
        register(name, f"diffloom_scale.loggers:{logger}", summary=summary, available=partial(_missing, name))


def _missing(library: str) -> str | None:
    """Return why a logger cannot be used, or None if its library is installed."""
    return None if find_spec(library) else f"{library} is not installed: pip install 'diffloom-scale[{library}]'"
