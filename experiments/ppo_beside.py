"""Model-free learning beside ours: stable-baselines3's PPO on the same scenes, by environment steps.

python experiments/ppo_beside.py cartpole --steps 300000 --out ppo.json       # pip install stable-baselines3

One environment step is one decision. PPO is given the state, where ours sees pixels: a favour, and quicker to run.
Many carts are simulated as one batch; a single one, by ``diffloom_control.gym``, has the same return: see ``--check``.
"""

import argparse
import json
import time
from pathlib import Path

import cartpole_from_pixels as cartpole
import crawler_study
import gymnasium
import numpy as np
import reach_study
import torch

from diffloom import simulate
from diffloom.interfaces import Control, State
from diffloom_control import Network
from diffloom_control.networks import find_control_rows
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin


class Carts:
    """``count`` carts with their poles hanging; what stable-baselines3 asks of a vector environment."""

    decisions, limit, size, numbers = 100, cartpole.FORCE, 5, 1

    def __init__(self, count, seed=0):
        self.count = count
        network = Network("torque", "state", every=cartpole.EVERY, scale=self.limit, only=(0,))
        self.scene = cartpole.scene_of(network, 0, self.decisions)
        self.start = torch.tensor([0.0, np.pi, 0.0, 0.0], dtype=torch.float64)

    def begin(self):
        self.s, self.k = self.start.expand(self.count, 4).clone(), 0
        return self.seen()

    def seen(self):
        x, angle, speed, rate = self.s.T
        return torch.stack([x, angle.sin(), angle.cos(), speed, rate], dim=1).float().numpy()

    def step(self, actions):
        """(observations, rewards, whether it is over) after actions (count, 1) within -1..1."""
        force = self.limit * torch.as_tensor(np.clip(actions[:, 0], -1.0, 1.0), dtype=torch.float64)
        with torch.no_grad():
            self.s = cartpole.step(self.scene, self.s, force)
        self.k += 1
        reward = -cartpole.deviation(self.s).square().sum(dim=1) / self.decisions
        return self.seen(), reward.float().numpy(), self.k == self.decisions

    def share(self):
        """Return the weight of the step's reward when a policy is judged."""
        return 1.0

    def env(self):
        """One of them as a Gymnasium environment, whose reward is the loss of a fit."""
        from diffloom_control.gym import ControlTask, SceneEnv

        return SceneEnv(ControlTask(self.scene, cartpole.upright(self.scene), cartpole.UprightError()))


class Arms:
    """``count`` arms of ``reach.toml`` with the goal of one seed. PPO is told at every step how far the tip is from the
    goal's, where ours sees the goal's image, at five times alone."""

    decisions, limit, size, numbers = 30, 3.0, 6, 2

    def __init__(self, count, seed=0):
        changes = {"seed": seed, "policy.sees": "state", "policy.every": reach_study.EVERY}
        self.experiment = build_experiment(load_file(reach_study.FOLDER / "reach.toml", changes=changes))
        self.count, self.scene = count, self.experiment.scene
        self.goal = reach_study.tip(self.experiment.target.q[-1])
        state = self.scene.model.initial_state(self.scene.params)
        self.start = torch.cat([state.q[0], state.u[0]])

    def begin(self):
        self.s, self.k = self.start.expand(self.count, 4).clone(), 0
        return self.seen()

    def seen(self):
        off = reach_study.tip(self.s[:, :2]) - self.goal
        return torch.cat([self.s[:, :2], 0.1 * self.s[:, 2:], off], dim=1).float().numpy()

    def share(self):
        """Return the weight of the step's reward when a policy is judged: the mean from 0.8 s on."""
        return 1.0 / 11.0 if self.k >= 20 else 0.0

    def step(self, actions):
        """(observations, rewards, whether it is over) after actions (count, 2) within -1..1."""
        told = self.limit * torch.as_tensor(np.clip(actions, -1.0, 1.0), dtype=torch.float64)
        params = self.scene.model.params(torch.float64, batch=self.count)
        rows = told[:, None].expand(-1, reach_study.EVERY, -1)
        with torch.no_grad():
            path = simulate(
                self.scene.model, params, dt=self.scene.dt, steps=reach_study.EVERY, save=[reach_study.EVERY],
                integrator=self.scene.integrator, control=Control({"target_position": rows}),
                state=State(self.s[:, None, :2], self.s[:, None, 2:]),
            )  # fmt: skip
        self.s = torch.cat([path.q[:, -1, 0], path.u[:, -1, 0]], dim=1)
        self.k += 1
        off = (reach_study.tip(self.s[:, :2]) - self.goal).square().sum(dim=1)
        return self.seen(), -off.float().numpy(), self.k == self.decisions


