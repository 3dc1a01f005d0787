"""Device functions of contact, for the kernels of physics plugins.

A law comes as NormalFunctions and FrictionFunctions (see ``diffloom_mechanics.contact``); factories such as
``point_contact`` build it into force and adjoint, so that a law that is not chosen costs nothing.
"""

from diffloom_mechanics.contact.body_pair_kernels import body_cotangents, near_box, pair_points
from diffloom_mechanics.contact.cell_kernels import face_centres, sort_into_cells
from diffloom_mechanics.contact.friction_kernels import turning_friction
from diffloom_mechanics.contact.normal_kernels import in_series, in_series_slope
from diffloom_mechanics.contact.obstacle_kernels import (
    body_obstacle,
    particle_obstacle,
    plane_distance,
    plane_distance_adjoint,
    posed_shape,
)
from diffloom_mechanics.contact.point_kernels import (
    ground_contact,
    parameter_row,
    point_contact,
)
from diffloom_mechanics.contact.shape_kernels import may_touch, shape_distance, shape_distance_adjoint
from diffloom_mechanics.contact.skin_kernels import (
    gathered_cotangents,
    gathered_pushes,
    leave_cotangents,
    leave_forces,
    near,
    skin_contact,
)
from diffloom_mechanics.contact.triangle_kernels import handed_on, meet, meet_adjoint, sliding

__all__ = [
    "body_cotangents",
    "body_obstacle",
    "face_centres",
    "gathered_cotangents",
    "gathered_pushes",
    "ground_contact",
    "handed_on",
    "in_series",
    "in_series_slope",
    "leave_cotangents",
    "leave_forces",
    "may_touch",
    "meet",
    "meet_adjoint",
    "near",
    "near_box",
    "pair_points",
    "parameter_row",
    "particle_obstacle",
    "plane_distance",
    "plane_distance_adjoint",
    "point_contact",
    "posed_shape",
    "shape_distance",
    "shape_distance_adjoint",
    "skin_contact",
    "sliding",
    "sort_into_cells",
    "turning_friction",
]
