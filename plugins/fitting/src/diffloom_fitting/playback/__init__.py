"""A run or an experiment played back: what moved, how it was strained, what pushed it. Viewers and exports read it."""

from diffloom_fitting.playback.bodies import Body
from diffloom_fitting.playback.contact import Arrows, contact_forces
from diffloom_fitting.playback.playback import Playback, load_playback, playback_of
from diffloom_fitting.playback.strain import strain, strain_colours

__all__ = ["Arrows", "Body", "Playback", "contact_forces", "load_playback", "playback_of", "strain", "strain_colours"]