class Crawlers:
    """``count`` beams of ``soft-crawler.toml`` with the goal of one seed. PPO is told at every step how far the middle
    is from the goal's, and the beat of the clock, where ours sees the goal's image at the end alone."""

    decisions, limit, numbers = 72, 0.6, 10
    size = 4 * numbers + 4

    def __init__(self, count, seed=0):
        self.experiment = build_experiment(
            load_file(crawler_study.FOLDER / "soft-crawler.toml", changes={"seed": seed})
        )
        self.count, self.scene = count, self.experiment.scene
        self.goal = self.experiment.target.q[-1].mean(dim=0)
        model = self.scene.model
        self.start = model.initial_state(self.scene.params)
        self.groups = self.scene.policy.module[-1].only
        self.tets = torch.from_numpy(model.mesh.tets)

    def begin(self):
        self.q, self.u = (t.expand(self.count, *t.shape) for t in (self.start.q, self.start.u))
        self.k = 0
        return self.seen()

    def seen(self):
        middle = self.q.mean(dim=1)
        parts = [(middle - self.goal)[:, :2]]
        for group in self.groups:
            nodes = self.tets[list(group)].flatten()
            parts += [5.0 * (self.q[:, nodes].mean(dim=1) - middle)[:, :2], self.u[:, nodes].mean(dim=1)[:, :2]]
        beat = 4.0 * np.pi * self.k * crawler_study.EVERY * self.scene.dt
        clock = torch.tensor([np.sin(beat), np.cos(beat)]).expand(self.count, 2)
        return torch.cat([*parts, clock], dim=1).float().numpy()

    def share(self):
        """Return the weight of the step's reward when a policy is judged: the last step alone."""
        return 1.0 if self.k == self.decisions else 0.0

    def step(self, actions):
        """(observations, rewards, whether it is over) after actions (count, 10) within -1..1."""
        told = self.limit * torch.as_tensor(np.clip(actions, -1.0, 1.0), dtype=torch.float64)
        rows = find_control_rows(told, (len(self.tets),), self.groups)
        params = self.scene.params
        moved = []
        with torch.no_grad():
            for q, u, row in zip(self.q, self.u, rows, strict=True):
                path = simulate(
                    self.scene.model, params, dt=self.scene.dt, steps=crawler_study.EVERY, save=[crawler_study.EVERY],
                    integrator=self.scene.integrator, state=State(q, u),
                    control=Control({"activation": row.expand(crawler_study.EVERY, -1)}),
                )  # fmt: skip
                moved.append((path.q[-1], path.u[-1]))
        self.q, self.u = (torch.stack(part) for part in zip(*moved, strict=True))
        self.k += 1
        off = (self.q.mean(dim=1) - self.goal).square().sum(dim=1)
        return self.seen(), -off.float().numpy(), self.k == self.decisions


SCENES = {"cartpole": Carts, "reach": Arms, "crawler": Crawlers}


def vector_env(scenes):
    """Environment for stable-baselines3, in which a finished episode begins again at once."""
    from stable_baselines3.common.vec_env import VecEnv

    class Vector(VecEnv):
        def __init__(self):
            box = gymnasium.spaces.Box
            super().__init__(scenes.count, box(-np.inf, np.inf, (scenes.size,)), box(-1.0, 1.0, (scenes.numbers,)))

        def reset(self):
            return scenes.begin()

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            seen, rewards, over = scenes.step(self.actions)
            infos = [{"terminal_observation": row} if over else {} for row in seen]
            return (scenes.begin() if over else seen), rewards, np.full(scenes.count, over), infos

        def close(self):
            pass

        def get_attr(self, name, indices=None):
            return [None] * scenes.count

        def set_attr(self, name, value, indices=None):
            pass

        def env_method(self, name, *given, indices=None, **named):
            raise NotImplementedError(name)

        def env_is_wrapped(self, wrapper, indices=None):
            return [False] * scenes.count

    return Vector()


def judged(model, scenes):
    """The return of the policy's mean action, from the start itself."""
    seen, total, over = scenes.begin(), 0.0, False
    while not over:
        seen, rewards, over = scenes.step(model.predict(seen, deterministic=True)[0])
        total += scenes.share() * float(rewards[0])
    return total


def learn(kind, steps, seed, out, enough):
    """Train, and keep the return by environment steps; stops when it is ``enough``."""
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    env, alone = vector_env(kind(16, seed)), kind(1, seed)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=256, n_epochs=10, gamma=0.99, ent_coef=0.0, seed=seed)
    curve, clock = [[0, judged(model, alone)]], time.process_time()
    while model.num_timesteps < steps and curve[-1][1] < enough:
        model.learn(16 * 128 * 2, reset_num_timesteps=False)
        curve.append([model.num_timesteps, judged(model, alone)])
        spent = time.process_time() - clock
        print(f"{curve[-1][0]} steps: return {curve[-1][1]:.4g}, {spent:.0f} s", flush=True)
        out.write_text(json.dumps({"seed": seed, "enough": enough, "curve": curve, "processor_seconds": spent}) + "\n")
        write_origin(out)


def check(kind):
    """Compare equal actions in the batch and in the Gymnasium environment: returns differ by rounding."""
    scenes, rng = kind(2), np.random.default_rng(0)
    env = scenes.env()
    scenes.begin(), env.reset()
    ours, theirs, over = 0.0, 0.0, False
    while not over:
        action = rng.uniform(-1.0, 1.0, 1)
        _, rewards, over = scenes.step(np.stack([action, action]))
        ours += float(rewards[0])
        theirs += env.step(action * scenes.limit)[1]
    return ours, theirs


def main():
    """Train or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--enough", type=float, default=-1.8)
    parser.add_argument("--out", type=Path, default=Path("ppo.json"))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        print("return in the batch {:.9f}, by diffloom_control.gym {:.9f}".format(*check(SCENES[given.scene])))
        return
    learn(SCENES[given.scene], given.steps, given.seed, given.out, given.enough)


if __name__ == "__main__":
    main()
