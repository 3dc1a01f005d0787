"""The plugins that the project itself publishes: what to install to get a name that is missing."""

from diffloom.plugins.kinds import (
    CAMERAS,
    COMMANDS,
    LOGGERS,
    LOSSES,
    MODELS,
    OPTIMISERS,
    RENDERERS,
    SEGMENTERS,
    VIDEO_READERS,
    Kind,
)

_OFFERS: dict[str, dict[Kind, tuple[str, ...]]] = {
    "diffloom-physics-springs": {MODELS: ("springs",)},
    "diffloom-physics-fem": {MODELS: ("fem",)},
    "diffloom-physics-cloth": {MODELS: ("cloth",)},
    "diffloom-physics-rigid": {MODELS: ("rigid",)},
    "diffloom-physics-articulated": {MODELS: ("articulated",)},
    "diffloom-physics-smoke": {MODELS: ("smoke",)},
    "diffloom-physics-world": {MODELS: ("world",)},
    "diffloom-render-softras": {RENDERERS: ("softras",)},
    "diffloom-render-dibr": {RENDERERS: ("dibr",)},
    "diffloom-render-mitsuba": {RENDERERS: ("mitsuba",)},
    "diffloom-fitting": {
        COMMANDS: (
            "run",
            "simulate",
            "render",
            "landscape",
            "check-gradient",
            "sweep",
            "dataset",
            "warm",
            "export",
            "schema",
            "demo",
            "new",
        ),
        LOSSES: ("mse", "silhouette", "iou", "interior", "multiscale", "moments", "region", "centre", "state", "track"),
        OPTIMISERS: ("adam", "cma", "gauss_newton", "basin_hopping", "lbfgs", "line_scan", "sgd"),
        VIDEO_READERS: ("folder", "video"),
        CAMERAS: ("orbit", "free"),
        SEGMENTERS: ("plate", "colour", "motion"),
        LOGGERS: ("csv", "mlflow", "tensorboard"),
    },
    "diffloom-viewer": {COMMANDS: ("view",)},
}

DISTRIBUTIONS = frozenset(_OFFERS)
"""Names of the distributions. They load before all others, so nobody can take their names."""


def distribution_of(kind: Kind, name: str) -> str | None:
    """The distribution to install for the thing called ``name``, or None when the project publishes no such thing."""
    for distribution, offers in _OFFERS.items():
        if name in offers.get(kind, ()):
            return distribution
    return None


def names(kind: Kind) -> tuple[str, ...]:
    """Names of all published things of a kind, sorted."""
    return tuple(sorted(name for offers in _OFFERS.values() for name in offers.get(kind, ())))
