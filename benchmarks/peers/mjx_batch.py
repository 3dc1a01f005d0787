"""MJX with as many worlds as `benchmarks/batch.py` has scenes, on the CPU: run with a Python that has mujoco-mjx.

A pendulum of 1 m and a cube that falls, each world with a mass of its own, 200 steps; processor time, the best of three
runs after the one that compiles, forward and with the gradient of the end coordinates by the masses. Contact is
MuJoCo's own; reverse mode does not go through the loop of its solver, so that the cube is given one iteration.
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
CUBE = """<mujoco><option timestep="0.0010416667" integrator="Euler" iterations="1" ls_iterations="4"/><worldbody>
<geom type="plane" size="10 10 0.1"/>
<body pos="0 0 0.55"><freejoint/><geom type="box" size="0.5 0.5 0.5" mass="1"/></body>
</worldbody></mujoco>"""


def least(run, masses):
    """The least processor time of three runs [s], and that of compiling."""
    began = time.process_time()
    jax.block_until_ready(run(masses))
    first, spent = time.process_time() - began, []
    for _ in range(3):
        busy = time.process_time()
        jax.block_until_ready(run(masses))
        spent.append(time.process_time() - busy)
    return min(spent), first - min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    for name, text in (("pendulum", PENDULUM), ("cube", CUBE)):
        model = mujoco.MjModel.from_xml_string(text)
        compiled = mjx.put_model(model)
        start = mjx.make_data(compiled).replace(qpos=jnp.array(model.qpos0 + (0.5 if name == "pendulum" else 0.0)))
        masses = jnp.linspace(0.5, 2.0, given.count)

        def roll(mass, compiled=compiled, start=start):
            own = compiled.replace(body_mass=compiled.body_mass * mass, body_inertia=compiled.body_inertia * mass)
            end, _ = jax.lax.scan(lambda d, _: (mjx.step(own, d), None), start, None, length=given.steps)
            return end.qpos

        for what, run in (
            ("forward", jax.jit(jax.vmap(roll))),
            ("forward and backward", jax.jit(jax.vmap(jax.value_and_grad(lambda m, roll=roll: roll(m).sum())))),
        ):
            try:
                spent, compiling = least(run, masses)
            except Exception as error:  # a refusal is part of the answer
                print(f"{name}, {what}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            rate = given.count / spent
            print(
                f"{name}, {what}: {1e3 * spent:.0f} ms, {rate:.0f} rollouts / s; compiling {compiling:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
