"""All that is installed passes the suite that third parties run: one test for each check."""

import pytest

from diffloom.plugins import integrators, models, renderers
from diffloom_mechanics import TERMS
from diffloom_render_mitsuba.library import why_unavailable
from diffloom_testing import parametrize_with_checks

SUBJECTS = [
    *(f"model {name}" for name in models()),
    *(f"integrator {name}" for name in integrators()),
    *(f"renderer {name}" for name in renderers()),
    *(f"term {name}" for name in TERMS.names()),
]
OBSTACLES = ("box", "capsule", "plane", "height_field", "mesh")
# Each compiles a whole program that no other test runs: another precision, or a sheet in air.
LONG = {
    "cloth-precision.single_and_double",
    "rigid-precision.single_and_double",
    "cloth-gradients.parameter[drag]",
    "cloth-gradients.parameter[lift]",
    "cloth-gradients.parameter[wind]",
    "cloth-controls.constant[wind]",
    "cloth-controls.gradient[wind]",
    "world-precision.single_and_double",
    *(f"{model}-integrators.runs[{scheme}]" for model in ("cloth", "rigid") for scheme in ("leapfrog", "rk4")),
    *(f"world-integrators.runs[{scheme}]" for scheme in ("leapfrog", "rk4", "backward_euler", "implicit_midpoint")),
    # The sphere goes through all of them; of the other obstacles one rollout is enough at first.
    *(f"{term}-motion.gradient[{model}]" for term in OBSTACLES for model in ("cloth", "fem", "rigid")),
    *(
        f"{term}-integrators.runs[{scheme}]"
        for term in OBSTACLES
        for scheme in ("leapfrog", "rk4", "implicit_midpoint", "backward_euler")
    ),
}


def takes_long(name):
    """Return True for the cases named above; for runs with rk4, which other tests
    take; and for obstacles on hosts whose kernels take long to compile, where sphere and plane go first."""
    return (
        name in LONG
        or name.endswith("integrators.runs[rk4]")
        or name.startswith("air-")  # its adjoint has a test of its own
        or (name.startswith(("box-", "capsule-", "height_field-", "mesh-")) and ("cloth" in name or "rigid" in name))
    )


def in_time(mark):
    """Return the parameters, with slow ones marked, and with ``full`` on what `make test` leaves out: single precision,
    which is another program, and all cases of a check but its first."""
    names, parameters = mark.args
    marked, seen = [], set()
    for parameter in parameters:
        check = parameter.id.partition("[")[0]
        repeats = check in seen or "float32" in parameter.id or "precision." in parameter.id
        slow = takes_long(parameter.id)
        if not repeats and not slow:
            seen.add(check)
        marks = (*parameter.marks, *[pytest.mark.slow] * slow, *[pytest.mark.full] * repeats)
        marked.append(pytest.param(*parameter.values, id=parameter.id, marks=marks))
    assert {parameter.id for parameter in parameters} >= LONG
    return pytest.mark.parametrize(names, marked)


@in_time(parametrize_with_checks(SUBJECTS))
def test_conformance(subject, check, request):
    if "mitsuba-" in request.node.name and (reason := why_unavailable()) is not None:
        pytest.skip(reason)  # its library is an extra
    check()


def test_the_conformance_run_covers_models_renderers_and_terms():
    assert {"model fem", "model rigid", "model cloth", "model springs"} <= set(SUBJECTS)
    assert {"renderer softras", "renderer dibr", "renderer coverage"} <= set(SUBJECTS)
    assert {f"term {name}" for name in ("sphere", *OBSTACLES)} <= set(SUBJECTS)
    schemes = ("semi_implicit", "leapfrog", "rk4", "backward_euler", "implicit_midpoint")
    assert {f"integrator {scheme}" for scheme in schemes} <= set(SUBJECTS)
