"""Steps per second of Newton's SolverSemiImplicit on dropped rigid bodies, for benchmarks/rigid.py to compare with.

Run by a Python that has newton and warp-lang installed; prints one line of JSON. Warp's CPU graph, its fastest way, is
captured once and replayed. Contacts are sought in every step, as ours are.
"""

import argparse
import json
import time

import newton
import numpy as np
import warp as wp


@wp.kernel
def sum_of_squares(q: wp.array[wp.transform], total: wp.array[float]):
    i = wp.tid()
    p = wp.transform_get_translation(q[i])
    wp.atomic_add(total, 0, wp.dot(p, p))


def dropped_bodies(case, grad):
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    contact = {key: case[key] for key in ("ke", "kd", "kf", "mu")}
    cfg = newton.ModelBuilder.ShapeConfig(density=case["density"], **contact)
    mesh = None
    if case["half"] is None:
        mesh = newton.Mesh(np.array(case["vertices"], np.float32), np.array(case["faces"], np.int32).reshape(-1))
    for place, turn in zip(case["places"], case["turns"], strict=True):
        w, x, y, z = turn
        body = builder.add_body(xform=wp.transform(wp.vec3(*place), wp.quat(x, y, z, w)))
        if mesh is None:
            builder.add_shape_box(body=body, hx=case["half"][0], hy=case["half"][1], hz=case["half"][2], cfg=cfg)
        else:
            builder.add_shape_mesh(body=body, mesh=mesh, cfg=cfg)
    ground = builder.add_ground_plane(cfg=newton.ModelBuilder.ShapeConfig(**contact))
    return builder.finalize(device="cpu", requires_grad=grad), ground


class Rollout:
    """All states of a rollout, and its capture as a graph."""

    def __init__(self, case, grad):
        self.model, ground = dropped_bodies(case, grad)
        self.steps, self.dt, self.grad = case["steps"], case["dt"], grad
        self.solver = newton.solvers.SolverSemiImplicit(self.model)
        self.control = self.model.control()
        pairs = None
        if not case["collisions"]:
            shapes = [k for k in range(self.model.shape_count) if k != ground]
            pairs = wp.array([(min(k, ground), max(k, ground)) for k in shapes], dtype=wp.vec2i, device="cpu")
        self.pipeline = newton.CollisionPipeline(
            self.model, broad_phase="explicit", shape_pairs_filtered=pairs, requires_grad=grad,
            rigid_contact_max=case["contacts"], max_triangle_pairs=20000,
        )  # fmt: skip
        self.states = [self.model.state(requires_grad=grad) for _ in range(self.steps + 1 if grad else 2)]
        self.contacts = [self.pipeline.contacts() for _ in range(self.steps if grad else 1)]
        self.loss = wp.zeros(1, dtype=float, requires_grad=grad, device="cpu")

    def forward(self):
        for k in range(self.steps):
            before, after = self.states[k % len(self.states)], self.states[(k + 1) % len(self.states)]
            before.clear_forces()
            contacts = self.contacts[k % len(self.contacts)]
            self.pipeline.collide(before, contacts)
            self.solver.step(before, after, self.control, contacts, self.dt)

    def forward_and_backward(self):
        tape = wp.Tape()
        with tape:
            self.forward()
            q = self.states[self.steps].body_q
            wp.launch(sum_of_squares, dim=q.shape[0], inputs=[q], outputs=[self.loss], device="cpu")
        tape.backward(self.loss)
        return tape

    def rate(self, repeats):
        """Steps per second, best of ``repeats`` replays of the captured graph."""
        run = self.forward_and_backward if self.grad else self.forward
        self._clear(run())
        with wp.ScopedCapture(device="cpu") as capture:
            tape = run()
        best = 0.0
        for _ in range(repeats):
            self._clear(tape)
            start = time.perf_counter()
            wp.capture_launch(capture.graph)
            best = max(best, self.steps / (time.perf_counter() - start))
        return best

    def _clear(self, tape):
        if tape is not None:
            tape.zero()
            self.loss.zero_()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", required=True, help="a JSON file: places, turns, shape, contact, steps, dt")
    parser.add_argument("--mode", choices=["forward", "both"], required=True)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with open(given.case) as file:
        case = json.load(file)
    wp.config.log_level = 30
    wp.init()
    rollout = Rollout(case, given.mode == "both")
    rate = rollout.rate(given.repeats)
    heights = rollout.states[case["steps"] % len(rollout.states)].body_q.numpy()[:, 1]
    touching = int(rollout.contacts[-1].rigid_contact_count.numpy()[0])
    found = {"rate": rate, "bodies": rollout.model.body_count, "lowest": float(heights.min()), "contacts": touching}
    print(json.dumps({**found, "newton": newton.__version__, "warp": wp.__version__}))


if __name__ == "__main__":
    main()
