from diffloom_mechanics.contact.friction_laws import (
    Anisotropic as Anisotropic,
    Coulomb as Coulomb,
    SmoothCoulomb as SmoothCoulomb,
    Stribeck as Stribeck,
)
from diffloom_mechanics.contact.ground_plane import (
    ground as ground,
    make_contact_specs as make_contact_specs,
    normalise_normal as normalise_normal,
    pack_contact_rows as pack_contact_rows,
)
from diffloom_mechanics.contact.law import (
    ContactLaw as ContactLaw,
    FrictionFunctions as FrictionFunctions,
    FrictionLaw as FrictionLaw,
    NormalFunctions as NormalFunctions,
    resolve_contact_law as resolve_contact_law,
)
from diffloom_mechanics.contact.laws import (
    DEFAULT_REFERENCE_SPEED as DEFAULT_REFERENCE_SPEED,
    DEFAULT_RESTITUTION as DEFAULT_RESTITUTION,
    HuntCrossley as HuntCrossley,
    Hysteresis as Hysteresis,
    LinearContact as LinearContact,
)
from diffloom_mechanics.contact.obstacle_contact import (
    ObstaclePose as ObstaclePose,
    ObstacleShape as ObstacleShape,
    collect_contact_values as collect_contact_values,
    make_obstacle_specs as make_obstacle_specs,
    obstacle as obstacle,
    refuse_obstacles as refuse_obstacles,
)
from diffloom_mechanics.contact.restitution import (
    damping_ratio as damping_ratio,
    dissipation as dissipation,
    linear_rebound as linear_rebound,
    rebound as rebound,
    solve_dissipation as solve_dissipation,
)
from diffloom_mechanics.contact.touching import (
    BodyShape as BodyShape,
    accumulate_offsets as accumulate_offsets,
    build_shape_arrays as build_shape_arrays,
    cluster_points as cluster_points,
    find_corner_slots as find_corner_slots,
    read_rounding as read_rounding,
    read_spacing as read_spacing,
    round_up_to_power_of_two as round_up_to_power_of_two,
    sample_round_shape as sample_round_shape,
)
from diffloom_mechanics.node_sets import (
    SHAPE_KINDS as SHAPE_KINDS,
    ContactPoints as ContactPoints,
    ShapeArrays as ShapeArrays,
    TouchingBodies as TouchingBodies,
    TouchingLinks as TouchingLinks,
    TouchingSkin as TouchingSkin,
)
