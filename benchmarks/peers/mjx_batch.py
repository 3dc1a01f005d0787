"""MJX with as many worlds as `benchmarks/batch.py` has scenes, on the CPU: run with a Python that has mujoco-mjx.

A pendulum of 1 m, each world with a mass of its own, and a cube that falls, 200 steps; processor time, the best of
three runs after the one that compiles. Contact is MuJoCo's own, with four iterations of its solver.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

PENDULUM = """<mujoco><option timestep="0.005" integrator="Euler"/><worldbody><body>
<joint type="hinge" axis="0 0 1"/>
<geom type="capsule" fromto="0 0 0 0 -1 0" size="0.02" mass="1" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""
CUBE = """<mujoco><option timestep="0.0010416667" integrator="Euler" iterations="4" ls_iterations="4"/><worldbody>
<geom type="plane" size="10 10 0.1"/>
<body pos="0 0 0.55"><freejoint/><geom type="box" size="0.5 0.5 0.5" mass="1"/></body>
</worldbody></mujoco>"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    for name, text in (("pendulum", PENDULUM), ("cube", CUBE)):
        model = mujoco.MjModel.from_xml_string(text)
        compiled = mjx.put_model(model)
        start = mjx.make_data(compiled)
        masses = jnp.linspace(0.5, 2.0, given.count)

        def roll(mass, compiled=compiled, start=start):
            own = compiled.replace(body_mass=compiled.body_mass * mass, body_inertia=compiled.body_inertia * mass)
            end, _ = jax.lax.scan(lambda d, _: (mjx.step(own, d), None), start, None, length=given.steps)
            return end.qpos

        run = jax.jit(jax.vmap(roll))
        began = time.time()
        jax.block_until_ready(run(masses))
        print(f"{name}: compiled and first run {time.time() - began:.1f} s", flush=True)
        spent = []
        for _ in range(3):
            busy = time.process_time()
            jax.block_until_ready(run(masses))
            spent.append(time.process_time() - busy)
        print(f"{name}: {1e3 * min(spent):.0f} ms, {given.count / min(spent):.0f} rollouts / s", flush=True)


if __name__ == "__main__":
    main()
