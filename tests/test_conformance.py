"""All that is installed passes the suite that third parties run: one test for each check."""

from diffloom.plugins import integrators, models, renderers
from diffloom.testing import parametrize_with_checks

SUBJECTS = [
    *(f"model {name}" for name in models()),
    *(f"integrator {name}" for name in integrators()),
    *(f"renderer {name}" for name in renderers()),
]


@parametrize_with_checks(SUBJECTS)
def test_it_keeps_its_promises(subject, check):
    check()


def test_everything_is_covered():
    assert {"model fem", "model rigid", "model cloth", "model springs"} <= set(SUBJECTS)
    assert {"renderer softras", "renderer dibr", "integrator semi_implicit", "integrator backward_euler"} <= set(
        SUBJECTS
    )
