"""Scenes as Gymnasium environments: for learners that need no gradient, and to compare them with those that do.

import diffloom_experiments
from diffloom_control.gym import SceneEnv

env = diffloom_experiments.make_env("experiments/control-walker.toml", observe="image")
"""

from diffloom_control.gym.environment import SceneEnv
from diffloom_control.gym.task import Task, task_of

__all__ = ["SceneEnv", "Task", "task_of"]
