from diffloom_testing.checks import (
    Check as Check,
)
from diffloom_testing.checks import (
    Failure as Failure,
)
from diffloom_testing.checks import (
    Skip as Skip,
)
from diffloom_testing.checks import (
    check as check,
)
from diffloom_testing.checks import (
    compared as compared,
)
from diffloom_testing.checks import (
    require as require,
)
from diffloom_testing.gradients import (
    Comparison as Comparison,
)
from diffloom_testing.gradients import (
    check_gradient as check_gradient,
)
from diffloom_testing.gradients import (
    compare_gradient as compare_gradient,
)
from diffloom_testing.kinds import SUITES as SUITES
from diffloom_testing.parametrize import parametrize_with_checks as parametrize_with_checks
from diffloom_testing.results import (
    Outcome as Outcome,
)
from diffloom_testing.results import (
    Report as Report,
)
from diffloom_testing.results import (
    Result as Result,
)
from diffloom_testing.suites import (
    Suite as Suite,
)
from diffloom_testing.suites import (
    check_integrator as check_integrator,
)
from diffloom_testing.suites import (
    check_model as check_model,
)
from diffloom_testing.suites import (
    check_renderer as check_renderer,
)
from diffloom_testing.suites import (
    check_term as check_term,
)
from diffloom_testing.suites import (
    run_suite as run_suite,
)
from diffloom_testing.wide import (
    WideComparison as WideComparison,
)
from diffloom_testing.wide import (
    compare_wide as compare_wide,
)
