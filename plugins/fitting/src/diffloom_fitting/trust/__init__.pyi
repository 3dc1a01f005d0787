from diffloom_fitting.trust.blocks import student_factor as student_factor
from diffloom_fitting.trust.ledger_words import advise_on_doubts as advise_on_doubts
from diffloom_fitting.trust.time_step import (
    find_stable_step as find_stable_step,
    refuse_long_steps as refuse_long_steps,
)
from diffloom_fitting.trust.uncertainty import (
    FINE as FINE,
    SEVERAL as SEVERAL,
    Uncertainty as Uncertainty,
    clustered_uncertainty as clustered_uncertainty,
)
from diffloom_fitting.trust.verdict import (
    AT_REST as AT_REST,
    FIFTH as FIFTH,
    HALF as HALF,
    WELL as WELL,
    Verdict as Verdict,
    VerdictPart as VerdictPart,
    identifiable as identifiable,
    judge_convergence as judge_convergence,
    skip_judgement as skip_judgement,
)
