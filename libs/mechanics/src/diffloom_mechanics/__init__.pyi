from diffloom_mechanics.adjoint_comparison import (
    DeviceComparison as DeviceComparison,
    compare_device_adjoints as compare_device_adjoints,
)
from diffloom_mechanics.air import Air as Air
from diffloom_mechanics.binding import CompiledSystem as CompiledSystem
from diffloom_mechanics.carried_bodies import (
    build_carried_elements as build_carried_elements,
    build_carried_term as build_carried_term,
)
from diffloom_mechanics.evaluation import SystemEvaluation as SystemEvaluation
from diffloom_mechanics.explicit import ExecutionTarget as ExecutionTarget
from diffloom_mechanics.force_terms import (
    ForceTerm as ForceTerm,
    TermContext as TermContext,
    WithTerms as WithTerms,
    get_step_values as get_step_values,
)
from diffloom_mechanics.gather import freeze_array as freeze_array
from diffloom_mechanics.integrators import (
    BackwardEuler as BackwardEuler,
    CustomStepping as CustomStepping,
    ImplicitMidpoint as ImplicitMidpoint,
    Leapfrog as Leapfrog,
    RungeKutta4 as RungeKutta4,
    SemiImplicitEuler as SemiImplicitEuler,
)
from diffloom_mechanics.kinds import (
    CONTACT_LAWS as CONTACT_LAWS,
    TERMS as TERMS,
    get_contact_law as get_contact_law,
    get_term as get_term,
)
from diffloom_mechanics.node_sets import (
    CarriedBodies as CarriedBodies,
    CarriedLinks as CarriedLinks,
    NamedTensor as NamedTensor,
    NodeMotion as NodeMotion,
    NodeSet as NodeSet,
)
from diffloom_mechanics.particle_systems import (
    Push as Push,
    external_force as external_force,
    particles as particles,
    pushes as pushes,
    springs as springs,
)
from diffloom_mechanics.programs import build_sample_program as build_sample_program
from diffloom_mechanics.records import Clock as Clock
from diffloom_mechanics.schemes import (
    Move as Move,
    Tableau as Tableau,
    moves as moves,
    tableau as tableau,
)
from diffloom_mechanics.stability import (
    SAFETY as SAFETY,
    estimate_fastest_rate as estimate_fastest_rate,
    suggest_explicit_step as suggest_explicit_step,
)
from diffloom_mechanics.stepper import (
    FrameCotangents as FrameCotangents,
    Segment as Segment,
    Stepper as Stepper,
)
from diffloom_mechanics.system import Mechanics as Mechanics
from diffloom_mechanics.terms import (
    ElementTerm as ElementTerm,
    NodeTerm as NodeTerm,
    Term as Term,
    TermStage as TermStage,
    TorchTerm as TorchTerm,
)
from diffloom_mechanics.trajectories import (
    refuse_unless_mechanics as refuse_unless_mechanics,
    run_explicit_rollout as run_explicit_rollout,
    run_stepper as run_stepper,
)
