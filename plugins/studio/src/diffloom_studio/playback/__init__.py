"""A run or an experiment played back: what moved, how it was strained, what pushed it. Viewers and exports read it."""

from diffloom_studio.playback.bodies import Body
from diffloom_studio.playback.contact import Arrows, contact_forces
from diffloom_studio.playback.fields import Field, common_scale, scale_text, strain_field, stress_field
from diffloom_studio.playback.playback import Playback, load_playback, playback_of
from diffloom_studio.playback.strain import scale_colours, strain

__all__ = [
    "Arrows",
    "Body",
    "Field",
    "Playback",
    "common_scale",
    "contact_forces",
    "load_playback",
    "playback_of",
    "scale_colours",
    "scale_text",
    "strain",
    "strain_field",
    "stress_field",
]
