"""Runs models in MuJoCo: reads JSON from standard input, writes JSON. Needs only mujoco and numpy.

A job: {"xml": text, "states": [[qpos, qvel, force], ...]} gives mass matrices and accelerations at each state;
with {"dt", "steps", "integrator"} in place of states it gives coordinates at the end of a run from {"qpos", "qvel"}.
"""

import json
import sys

import mujoco
import numpy as np


def at_states(model, states):
    data = mujoco.MjData(model)
    found = {"mass": [], "acceleration": []}
    for qpos, qvel, force in states:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = qpos, qvel, force
        mujoco.mj_forward(model, data)
        columns = []
        for k in range(model.nv):
            column = np.zeros((1, model.nv))
            mujoco.mj_mulM(model, data, column[0], np.eye(model.nv)[k])
            columns.append(column[0].tolist())
        found["mass"].append(columns)
        found["acceleration"].append(data.qacc.tolist())
    return found


def run(model, job):
    model.opt.timestep = job["dt"]
    model.opt.integrator = getattr(mujoco.mjtIntegrator, "mjINT_" + job["integrator"].upper())
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = job["qpos"], job["qvel"]
    for _ in range(job["steps"]):
        mujoco.mj_step(model, data)
    return {"qpos": data.qpos.tolist(), "qvel": data.qvel.tolist()}


if __name__ == "__main__":
    jobs = json.load(sys.stdin)
    results = []
    for job in jobs:
        model = mujoco.MjModel.from_xml_string(job["xml"])
        results.append(at_states(model, job["states"]) if "states" in job else run(model, job))
    json.dump(results, sys.stdout)
