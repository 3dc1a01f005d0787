"""Steps per second of Newton's SolverSemiImplicit on a falling sheet, for benchmarks/cloth.py to compare with.

Run by a Python that has newton and warp-lang installed; prints one line of JSON. Warp's CPU graph, its fastest way, is
captured once and replayed; how rollouts are captured is shared with newton_fem.py.
"""

import newton
import warp as wp
from newton_fem import measure


def falling_sheet(case, grad):
    cells, scene = case["cells"], case["scene"]
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    builder.default_particle_radius = 0.0
    edge = scene["edge"]
    # The builder lays its grid in x and y; a quarter turn about x lays it flat.
    flat = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), -0.5 * wp.pi)
    builder.add_cloth_grid(
        pos=wp.vec3(-0.5 * edge * cells[0], scene["gap"], 0.5 * edge * cells[1]), rot=flat, vel=wp.vec3(0.0, 0.0, 0.0),
        dim_x=cells[0], dim_y=cells[1], cell_x=edge, cell_y=edge, mass=scene["mass"],
        tri_ke=scene["mu"], tri_ka=scene["lam"], tri_kd=scene["damping"], tri_drag=scene["drag"], tri_lift=0.0,
        edge_ke=scene["bending"], edge_kd=0.0,
    )  # fmt: skip
    contact = {"ke": scene["ke"], "kd": scene["kd"], "kf": scene["kf"], "mu": scene["friction"]}
    builder.add_ground_plane(cfg=newton.ModelBuilder.ShapeConfig(**contact))
    model = builder.finalize(device="cpu", requires_grad=grad)
    model.particle_grid = None  # particles do not collide with each other
    model.soft_contact_ke, model.soft_contact_kd = scene["ke"], scene["kd"]
    model.soft_contact_kf, model.soft_contact_mu = scene["kf"], scene["friction"]
    return model


if __name__ == "__main__":
    measure(__doc__, falling_sheet)
