"""Datasets of videos with the values behind them: made from an experiment file, read as a torch Dataset."""

from diffloom_scale.datasets.reading import VideoDataset

__all__ = ["VideoDataset"]
