"""Settings by which the conformance suite runs the example of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

Values = Mapping[str, Any]
"""Parameter values by name."""


@dataclass(frozen=True)
class ImpactSettings:
    """Rollout of the example with at least five impacts, whose gradient is compared with finite differences of +-2 %.

    A model with ground contact claims by it that one can learn through impacts. The model has the parameter
    ``ground_height``.

    Args:
        dt: Length of a step [s].
        steps: Number of steps.
        parameters: Names of the parameters to compare, such as stiffness, damping and friction of the contact.
        values: Other parameter values of this rollout.
    """

    dt: float
    steps: int
    parameters: tuple[str, ...]
    values: Values = field(default_factory=dict)


@dataclass(frozen=True)
class ExampleSettings:
    """Settings by which the conformance suite runs a model's example, and the properties that it must have.

    The example should be small, because checks run it hundreds of times, and show all features: contact that touches,
    springs that stretch.

    Args:
        dt: Length of a step [s].
        steps: Number of steps.
        fit: Name of the parameter with the most visible effect.
        values: Parameters of the example that differ from the defaults.
        rest: Parameter values with which the example is at rest; None if there are none.
        free: Parameter values for which ``claims`` hold (no gravity, no ground); None for those of ``rest``.
        claims: Invariances of the model, of "translation", "rotation", "boost", "momentum" and "angular_momentum".
        variants: Mappings of values, or a function of the example that returns them, each for the gradients of the
            parameters it names: optional ones, and those without effect in the example.
        impacts: Rollout with impacts, for models with contact.
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
        """Return the ``example_settings`` of a model.

        Args:
            owner: Name of the model in messages.
            given: Its ``example_settings``.

        Returns:
            The settings.

        Raises:
            TypeError: The model has no settings.
        """
        if not isinstance(given, ExampleSettings):
            raise TypeError(
                f"{owner}: a model is checked on its example: give the class example() -> Model and example_settings = "
                "ExampleSettings(dt=..., steps=..., fit='parameter')"
            )
        return given

    def changed(self, owner: str, changes: Values) -> ExampleSettings:
        """Return a copy with some fields replaced.

        Args:
            owner: Name of the model in messages.
            changes: Values by field.

        Returns:
            Changed settings.

        Raises:
            TypeError: The field does not exist.
        """
        _check_names(owner, changes)
        return replace(self, **changes)


def _check_names(owner: str, given: Values) -> None:
    """Raise TypeError for names that are no fields."""
    known = [each.name for each in fields(ExampleSettings)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"{owner}: example_settings has {', '.join(unknown)}; it may have {', '.join(known)}")
