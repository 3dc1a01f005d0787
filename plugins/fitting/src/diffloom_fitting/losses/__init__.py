"""Losses: distances of views from targets."""

from diffloom_fitting.losses.centre import CentreError
from diffloom_fitting.losses.interior import InteriorError
from diffloom_fitting.losses.iou import IoU
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.losses.moments import Moments
from diffloom_fitting.losses.mse import PixelError
from diffloom_fitting.losses.multiscale import MultiScale
from diffloom_fitting.losses.region import RegionLoss
from diffloom_fitting.losses.silhouette import SilhouetteError
from diffloom_fitting.losses.state import StateError
from diffloom_fitting.losses.track import TrackError

__all__ = ["CentreError", "InteriorError", "IoU", "Loss", "Moments", "MultiScale", "PixelError", "RegionLoss",
           "SilhouetteError", "StateError", "TrackError"]  # fmt: skip
