"""Steps per second of MuJoCo on a ball that falls onto a sheet, for benchmarks/worlds.py: forward only.

Run by a Python that has mujoco installed; prints one line of JSON. The sheet is a flex with the elasticity of a
membrane of the same moduli, mass and cells; contacts are its own, solved as constraints, and its Euler integrator damps
joints implicitly. So the scene is alike, its equations are not.
"""

import argparse
import json
import time

import mujoco

THICKNESS = 0.01


def ball_on_sheet(case):
    cells, scene = case["cells"], case["scene"]
    # 3D moduli of a membrane whose Lame constants, times the thickness, are those of the sheet in its plane.
    mu, lam = scene["mu"], scene["lam"]
    poisson = lam / (lam + 2.0 * mu)
    young = 2.0 * mu * (1.0 + poisson) / THICKNESS
    edge = scene["size"] / cells[0]
    rim = " ".join(
        f"{i} {j}" for i in range(cells[0] + 1) for j in range(cells[1] + 1) if i in (0, cells[0]) or j in (0, cells[1])
    )
    return mujoco.MjModel.from_xml_string(f"""
<mujoco>
  <option timestep="{case["dt"]}" gravity="0 0 -9.81"/>
  <size memory="100M"/>
  <worldbody>
    <body pos="0 0 {scene["height"]}"><freejoint/><geom type="sphere" size="{scene["radius"]}"
      mass="{scene["ball_mass"]}" friction="{scene["friction"]}"/></body>
    <flexcomp name="sheet" type="grid" count="{cells[0] + 1} {cells[1] + 1} 1" spacing="{edge} {edge} {edge}" dim="2"
      mass="{scene["mass"]}" radius="{0.5 * THICKNESS}">
      <contact selfcollide="none"/>
      <elasticity young="{young}" poisson="{poisson}" thickness="{THICKNESS}" damping="1e-3" elastic2d="stretch"/>
      <pin grid="{rim}"/>
    </flexcomp>
  </worldbody>
</mujoco>""")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", required=True, help="JSON: cells, steps, dt, scene")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--at-least", type=float, default=0.0)
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    given = parser.parse_args()
    case = json.loads(given.case)
    now = time.process_time if given.clock == "processor" else time.perf_counter
    model = ball_on_sheet(case)
    data = mujoco.MjData(model)
    times, lowest = [], 0.0
    while len(times) < given.repeats or sum(times) < given.at_least:
        mujoco.mj_resetData(model, data)
        start = now()
        mujoco.mj_step(model, data, case["steps"])
        times.append(now() - start)
        lowest = float(data.flexvert_xpos[:, 2].min())
    found = {"rate": case["steps"] / min(times), "lowest": lowest, "mujoco": mujoco.__version__}
    print(json.dumps({**found, "faces": int(model.flex_elemnum[0]), "particles": int(model.flex_vertnum[0])}))


if __name__ == "__main__":
    main()
