"""Seconds of Newton's SolverFeatherstone for the trees of benchmarks/articulated.py, forward and with gradient.

Gradients are by the joints' angles at the start: those by body_mass come back as zeros from this solver, which makes
its inertias before the tape. Run by a Python that has newton and warp-lang; reads cases as JSON from stdin (links with
parent, joint frame, axis, mass, centre, inertia, angle and rate) and prints one line of JSON each. Warp's CPU graph,
its fastest way, is captured once and replayed; processor time, the best of three replays.
"""

import json
import sys
import time

import newton
import numpy as np
import warp as wp


@wp.kernel
def sum_all(q: wp.array[float], total: wp.array[float]):
    wp.atomic_add(total, 0, q[wp.tid()])


def one_tree(case):
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
    bodies, joints = {None: -1}, []
    for link in case["links"]:
        xx, yy, zz, xy, xz, yz = link["inertia"]
        body = builder.add_link(
            mass=link["mass"], com=wp.vec3(*link["centre"]), lock_inertia=True,
            inertia=wp.mat33(xx, xy, xz, xy, yy, yz, xz, yz, zz),
        )  # fmt: skip
        w, x, y, z = link["orientation"]
        add = builder.add_joint_prismatic if link["joint"] == "prismatic" else builder.add_joint_revolute
        joints.append(add(
            parent=bodies[link["parent"]], child=body, axis=wp.vec3(*link["axis"]),
            parent_xform=wp.transform(wp.vec3(*link["position"]), wp.quat(x, y, z, w)),
            child_xform=wp.transform_identity(), armature=link["armature"],
        ))  # fmt: skip
        builder.joint_q[-1], builder.joint_qd[-1] = link["angle"], link["rate"]
        bodies[link["name"]] = body
    builder.add_articulation(joints)
    return builder


class Rollout:
    """All states of a rollout, and its capture as a graph."""

    def __init__(self, case, grad):
        scene = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
        scene.replicate(one_tree(case), case["count"])
        self.model = scene.finalize(device="cpu", requires_grad=grad)
        self.steps, self.dt, self.grad = case["steps"], case["dt"], grad
        self.solver = newton.solvers.SolverFeatherstone(self.model)
        self.control = self.model.control()
        self.states = [self.model.state(requires_grad=grad) for _ in range(self.steps + 1 if grad else 2)]
        newton.eval_fk(self.model, self.model.joint_q, self.model.joint_qd, self.states[0])
        self.loss = wp.zeros(1, dtype=float, requires_grad=grad, device="cpu")

    def forward(self):
        for k in range(self.steps):
            before, after = self.states[k % len(self.states)], self.states[(k + 1) % len(self.states)]
            before.clear_forces()
            self.solver.step(before, after, self.control, None, self.dt)

    def forward_and_backward(self):
        tape = wp.Tape()
        with tape:
            self.forward()
            q = self.states[self.steps].joint_q
            wp.launch(sum_all, dim=q.shape[0], inputs=[q], outputs=[self.loss], device="cpu")
        tape.backward(self.loss)
        return tape

    def seconds(self):
        run = self.forward_and_backward if self.grad else self.forward
        self._clear(run())
        with wp.ScopedCapture(device="cpu") as capture:
            tape = run()
        spent = []
        for _ in range(3):
            self._clear(tape)
            busy = time.process_time()
            wp.capture_launch(capture.graph)
            spent.append(time.process_time() - busy)
        return min(spent)

    def _clear(self, tape):
        if tape is not None:
            tape.zero()
            self.loss.zero_()


def finite(value):
    """The value, or None where a number in it is not finite."""
    numbers = np.atleast_1d(value)
    return None if numbers.dtype.kind == "f" and not np.isfinite(numbers).all() else value


def main():
    wp.config.log_level = 30
    wp.init()
    for case in json.load(sys.stdin):
        alone = Rollout(case, False)
        found = {"forward": alone.seconds()}
        try:
            rollout = Rollout(case, True)
            found["both"] = rollout.seconds()
            end = rollout.states[case["steps"]].joint_q.numpy().reshape(case["count"], -1)
            found["end"] = float(end[0].sum())
            slope = rollout.states[0].joint_q.grad
            found["slope"] = None if slope is None else slope.numpy()[: len(case["links"])].astype(float).tolist()
            mass = rollout.model.body_mass.grad
            found["by mass"] = None if mass is None else mass.numpy()[: len(case["links"])].astype(float).tolist()
        except Exception as error:  # a refusal is part of the answer
            found["refused"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps({key: finite(value) for key, value in found.items()}), flush=True)


if __name__ == "__main__":
    main()
