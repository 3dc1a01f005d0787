"""Seconds of MJX on the CPU for the trees of benchmarks/articulated.py, forward and with gradient by masses.

Run by a Python that has mujoco-mjx; reads cases as JSON from stdin and prints one line of JSON each. Positions and
velocities alone are carried from step to step, and each step is recomputed backwards (jax.checkpoint): keeping all of
MJX's data for a thousand copies does not fit. Processor time, the best of three runs after the one that compiles.
"""

import argparse
import json
import sys
import time

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx


def best_of(run, masses):
    """Processor seconds of the best of three runs, and what the run returns."""
    found = jax.block_until_ready(run(masses))
    spent = []
    for _ in range(3):
        busy = time.process_time()
        jax.block_until_ready(run(masses))
        spent.append(time.process_time() - busy)
    return min(spent), found


def timed(case):
    model = mujoco.MjModel.from_xml_string(case["xml"])
    model.opt.timestep = case["dt"]
    compiled = mjx.put_model(model)
    start = mjx.make_data(compiled)
    start = start.replace(qpos=jnp.array(case["qpos"]), qvel=jnp.array(case["qvel"]))

    def loss(factor):
        own = compiled.replace(
            body_mass=compiled.body_mass * factor, body_inertia=compiled.body_inertia * factor[:, None]
        )

        @jax.checkpoint
        def step(state, _):
            data = mjx.step(own, start.replace(qpos=state[0], qvel=state[1]))
            return (data.qpos, data.qvel), None

        end, _ = jax.lax.scan(step, (start.qpos, start.qvel), None, length=case["steps"])
        return jnp.sum(end[0])

    factors = jnp.ones((case["count"], model.nbody))
    forward, ended = best_of(jax.jit(jax.vmap(loss)), factors)
    both, slopes = best_of(jax.jit(jax.vmap(jax.value_and_grad(loss))), factors)
    return {"forward": forward, "both": both, "end": float(ended[0]), "slope": np.asarray(slopes[1][0]).tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--double", action="store_true", help="float64 in place of float32")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", given.double)
    for case in json.load(sys.stdin):
        print(json.dumps(timed(case)), flush=True)


if __name__ == "__main__":
    main()
