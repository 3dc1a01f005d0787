from diffloom_mechanics.air import Air as Air
from diffloom_mechanics.binding import Compiled as Compiled
from diffloom_mechanics.carried_bodies import (
    carried_elements as carried_elements,
    carried_term as carried_term,
)
from diffloom_mechanics.evaluation import Evaluation as Evaluation
from diffloom_mechanics.explicit import Target as Target
from diffloom_mechanics.force_terms import (
    ForceTerm as ForceTerm,
    TermContext as TermContext,
    WithTerms as WithTerms,
    per_step as per_step,
)
from diffloom_mechanics.gather import frozen as frozen
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
    Carries as Carries,
    Motion as Motion,
    Named as Named,
    NodeSet as NodeSet,
)
from diffloom_mechanics.particle_systems import (
    Push as Push,
    applied as applied,
    particles as particles,
    pushes as pushes,
    springs as springs,
)
from diffloom_mechanics.programs import sampled_program as sampled_program
from diffloom_mechanics.records import Clock as Clock
from diffloom_mechanics.schemes import (
    Move as Move,
    Tableau as Tableau,
    moves as moves,
    tableau as tableau,
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
    Stage as Stage,
    Term as Term,
    TorchTerm as TorchTerm,
)
from diffloom_mechanics.trajectories import (
    explicit_rollout as explicit_rollout,
    refuses_all_but_mechanics as refuses_all_but_mechanics,
    roll as roll,
)
