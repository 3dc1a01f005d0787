"""Exact coverage: a renderer whose pixels are the box-filtered image of the opaque scene."""

from .tallies import Tally as Tally, last_tally as last_tally

__all__ = ["Tally", "last_tally"]
