"""The kinds of things a plugin can offer, one for each hook."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of thing.

    plural, singular: its words, as in ``diffloom_register_<plural>`` and in messages. interface: import path of the
    class that a factory of this kind must derive from, or None when anything callable will do.
    """

    plural: str
    singular: str
    interface: str | None = None

    @property
    def hook(self) -> str:
        """The hook that offers things of this kind."""
        return f"diffloom_register_{self.plural}"


MODELS = Kind("models", "model", "diffloom.interfaces:Model")
INTEGRATORS = Kind("integrators", "integrator", "diffloom.interfaces:Integrator")
RENDERERS = Kind("renderers", "renderer", "diffloom.interfaces:Renderer")
TERMS = Kind("terms", "term", "diffloom.interfaces:ForceTerm")
CONTACT_LAWS = Kind("contact_laws", "contact law", "diffloom.contact.law:ContactLaw")
LOSSES = Kind("losses", "loss")
OPTIMISERS = Kind("optimisers", "optimiser")
VIDEO_READERS = Kind("video_readers", "video reader")
CAMERAS = Kind("cameras", "camera")
SEGMENTERS = Kind("segmenters", "segmenter")
LOGGERS = Kind("loggers", "logger")
COMMANDS = Kind("commands", "command")

KINDS = (
    MODELS, INTEGRATORS, RENDERERS, TERMS, CONTACT_LAWS, LOSSES, OPTIMISERS, VIDEO_READERS, CAMERAS,
    SEGMENTERS, LOGGERS, COMMANDS,
)  # fmt: skip
