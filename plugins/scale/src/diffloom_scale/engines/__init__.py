"""Where many tasks run: processes of this machine, or a Ray cluster."""

from diffloom_scale.engines.engine import ENGINES, Engine, TaskError, engine_of

__all__ = ["ENGINES", "Engine", "TaskError", "engine_of"]
