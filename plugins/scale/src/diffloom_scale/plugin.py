"""Registrations of diffloom-scale. Import paths only: nothing heavy is imported before it is used."""

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
    register(
        "tensorboard",
        "diffloom_scale.loggers:TensorBoard",
        summary="Event files for TensorBoard",
        available="diffloom_scale.kinds:needs_tensorboard",
    )
    register(
        "mlflow",
        "diffloom_scale.loggers:MlFlow",
        summary="Runs of MLflow",
        available="diffloom_scale.kinds:needs_mlflow",
    )
