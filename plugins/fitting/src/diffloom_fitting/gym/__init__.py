"""Scenes as Gymnasium environments: for learners that ask for no gradient, and to compare them with those that do.

import gymnasium
import diffloom_fitting.gym

env = diffloom_fitting.gym.make_env("experiments/control-walker.toml", observe="image")
env = gymnasium.make("diffloom_fitting.gym:diffloom/Scene-v0", source="experiments/control-walker.toml")
"""

from diffloom_fitting.gym.environment import SceneEnv
from diffloom_fitting.gym.extra import gymnasium
from diffloom_fitting.gym.making import make_env
from diffloom_fitting.gym.task import Task

__all__ = ["SceneEnv", "Task", "make_env"]

if "diffloom/Scene-v0" not in gymnasium.registry:
    gymnasium.register("diffloom/Scene-v0", entry_point="diffloom_fitting.gym.making:make_env")
