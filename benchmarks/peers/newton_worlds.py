"""Steps per second of Newton's SolverSemiImplicit on a ball that falls onto a sheet, for benchmarks/worlds.py.

Run by a Python that has newton and warp-lang installed; prints one line of JSON. Warp's CPU graph, its fastest way, is
captured once and replayed; how rollouts are captured is shared with newton_fem.py.
"""

import newton
import warp as wp
from newton_fem import measure


def ball_on_sheet(case, grad):
    cells, scene = case["cells"], case["scene"]
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    builder.default_particle_radius = 0.0
    edge, half = scene["size"] / cells[0], 0.5 * scene["size"]
    # The builder lays its grid in x and y; a quarter turn about x lays it flat.
    flat = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), -0.5 * wp.pi)
    count = (cells[0] + 1) * (cells[1] + 1)
    builder.add_cloth_grid(
        pos=wp.vec3(-half, 0.0, half), rot=flat, vel=wp.vec3(0.0, 0.0, 0.0),
        dim_x=cells[0], dim_y=cells[1], cell_x=edge, cell_y=edge, mass=scene["mass"] / count,
        fix_left=True, fix_right=True, fix_top=True, fix_bottom=True,
        tri_ke=scene["mu"], tri_ka=scene["lam"], tri_kd=scene["damping"], tri_drag=0.0, tri_lift=0.0,
        edge_ke=scene["bending"], edge_kd=0.0,
    )  # fmt: skip
    contact = {"ke": scene["ke"], "kd": scene["kd"], "kf": scene["kf"], "mu": scene["friction"]}
    density = scene["ball_mass"] / (4.0 / 3.0 * wp.pi * scene["radius"] ** 3)
    ball = builder.add_body(xform=wp.transform(wp.vec3(0.0, scene["height"], 0.0), wp.quat_identity()))
    builder.add_shape_sphere(
        ball, radius=scene["radius"], cfg=newton.ModelBuilder.ShapeConfig(density=density, **contact)
    )
    model = builder.finalize(device="cpu", requires_grad=grad)
    model.particle_grid = None  # particles do not collide with each other
    model.soft_contact_ke, model.soft_contact_kd = scene["ke"], scene["kd"]
    model.soft_contact_kf, model.soft_contact_mu = scene["kf"], scene["friction"]
    return model


if __name__ == "__main__":
    measure(__doc__, ball_on_sheet)
