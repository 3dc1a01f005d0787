"""Scene and experiment files: TOML, checked, and made into objects."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffloom_fitting.files.build import build_scene
    from diffloom_fitting.files.experiments import build_experiment
    from diffloom_fitting.files.load import Loaded, load_file
    from diffloom_fitting.files.schema import ExperimentFile

_HOME = {
    "ExperimentFile": "schema",
    "Loaded": "load",
    "build_experiment": "experiments",
    "build_scene": "build",
    "load_file": "load",
}

__all__ = ["ExperimentFile", "Loaded", "build_experiment", "build_scene", "load_file"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: what a file may say can be explained without torch.
    if name in _HOME:
        return getattr(import_module(f"diffloom_fitting.files.{_HOME[name]}"), name)
    raise AttributeError(f"module 'diffloom_fitting.files' has no attribute {name!r}")
