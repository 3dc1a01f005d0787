"""MuJoCo's system-identification toolbox on tosses of a cube, for benchmarks/sysid.py to compare with.

    python mujoco_sysid.py case.npz

Run by a Python that has mujoco[sysid]. The case holds starts, targets and weights of some tosses; the residual is that
of benchmarks/sysid.py: place and rotation error of each frame, the latter times a length. Simulated by mujoco.rollout
on one thread, optimised by mujoco.sysid.optimize, whose Jacobian is made of finite differences. Prints one line of JSON
for each simulation of all tosses: processor seconds since the start, and the loss; then the values found.
"""

import json
import sys
import time

import mujoco
import numpy as np
from mujoco import rollout, sysid

XML = """<mujoco><option integrator="Euler" gravity="0 0 -9.81" timestep="{step}"/>
<worldbody><geom name="ground" type="plane" size="5 5 0.1"/>
<body name="cube" simple="false"><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="1e-3 1e-3 1e-3"/>
<geom name="box" type="box" size="{half} {half} {half}" condim="6"/></body></worldbody></mujoco>"""
#: Name, start, low, high: ten or more numbers, each of which MuJoCo's contact or the body has.
UNKNOWNS = (
    ("friction", [0.3], [0.01], [2.0]),
    ("torsional", [0.005], [1e-5], [0.1]),
    ("rolling", [1e-4], [1e-6], [0.01]),
    ("solref", [0.02, 1.0], [0.004, 0.05], [0.1, 3.0]),
    ("solimp", [0.9, 0.95, 0.001], [0.1, 0.5, 1e-4], [0.99, 0.999, 0.01]),
    ("inertia", [6.8e-4] * 3, [2e-4] * 3, [3e-3] * 3),
    ("centre", [0.0] * 3, [-0.02] * 3, [0.02] * 3),
)


def turned(q, v):
    """Vectors (..., 3) turned by quaternions (..., 4)."""
    axis, w = q[..., 1:], q[..., :1]
    axis, v = np.broadcast_arrays(axis, v)
    once = np.cross(axis, v)
    return v + 2.0 * (w * once + np.cross(axis, once))


def rotation_errors(found, wanted):
    """Rotation vectors (..., 3) [rad] that lead from ``wanted`` to ``found``."""
    a, b = found, wanted * np.array([1.0, -1.0, -1.0, -1.0])
    w = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    sign = np.where(w < 0.0, -1.0, 1.0)
    w, v = w * sign, v * sign[..., None]
    sine = np.sqrt((v * v).sum(-1) + 1e-24)
    return v * (2.0 * np.arctan2(sine, w) / sine)[..., None]


class Tosses:
    """The residual, and how it went."""

    def __init__(self, case):
        self.case, self.begin, self.best = case, time.process_time(), np.inf
        self.steps = int(case["steps_a_frame"])
        step = 1.0 / (float(case["rate"]) * self.steps)
        text = XML.format(step=step, mass=float(case["mass"]), half=float(case["half"]))
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def set(self, x):
        m, k = self.model, 0
        for name, start, _, _ in UNKNOWNS:
            part = x[k : k + len(start)]
            k += len(start)
            if name in ("friction", "torsional", "rolling"):
                m.geom_friction[:, ("friction", "torsional", "rolling").index(name)] = part[0]
            elif name == "solref":
                m.geom_solref[:] = part
            elif name == "solimp":
                m.geom_solimp[:, :3] = part
            elif name == "inertia":
                m.body_inertia[1] = part
            else:
                m.body_ipos[1] = part
        return x[-3:]

    def one(self, x):
        c, case = self.set(x), self.case
        # As ours: a parabola of the centre of mass through the flight, with the known centre of mass in the body.
        place = case["place"] / case["scale"] - case["fall"][..., None] * np.array([0.0, 0.0, -9.81])
        com = np.einsum("ckf,cfi->cki", case["here"], place + turned(case["arm"], c))
        spin, turn = case["spin"], case["turn"]
        arm = turned(turn, c)
        count = len(turn)
        start = np.zeros((count, 14))
        start[:, 1:4], start[:, 4:8] = com[:, 0] - arm, turn
        start[:, 8:11] = com[:, 1] - np.cross(spin, arm)
        start[:, 11:14] = turned(turn * np.array([1.0, -1.0, -1.0, -1.0]), spin)
        mujoco.mj_setConst(self.model, self.data)
        frames = len(case["position"])
        states, _ = rollout.rollout(self.model, self.data, start, nstep=self.steps * (frames - 1))
        kept = np.concatenate([start[:, None], states[:, self.steps - 1 :: self.steps]], axis=1)
        share = np.sqrt(case["weight"])[..., None]
        off = kept[..., 1:4].swapaxes(0, 1) - case["position"] / case["scale"]
        turns = rotation_errors(kept[..., 4:8].swapaxes(0, 1), case["orientation"])
        rows = np.concatenate([off, float(case["length"]) * turns], axis=-1) * share / np.sqrt(count)
        loss = float((rows**2).sum())
        self.best = min(self.best, loss)
        print(json.dumps({"seconds": time.process_time() - self.begin, "loss": loss}), flush=True)
        return rows.ravel()

    def __call__(self, x, params):
        x = np.asarray(x)
        if x.ndim == 2:
            return [np.stack([self.one(column) for column in x.T], axis=1)], None, None
        return [self.one(x)], None, None


def main():
    with np.load(sys.argv[1]) as file:
        tosses = Tosses({key: file[key] for key in file})
    params = sysid.ParameterDict()
    for name, start, low, high in UNKNOWNS:
        params.add(sysid.Parameter(name, np.array(start), np.array(low), np.array(high)))
    found, _ = sysid.optimize(params, tosses, optimizer="mujoco", verbose=False, max_iters=60, x_scale="jac")
    print(json.dumps({"found": found.as_vector().tolist(), "best": tosses.best, "version": mujoco.__version__}))


if __name__ == "__main__":
    main()
