"""Device functions of contact, for the kernels of physics plugins.

A law comes as NormalFunctions and FrictionFunctions (see ``diffloom_mechanics.contact``); factories such as
``point_contact`` build it into force and adjoint, so that a law that is not chosen costs nothing.
"""

from diffloom_mechanics.contact.body_pair_kernels import body_cotangents, body_pair_contact, is_near_box
from diffloom_mechanics.contact.cell_kernels import sort_into_cells, store_face_centres
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
    gather_corner_cotangents,
    gather_corner_forces,
    is_near,
    skin_contact,
    store_corner_cotangents,
    store_corner_forces,
)
from diffloom_mechanics.contact.triangle_kernels import (
    distribute_force,
    find_contact,
    find_contact_adjoint,
    triangle_contact,
)

__all__ = [
    "body_cotangents",
    "body_obstacle",
    "store_face_centres",
    "gather_corner_cotangents",
    "gather_corner_forces",
    "ground_contact",
    "distribute_force",
    "in_series",
    "in_series_slope",
    "store_corner_cotangents",
    "store_corner_forces",
    "may_touch",
    "find_contact",
    "find_contact_adjoint",
    "is_near",
    "is_near_box",
    "body_pair_contact",
    "parameter_row",
    "particle_obstacle",
    "plane_distance",
    "plane_distance_adjoint",
    "point_contact",
    "posed_shape",
    "shape_distance",
    "shape_distance_adjoint",
    "skin_contact",
    "triangle_contact",
    "sort_into_cells",
    "turning_friction",
]
