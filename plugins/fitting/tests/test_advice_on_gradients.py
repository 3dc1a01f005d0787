"""Advice on a gradient that does not predict: contact laws are named only where the model has the linear one."""

from __future__ import annotations

import pytest

from diffloom_fitting.gradient_check import ADVICE, advise


@pytest.mark.parametrize(
    ("parameters", "told", "untold"),
    [
        (["length", "gravity"], "horizon that grows", "contact"),
        (["mass", "contact_stiffness", "contact_dissipation"], "impacts", "hunt_crossley"),
        (["mass", "contact_stiffness", "contact_damping"], "hunt_crossley", "far from"),
        (["ball.contact_damping"], "hunt_crossley", "far from"),
    ],
)
def test_contact_laws_are_advised_only_where_they_help(parameters: list[str], told: str, untold: str) -> None:
    advice = advise("not asked for", parameters)
    assert told in advice
    assert untold not in advice


def test_unknown_models_get_all_advice() -> None:
    assert advise("not asked for") == ADVICE
