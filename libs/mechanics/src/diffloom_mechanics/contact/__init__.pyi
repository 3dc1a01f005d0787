from diffloom_mechanics.contact.friction_laws import (
    Anisotropic as Anisotropic,
    Coulomb as Coulomb,
    SmoothCoulomb as SmoothCoulomb,
    Stribeck as Stribeck,
)
from diffloom_mechanics.contact.ground_plane import (
    contact_rows as contact_rows,
    contact_specs as contact_specs,
    ground as ground,
    unit_normal as unit_normal,
)
from diffloom_mechanics.contact.law import (
    ContactLaw as ContactLaw,
    FrictionFunctions as FrictionFunctions,
    FrictionLaw as FrictionLaw,
    NormalFunctions as NormalFunctions,
    contact_law as contact_law,
)
from diffloom_mechanics.contact.laws import (
    DEFAULT_REFERENCE_SPEED as DEFAULT_REFERENCE_SPEED,
    DEFAULT_RESTITUTION as DEFAULT_RESTITUTION,
    HuntCrossley as HuntCrossley,
    Hysteresis as Hysteresis,
    Linear as Linear,
)
from diffloom_mechanics.contact.obstacle_contact import (
    Pose as Pose,
    Shape as Shape,
    contact_values as contact_values,
    obstacle as obstacle,
    obstacle_specs as obstacle_specs,
    refuses_obstacles as refuses_obstacles,
)
from diffloom_mechanics.contact.restitution import (
    damping_ratio as damping_ratio,
    dissipation as dissipation,
    dissipation_of as dissipation_of,
    linear_rebound as linear_rebound,
    rebound as rebound,
)
from diffloom_mechanics.contact.touching import (
    BodyShape as BodyShape,
    contact_points as contact_points,
    corner_slots as corner_slots,
    power_of_two as power_of_two,
    read_rounding as read_rounding,
    read_spacing as read_spacing,
    round_points as round_points,
    running_offsets as running_offsets,
    shape_arrays as shape_arrays,
)
from diffloom_mechanics.node_sets import (
    SHAPE_KINDS as SHAPE_KINDS,
    ContactPoints as ContactPoints,
    ShapeArrays as ShapeArrays,
    TouchingBodies as TouchingBodies,
    TouchingLinks as TouchingLinks,
    TouchingSkin as TouchingSkin,
)
