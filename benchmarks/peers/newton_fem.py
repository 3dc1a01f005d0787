"""Steps per second of Newton's SolverSemiImplicit on the falling block, for benchmarks/fem.py to compare with.

Run by a Python that has newton and warp-lang installed; prints one line of JSON. Warp's CPU graph, its fastest way, is
captured once and replayed. Surface triangles, which its grid builder adds with zero stiffness, are switched off unless
the case asks for them.
"""

import argparse
import json
import time

import newton
import warp as wp


@wp.kernel
def sum_of_squares(q: wp.array[wp.vec3], total: wp.array[float]):
    i = wp.tid()
    wp.atomic_add(total, 0, wp.dot(q[i], q[i]))


def falling_block(case, grad):
    cells, scene = case["cells"], case["scene"]
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    builder.default_particle_radius = 0.0
    edge = scene["edge"]
    corner = wp.vec3(-0.5 * edge * cells[0], scene["gap"], -0.5 * edge * cells[2])
    builder.add_soft_grid(
        pos=corner, rot=wp.quat_identity(), vel=wp.vec3(0.0, 0.0, 0.0),
        dim_x=cells[0], dim_y=cells[1], dim_z=cells[2], cell_x=edge, cell_y=edge, cell_z=edge,
        density=scene["density"], k_mu=scene["mu"], k_lambda=scene["lam"], k_damp=scene["damping"],
        add_surface_mesh_edges=False,
    )  # fmt: skip
    contact = {"ke": scene["ke"], "kd": scene["kd"], "kf": scene["kf"], "mu": scene["friction"]}
    builder.add_ground_plane(cfg=newton.ModelBuilder.ShapeConfig(**contact))
    model = builder.finalize(device="cpu", requires_grad=grad)
    model.particle_grid = None  # particles do not collide with each other
    model.soft_contact_ke, model.soft_contact_kd = scene["ke"], scene["kd"]
    model.soft_contact_kf, model.soft_contact_mu = scene["kf"], scene["friction"]
    if not case["triangles"]:
        model.tri_count = 0
    return model


class Rollout:
    """All states of a rollout, and its capture as a graph."""

    def __init__(self, model, steps, dt, grad, collide):
        self.model, self.steps, self.dt, self.grad, self.collide = model, steps, dt, grad, collide
        self.solver = newton.solvers.SolverSemiImplicit(model, enable_tri_contact=False)
        self.control = model.control()
        self.pipeline = newton.CollisionPipeline(
            model, broad_phase="explicit", soft_contact_gap=0.01, requires_grad=grad
        )
        count = steps + 1 if grad else 2
        self.states = [model.state(requires_grad=grad) for _ in range(count)]
        self.contacts = [self.pipeline.contacts() for _ in range(steps if grad and collide == "every" else 1)]
        self.loss = wp.zeros(1, dtype=float, requires_grad=grad, device="cpu")

    def forward(self):
        for k in range(self.steps):
            before, after = self.states[k % len(self.states)], self.states[(k + 1) % len(self.states)]
            before.clear_forces()
            contacts = self.contacts[k % len(self.contacts)]
            if self.collide == "every" or k == 0:
                self.pipeline.collide(before, contacts)
            self.solver.step(before, after, self.control, contacts, self.dt)

    def forward_and_backward(self):
        tape = wp.Tape()
        with tape:
            self.forward()
            q = self.states[self.steps].particle_q
            wp.launch(sum_of_squares, dim=q.shape[0], inputs=[q], outputs=[self.loss], device="cpu")
        tape.backward(self.loss)
        return tape

    def rate(self, repeats, at_least, now):
        """Steps per second, best of ``repeats`` replays of the captured graph, or of more if they are quick [s].
        now: the clock."""
        run = self.forward_and_backward if self.grad else self.forward
        self._clear(run())
        with wp.ScopedCapture(device="cpu") as capture:
            tape = run()
        times = []
        while len(times) < repeats or sum(times) < at_least:
            self._clear(tape)
            start = now()
            wp.capture_launch(capture.graph)
            times.append(now() - start)
        return self.steps / min(times)

    def _clear(self, tape):
        if tape is not None:
            tape.zero()
            self.loss.zero_()


def measure(description, scene):
    """Read the command line, build ``scene(case, grad)``, and print its rate."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", required=True, help="JSON: cells, steps, dt, scene")
    parser.add_argument("--mode", choices=["forward", "both"], required=True)
    parser.add_argument("--collide", choices=["every", "once"], default="every")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--at-least", type=float, default=0.0, help="seconds of replays")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    given = parser.parse_args()
    case = json.loads(given.case)
    wp.config.log_level = 30
    wp.init()
    grad = given.mode == "both"
    model = scene(case, grad)
    rollout = Rollout(model, case["steps"], case["dt"], grad, given.collide)
    now = time.process_time if given.clock == "processor" else time.perf_counter
    rate = rollout.rate(given.repeats, given.at_least, now)
    lowest = float(rollout.states[case["steps"] % len(rollout.states)].particle_q.numpy()[:, 1].min())
    elements = {"tets": model.tet_count, "faces": model.tri_count, "particles": model.particle_count}
    print(
        json.dumps({"rate": rate, **elements, "lowest": lowest, "newton": newton.__version__, "warp": wp.__version__})
    )


if __name__ == "__main__":
    measure(__doc__, falling_block)
