"""A scene: a model that moves, a camera that looks, a renderer that draws, and the clock they share."""

from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.batches import MOST_SCENES, batch_of, draw_batch, see_batch
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.free_camera import FreeCamera
from diffloom_fitting.scene.moving import Tracked, Waypoint
from diffloom_fitting.scene.orbit import Orbit
from diffloom_fitting.scene.placement import CameraPlacement
from diffloom_fitting.scene.policy import Observation, Policy, Sinusoids
from diffloom_fitting.scene.rollouts import Rollouts
from diffloom_fitting.scene.scene import Scene, View, coordinates
from diffloom_fitting.scene.sensor import Sensor
from diffloom_fitting.scene.simulating import Rollout
from diffloom_fitting.scene.viewpoint import Viewpoint

__all__ = [
    "MOST_SCENES",
    "Appearance",
    "CameraPlacement",
    "FreeCamera",
    "Observation",
    "Orbit",
    "Policy",
    "Rollout",
    "Rollouts",
    "Sampling",
    "Scene",
    "Sensor",
    "Sinusoids",
    "Tracked",
    "View",
    "Viewpoint",
    "Waypoint",
    "batch_of",
    "coordinates",
    "draw_batch",
    "sample_times",
    "see_batch",
]
