from diffloom_mechanics.applied_force import applied as applied
from diffloom_mechanics.binding import Compiled as Compiled
from diffloom_mechanics.composition import WithTerms as WithTerms
from diffloom_mechanics.evaluation import Evaluation as Evaluation
from diffloom_mechanics.explicit import Target as Target
from diffloom_mechanics.force_term import (
    ForceTerm as ForceTerm,
    TermContext as TermContext,
)
from diffloom_mechanics.gather import frozen as frozen
from diffloom_mechanics.kinds import (
    CONTACT_LAWS as CONTACT_LAWS,
    TERMS as TERMS,
    get_contact_law as get_contact_law,
    get_term as get_term,
)
from diffloom_mechanics.node_sets import (
    Motion as Motion,
    NodeSet as NodeSet,
)
from diffloom_mechanics.particle_set import particles as particles
from diffloom_mechanics.push_term import (
    Push as Push,
    pushes as pushes,
)
from diffloom_mechanics.records import Clock as Clock
from diffloom_mechanics.schemes import (
    Move as Move,
    Tableau as Tableau,
    moves as moves,
    tableau as tableau,
)
from diffloom_mechanics.spring_term import springs as springs
from diffloom_mechanics.step_values import per_step as per_step
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
