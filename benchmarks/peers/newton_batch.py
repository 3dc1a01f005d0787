"""Newton with as many worlds as `benchmarks/batch.py` has scenes, on the CPU: run with a Python that has newton.

A pendulum of 1 m by SolverFeatherstone and a cube sliding on the ground by SolverSemiImplicit, each world with a mass
of its own, 200 steps; processor time of Warp's captured graph, the best of three replays. With gradient: of the sum of
all end coordinates by every mass.
"""

import argparse
import time

import newton
import numpy as np
import warp as wp


@wp.kernel
def add_up(values: wp.array[float], total: wp.array[float]):
    wp.atomic_add(total, 0, values[wp.tid()])


@wp.kernel
def add_places(values: wp.array[wp.transform], total: wp.array[float]):
    p = wp.transform_get_translation(values[wp.tid()])
    wp.atomic_add(total, 0, p[0] + p[1] + p[2])


def world(name):
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
    if name == "pendulum":
        bar = builder.add_link(mass=1.0, com=wp.vec3(0.0, -1.0, 0.0), inertia=wp.mat33(np.eye(3) * 1e-3))
        hinge = builder.add_joint_revolute(parent=-1, child=bar, axis=wp.vec3(0.0, 0.0, 1.0))
        builder.joint_q[-1] = 0.5
        builder.add_articulation([hinge])
    else:
        body = builder.add_body(xform=wp.transform(wp.vec3(0.0, 0.55, 0.0), wp.quat_identity()))
        cfg = newton.ModelBuilder.ShapeConfig(density=1.0, ke=2500.0, kd=50.0, kf=50.0, mu=0.5)
        builder.add_shape_box(body=body, hx=0.5, hy=0.5, hz=0.5, cfg=cfg)
        builder.body_qd[-1] = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return builder


class Worlds:
    """All states of a rollout of many worlds, and its capture as a graph."""

    def __init__(self, name, count, steps, grad):
        scene = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
        scene.replicate(world(name), count)
        if name != "pendulum":
            scene.add_ground_plane()
        self.model = scene.finalize(device="cpu", requires_grad=grad)
        factor = np.linspace(0.5, 2.0, count).astype(np.float32)
        for array, by in (("body_mass", factor), ("body_inertia", factor[:, None, None])):
            values = getattr(self.model, array)
            values.assign(values.numpy() * by)
        for array, by in (("body_inv_mass", factor), ("body_inv_inertia", factor[:, None, None])):
            values = getattr(self.model, array)
            values.assign(values.numpy() / by)
        self.name, self.steps, self.grad = name, steps, grad
        self.dt = 5e-3 if name == "pendulum" else 1 / 960
        kinds = {"pendulum": newton.solvers.SolverFeatherstone, "cube": newton.solvers.SolverSemiImplicit}
        self.solver, self.control = kinds[name](self.model), self.model.control()
        self.states = [self.model.state(requires_grad=grad) for _ in range(steps + 1 if grad else 2)]
        newton.eval_fk(self.model, self.model.joint_q, self.model.joint_qd, self.states[0])
        self.contacts = []
        if name != "pendulum":
            self.pipeline = newton.CollisionPipeline(self.model, broad_phase="nxn", requires_grad=grad)
            self.contacts = [self.pipeline.contacts() for _ in range(steps if grad else 1)]
        self.loss = wp.zeros(1, dtype=float, requires_grad=grad, device="cpu")

    def forward(self):
        for k in range(self.steps):
            before, after = self.states[k % len(self.states)], self.states[(k + 1) % len(self.states)]
            before.clear_forces()
            touching = self.contacts[k % len(self.contacts)] if self.contacts else None
            if touching is not None:
                self.pipeline.collide(before, touching)
            self.solver.step(before, after, self.control, touching, self.dt)

    def both(self):
        tape = wp.Tape()
        with tape:
            self.forward()
            end = self.states[self.steps]
            kernel, q = (add_up, end.joint_q) if self.name == "pendulum" else (add_places, end.body_q)
            wp.launch(kernel, dim=q.shape[0], inputs=[q], outputs=[self.loss], device="cpu")
        tape.backward(self.loss)
        return tape

    def slopes(self):
        """Gradients of the last run, by what it began with."""
        model, start = self.model, self.states[0]
        place, speed = (start.joint_q, start.joint_qd) if self.name == "pendulum" else (start.body_q, start.body_qd)
        arrays = {"body_mass": model.body_mass, "body_inv_mass": model.body_inv_mass, "place": place, "velocity": speed}
        return {where: array.grad.numpy() for where, array in arrays.items() if array.grad is not None}

    def seconds(self):
        run = self.both if self.grad else self.forward
        first = run()
        with wp.ScopedCapture(device="cpu") as capture:
            tape = run()
        spent = []
        for _ in range(3):
            for one in (first, tape):
                if one is not None:
                    one.zero()
            self.loss.zero_()
            busy = time.process_time()
            wp.capture_launch(capture.graph)
            spent.append(time.process_time() - busy)
        return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    wp.config.log_level = 30
    wp.init()
    print(f"newton {newton.__version__}, warp {wp.__version__}")
    for name in ("pendulum", "cube"):
        for grad in (False, True):
            worlds = Worlds(name, given.count, given.steps, grad)
            spent = worlds.seconds()
            what = "forward and backward" if grad else "forward"
            print(f"{name}, {what}: {1e3 * spent:.0f} ms, {given.count / spent:.0f} rollouts / s", flush=True)
            for where, slopes in worlds.slopes().items() if grad else ():
                print(f"    slopes by {where}: up to {np.abs(slopes).max():.3g}", flush=True)


if __name__ == "__main__":
    main()
