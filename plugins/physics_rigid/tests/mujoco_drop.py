"""Runs one scene in MuJoCo: reads JSON from standard input, writes the states as JSON. Needs only mujoco and numpy.

The scene: {"half": [x, y, z] or "radius": r, "mass": m, "position", "orientation", "velocity", "angular_velocity",
"friction", "dt", "steps", "every", "integrator", "ground"}. MuJoCo's free joint has its angular velocity in the body's
axes.
"""

import json
import sys

import mujoco
import numpy as np

XML = """
<mujoco>
  <option timestep="{dt}" gravity="0 -9.81 0" integrator="{integrator}" cone="elliptic"/>
  <worldbody>
    {ground}
    <body name="body">
      <freejoint/>
      <geom type="{kind}" size="{size}" mass="{mass}" friction="{friction} 0.0001 0.0001" condim="3"/>
    </body>
  </worldbody>
</mujoco>
"""
GROUND = '<geom type="plane" size="50 50 1" quat="0.70710678 -0.70710678 0 0" friction="{friction} 0.0001 0.0001"/>'


def run(scene):
    size = scene["half"] if "half" in scene else [scene["radius"]]
    model = mujoco.MjModel.from_xml_string(
        XML.format(
            dt=repr(scene["dt"]),
            integrator=scene["integrator"],
            mass=scene["mass"],
            friction=scene["friction"],
            kind="box" if "half" in scene else "sphere",
            size=" ".join(map(str, size)),
            ground=GROUND.format(friction=scene["friction"]) if scene["ground"] else "",
        )
    )
    data = mujoco.MjData(model)
    data.qpos[:] = [*scene["position"], *scene["orientation"]]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.array(scene["orientation"], float))
    data.qvel[:] = [*scene["velocity"], *(turn.reshape(3, 3).T @ np.array(scene["angular_velocity"]))]
    frames = [[*data.qpos, *data.qvel]]
    for k in range(scene["steps"]):
        mujoco.mj_step(model, data)
        if (k + 1) % scene["every"] == 0:
            frames.append([*data.qpos, *data.qvel])
    return {"version": mujoco.__version__, "frames": frames}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
