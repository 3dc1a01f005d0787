import pytest
import torch

from diffloom_testing.comparisons import describe_worst, largest_difference, require_matching_gradients
from diffloom_testing.results import (
    CheckOutcome,
    CheckReport,
    CheckResult,
    Item,
    Skip,
    check,
    require,
    run_check,
    validate_reasons,
)


@check("family")
def passing(subject):
    """Passes."""
    require(True, "")
    return "a note"


@check("family")
def idle(subject):
    """Looks at nothing."""
    return "a note"


@check("family")
def failing(subject):
    """Fails."""
    raise ValueError("what went wrong")


@check("other")
def skipping(subject):
    """Does not apply."""
    raise Skip("why not")


def test_outcomes_and_details():
    results = [run_check(Item(each, None), {}) for each in (passing, failing, skipping)]
    assert [(r.check, r.outcome, r.detail) for r in results] == [
        ("family.passing", CheckOutcome.PASSED, "a note"),
        ("family.failing", CheckOutcome.FAILED, "ValueError: what went wrong"),
        ("other.skipping", CheckOutcome.SKIPPED, "why not"),
    ]


def test_a_report_counts_and_names_the_families_that_were_skipped():
    report = CheckReport(
        "model", "toy", tuple(run_check(Item(each, None), {}) for each in (passing, failing, skipping))
    )
    assert report.summary == "model toy: 2 checks ran: 1 passed, 1 failed, 1 skipped; 1 compared something"
    assert report.skipped_families == {"other": "why not"}
    with pytest.raises(AssertionError, match="FAILED family.failing: ValueError: what went wrong"):
        report.raise_if_failed()
    assert "family other skipped: why not" in str(report)


def test_an_expected_failure_needs_a_reason_and_a_check():
    for reason in ("", "  ", None):
        with pytest.raises(ValueError, match="got no reason"):
            validate_reasons({"family.failing": reason}, ("family.failing",))
    with pytest.raises(ValueError, match="no check has this name; the checks are family.failing"):
        validate_reasons({"family.failin": "because"}, ("family.failing",))


def test_an_expected_failure_is_counted_apart_and_must_fail():
    expected = run_check(Item(failing, None), {"family.failing": "a known limit"})
    assert expected.outcome is CheckOutcome.EXPECTED
    assert "a known limit" in expected.detail and "what went wrong" in expected.detail
    surprise = run_check(Item(passing, None), {"family.passing": "a known limit"})
    assert surprise.outcome is CheckOutcome.FAILED
    assert "passes, but was expected to fail: a known limit" in surprise.detail
    report = CheckReport("model", "toy", (expected, CheckResult("family.passing", CheckOutcome.PASSED)))
    counts = "1 passed, 0 failed, 0 skipped, 1 failed as expected; 0 compared something"
    assert report.summary == f"model toy: 2 checks ran: {counts}"
    report.raise_if_failed()


def test_a_check_that_compared_nothing_is_skipped():
    result = run_check(Item(idle, None), {})
    assert (result.outcome, result.detail) == (CheckOutcome.SKIPPED, "nothing was compared: a note")
    assert run_check(Item(passing, None), {}).comparisons == 1


def test_vanishing_gradients_are_skipped_or_noted():
    def unmoved(x, y):
        return 0.0 * x + y**2

    one = torch.ones(1, dtype=torch.float64)
    found = require_matching_gradients(unmoved, {"x": one, "y": one}, tolerance=1e-6)
    assert describe_worst(found).endswith(" in 1 of 2 directions")
    with pytest.raises(Skip, match="nothing was compared: the result does not depend on x, and the gradient"):
        describe_worst([each for each in found if each.name == "x"])
    with pytest.raises(Skip, match="the tensors have no entries"):
        largest_difference(torch.ones(0), torch.ones(0))


def test_a_cause_is_listed_once():
    failed = [CheckResult(f"family.check[{case}]", CheckOutcome.FAILED, "the same") for case in "abcdef"]
    report = CheckReport("model", "toy", (*failed, CheckResult("other.check", CheckOutcome.FAILED, "another")))
    assert report.causes == (
        "family.check[a]: the same (and the same in 5 more: family.check[b], family.check[c], family.check[d], ...)",
        "other.check: another",
    )
    assert str(report).count("the same (and") == 1
    assert len(report.failures) == 7
