"""What a model is checked on: settings of the example that its author offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

Values = Mapping[str, Any]
"""Parameter values by name."""


@dataclass(frozen=True)
class ImpactSettings:
    """A rollout of the example with at least five impacts, through which its gradient is compared with differences of
    +-2 %. A model that has contact with a ground claims by it that one can learn through impacts.

    dt: step [s]; steps: how many. parameters: those to compare, such as stiffness, damping and friction of the contact.
    values: other parameter values of this rollout. The model has the parameter ``ground_height``.
    """

    dt: float
    steps: int
    parameters: tuple[str, ...]
    values: Values = field(default_factory=dict)


@dataclass(frozen=True)
class ExampleSettings:
    """How the example of a model is run by the conformance suite, and what it must show.

    dt: step [s]; steps: how many. The example should be small, since checks run it hundreds of times, and show
    everything: contact that touches, springs that stretch. fit: the parameter that shows best.
    values: parameters of the example that are not the defaults.
    rest: parameter values under which the example is at rest; None where there are none.
    claims: the invariances it has, of "translation", "rotation", "boost", "momentum" and "angular_momentum".
    free: parameter values under which they hold (no gravity, no ground); None means those of ``rest``.
    variants: mappings of values, or a function of the example that gives them, each for the gradients of the
    parameters it names: optional ones, and those that do not show in the example otherwise.
    impacts: a rollout with impacts, for models that have contact.
    """

    dt: float
    steps: int
    fit: str
    values: Values = field(default_factory=dict)
    rest: Values | None = None
    free: Values | None = None
    claims: tuple[str, ...] = ()
    variants: Sequence[Values] | Callable[[Any], Sequence[Values]] = ()
    impacts: ImpactSettings | None = None

    @staticmethod
    def of(owner: str, given: object) -> ExampleSettings:
        """Return the ``example_settings`` of a model; TypeError, naming ``owner``, where it has none."""
        if not isinstance(given, ExampleSettings):
            raise TypeError(
                f"{owner}: a model is checked on its example: give the class example() -> Model and example_settings = "
                "ExampleSettings(dt=..., steps=..., fit='parameter')"
            )
        return given

    def changed(self, owner: str, changes: Values) -> ExampleSettings:
        """The same with some fields exchanged; TypeError, naming ``owner``, for one there is not."""
        _check_names(owner, changes)
        return replace(self, **changes)


def _check_names(owner: str, given: Values) -> None:
    known = [each.name for each in fields(ExampleSettings)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"{owner}: example_settings has {', '.join(unknown)}; it may have {', '.join(known)}")
