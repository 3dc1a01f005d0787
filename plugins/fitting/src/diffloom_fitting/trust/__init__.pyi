from diffloom_fitting.trust.time_step import refuse_long_steps as refuse_long_steps
from diffloom_fitting.trust.uncertainty import (
    FINE as FINE,
    SEVERAL as SEVERAL,
    Uncertainty as Uncertainty,
)
from diffloom_fitting.trust.verdict import (
    AT_REST as AT_REST,
    Finding as Finding,
    Verdict as Verdict,
)
