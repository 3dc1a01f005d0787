from diffloom_testing.gradients import (
    GradientComparison as GradientComparison,
    check_gradient as check_gradient,
    compare_gradient as compare_gradient,
)
from diffloom_testing.kinds import SUITES as SUITES
from diffloom_testing.parametrize import parametrize_with_checks as parametrize_with_checks
from diffloom_testing.results import (
    Check as Check,
    CheckOutcome as CheckOutcome,
    CheckReport as CheckReport,
    CheckResult as CheckResult,
    Failure as Failure,
    Skip as Skip,
    check as check,
    count_comparisons as count_comparisons,
    require as require,
)
from diffloom_testing.suites import (
    Suite as Suite,
    check_integrator as check_integrator,
    check_model as check_model,
    check_renderer as check_renderer,
    check_term as check_term,
    run_suite as run_suite,
)
from diffloom_testing.wide_differences import WideComparison as WideComparison, compare_wide as compare_wide
