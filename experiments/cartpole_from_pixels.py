"""Swing a pole up and balance it, from images of 64 x 64 pixels alone.

python experiments/cartpole_from_pixels.py             # about ten minutes; --quick shows that it runs

The policy is a small network that sees the last two images, every 40 ms: brightness, place and spread of each colour.
It is found in three steps, all of them by gradients. A plan: which forces swing the pole up, through the physics. A
teacher: feedback along that plan from the linearised physics, which sees the state. A pupil: the network, first taught
what the teacher does, then improved by the gradient of the return through the renderer and the physics of the episode.
"""

import argparse
import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch

import diffloom_fitting as fitting
from diffloom import simulate
from diffloom.interfaces import Checkpointed, Control, NoGradient, State, Trajectory
from diffloom.plugins import get_model, get_renderer
from diffloom_control import Network, make_goal_target, make_network_policy, make_pose_goal, save_policy
from diffloom_experiments.origin import write_origin
from diffloom_fitting.fits import peak_memory

DT, EVERY, DECISIONS, FORCE = 5e-3, 8, 75, 10.0
EYES = {"image_size": (64, 64), "frames": 2, "reads": "moments", "hidden": (32, 64, 64)}
NEARLY = 0.1  # distance from upright and at rest at which a plan may end: feedback does the rest
NEAR = torch.tensor([0.03, 0.05, 0.1, 0.2], dtype=torch.float64)  # distances from the plan at which the teacher acts


@dataclass(frozen=True)
class UprightError(fitting.Loss):
    """Mean of x^2 + 2 (1 - cos angle): how far the cart is from the middle, and the pole's tip from above the cart
    [m^2]; 4 for a pole that hangs."""

    @property
    def outputs(self):
        return ()

    def residuals(self, view, target):
        return deviation(view.q[:, 0]) * math.sqrt(3.0)


def deviation(q):
    """(n, 3) of states (n, 2 or more): zero when upright in the middle; the sum of squares is what counts."""
    return torch.stack([q[:, 0], q[:, 1].sin(), q[:, 1].cos() - 1.0], dim=1)


def scene_of(network, seed=0, decisions=DECISIONS):
    """The cart at rest with its pole hanging, and a policy on the cart's force."""
    cart = get_model("articulated")([{"builder": "cartpole", "angle": math.pi, "damping": 0.02}])
    params, steps = cart.params(torch.float64), EVERY * decisions
    policy = make_network_policy(cart, params, network, DT * steps, seed)
    view = fitting.Orbit(distance=2.6, elevation=0, size=(64, 64))
    renderer = get_renderer("softras")(sigma=1e-4, background=(0.0, 0.0, 0.0))
    return fitting.Scene(cart, renderer, view, params, DT, steps, gradient=Checkpointed(), policy=policy)


def upright(scene, since=0.0):
    """The goal, upright in the middle, at every decision after ``since`` [s]."""
    up = scene.model.params(torch.float64, joint_position=[0.0, 0.0])["joint_position"]
    goal = make_pose_goal(scene, {"joint_position": up}, 0.0)
    times = [k * DT * EVERY for k in range(1, scene.steps // EVERY + 1)]
    return make_goal_target([replace(goal, image=None, mask=None, at=t) for t in times if t > since], scene)


def step(scene, s, force):
    """The states (n, 4) of n carts one decision after ``s`` under forces (n,); one batch."""
    params = scene.model.params(torch.float64, batch=len(s))
    rows = torch.stack([force, torch.zeros_like(force)], dim=1)[:, None].expand(-1, EVERY, -1)
    state = State(s[:, None, :2], s[:, None, 2:])
    path = simulate(
        scene.model, params, dt=DT, steps=EVERY, save=[EVERY], control=Control({"torque": rows}), state=state
    )
    return torch.cat([path.q[:, -1, 0], path.u[:, -1, 0]], dim=1)


def planned(decisions, iterations, seed, starts=5):
    """(states (n + 1, 4), forces (n,), simulations): a swing-up by L-BFGS that stands in the last third of its time,
    and then a third more of standing still. Such a search may end in a swing that never stands; then it begins anew
    from other weights."""
    spent, plans = 0, []
    for start in range(starts):
        states, forces, simulations = searched(decisions, iterations, 1000 * start + seed)
        # From where it stands best it is to stand still: plans end carelessly, since nothing is wanted after them.
        far = deviation(states).square().sum(dim=1) + 0.1 * states[:, 2:].square().sum(dim=1)
        best = 2 * decisions // 3 + int(far[2 * decisions // 3 :].argmin())
        plans.append((float(far[best]), states[: best + 1], forces[:best]))
        spent += simulations
        if plans[-1][0] < NEARLY:
            break
    _, states, forces = min(plans, key=lambda plan: plan[0])
    turns = float(torch.round(states[-1, 1] / (2.0 * math.pi))) * 2.0 * math.pi
    still = torch.tensor([0.0, turns, 0.0, 0.0], dtype=torch.float64).expand(4 * decisions // 3 - len(forces), 4)
    return torch.cat([states, still]), torch.cat([forces, 0.0 * still[:, 0]]), spent


def searched(decisions, iterations, seed):
    """(states, forces, simulations) of one search: first to stand in the last third, then for the return."""
    network = Network("torque", "spline", knots=max(4, decisions // 4), bias=False, scale=FORCE, only=(0,))
    scene, spent = scene_of(network, seed, decisions), 0
    for since, share in ((2.0 / 3.0 * DT * scene.steps, iterations), (0.0, iterations // 3)):
        experiment = fitting.Experiment(
            scene, upright(scene, since), ["policy"], UprightError(), (fitting.Stage(fitting.Lbfgs(), share),),
            costs=fitting.ControlCosts(effort=1e-3),
        )  # fmt: skip
        found = fitting.run_fit(experiment, sure=False)
        adopt(scene, experiment.layout.decode(found.z))
        spent += found.evaluations
    made = scene.rollout({}, range(0, scene.steps + 1, EVERY), NoGradient())
    states = torch.cat([made.trajectory.q[:, 0], made.trajectory.u[:, 0]], dim=1)
    return states, made.control["torque"][::EVERY, 0], spent


def adopt(scene, weights):
    """Make these the weights of the scene's policy."""
    scene.policy.module.load_state_dict({name.removeprefix("policy."): value for name, value in weights.items()})


def gains(scene, states, forces):
    """(n, 4): how the force answers to a deviation from the plan, by Riccati's recursion on the linearised physics."""
    s, f = states[:-1].clone().requires_grad_(), forces.clone().requires_grad_()
    after = step(scene, s, f)
    rows = [torch.autograd.grad(after[:, k].sum(), (s, f), retain_graph=True) for k in range(4)]
    ahead, push = torch.stack([r[0] for r in rows], dim=1), torch.stack([r[1] for r in rows], dim=1)
    weigh, effort = torch.diag(torch.tensor([1.0, 3.0, 0.1, 0.1], dtype=torch.float64)), 0.02
    cost, found = 10.0 * weigh, []
    for a, b in zip(ahead.flip(0), push.flip(0), strict=True):
        gain = (b @ cost @ a) / (effort + b @ cost @ b)
        cost = weigh + a.T @ cost @ (a - b[:, None] * gain)
        found.append(gain)
    return torch.stack(found).flip(0)


def taught(plan, k, s):
    """The teacher's forces (n,) at decision k in states (n, 4)."""
    states, forces, gain = plan
    return (forces[k] - (s - states[k]) @ gain[k]).clamp(-0.98 * FORCE, 0.98 * FORCE)


def images(scene, s):
    """(n, 4, 64, 64): what the camera sees of states (n, 4)."""
    path = Trajectory(s[:, None, :2], s[:, None, 2:], torch.zeros(len(s), dtype=torch.float64))
    with torch.no_grad():
        image, _ = scene.draw(path, scene.params, {}, ("rgba",))
    return image.rgba.permute(0, 3, 1, 2)


def episodes(scene, plan, count, noise, policy=None, spread=1.0, since=0):
    """``count`` episodes, the first from the start itself and the rest from near it, driven by the teacher with noise
    on its force [N], or by a policy that sees images: the observations near the plan, the teacher's forces
    there, and the states, (decisions + 1, count, 4). since: decision at which they begin, on the plan."""
    states, forces, _ = plan
    s = states[since] + spread * NEAR * torch.randn(count, 4, dtype=torch.float64) * (torch.arange(count) > 0)[:, None]
    before, seen, wanted, path = None, [], [], [s]
    near = torch.ones(count, dtype=torch.bool)
    for k in range(since, len(forces)):
        now = images(scene, s)
        shown = torch.cat([now if before is None else before, now], dim=1)
        before, right = now, taught(plan, k, s)
        # Far from the plan the teacher knows nothing.
        near &= ((s - states[k]) / NEAR).abs().amax(dim=1) < 12.0
        seen.append(scene.policy.module[0](shown[near]))
        wanted.append(right[near])
        with torch.no_grad():
            force = right if policy is None else policy.act({}, shown)[:, 0]
            s = step(scene, s, force + noise * torch.randn(count, dtype=torch.float64))
        path.append(s)
    return torch.cat(seen), torch.cat(wanted), torch.stack(path)


def returns(path):
    """(count,): of states (decisions + 1, count, 4)."""
    return -torch.stack([deviation(s).square().sum(dim=1) for s in path[1:]]).mean(dim=0)


def balanced(path):
    """(count,): whether the pole stood within 0.2 rad for the whole last second."""
    return (path[-25:, :, 1].sin().abs().amax(dim=0) < 0.2) & (path[-25:, :, 1].cos().amin(dim=0) > 0.9)


def whiten(first, seen):
    """Make a first layer see what it is told as uncorrelated numbers of size 1/2, the largest parts first."""
    middle = seen.mean(dim=0)
    _, size, axes = torch.linalg.svd((seen - middle) / math.sqrt(len(seen)), full_matrices=False)
    rows = 0.5 * axes[: first.out_features] / size[: first.out_features, None].clamp(min=1e-6)
    with torch.no_grad():
        first.weight.copy_(rows)
        first.bias.copy_(-rows @ middle)


def teach(module, seen, wanted, rounds):
    """Fit the layers after the first to what the teacher does where it was seen, by L-BFGS on all of it: a pole that
    stands is lost by errors that a stochastic descent leaves. Returns the rms error [N]."""
    optimiser = torch.optim.LBFGS(
        module[2:].parameters(), max_iter=rounds, history_size=30, line_search_fn="strong_wolfe",
        tolerance_grad=1e-9, tolerance_change=1e-12,
    )  # fmt: skip
    with torch.no_grad():
        first = module[1](seen)

    def closure():
        optimiser.zero_grad()
        loss = (module[2:](first)[:, 0] - wanted).square().mean()
        loss.backward()
        return loss

    optimiser.step(closure)
    return float(closure().detach().sqrt())


def improve(scene, iterations):
    """Better weights by the gradient of the return through renderer and physics: (weights, simulations, losses)."""
    scan = fitting.LineScan(rate=1e-3, factor=4.0, trials=4)
    experiment = fitting.Experiment(
        scene, upright(scene), ["policy"], UprightError(), (fitting.Stage(scan, iterations),),
    )  # fmt: skip
    found = fitting.run_fit(experiment, sure=False)
    return experiment.layout.decode(found.z), found.evaluations, [found.start_loss, found.loss]


def learn(seed, quick=False, say=print):
    """Train a policy on images from nothing: its returns after each part, and the environment steps until then."""
    torch.manual_seed(seed)
    decisions = 12 if quick else DECISIONS
    clock, rows = time.process_time(), []
    states, forces, simulations = planned(decisions, 3 if quick else 45, seed, 1 if quick else 5)
    network = Network("torque", "image", every=EVERY, scale=FORCE, only=(0,), **EYES)
    scene = scene_of(network, seed, len(forces))
    module = scene.policy.module.double()
    plan = (states, forces, gains(scene, states, forces))
    steps = simulations * decisions + len(forces)

    def told(part, path, spent):
        row = {"part": part, "environment_steps": spent, "return": float(returns(path)[0]),
               "near_returns": returns(path)[1:].tolist(), "balanced": balanced(path).tolist(),
               "processor_seconds": time.process_time() - clock}  # fmt: skip
        rows.append(row)
        count = f"{sum(row['balanced'])} of {len(row['balanced'])} balanced"
        say(f"{part}: {spent} environment steps, return {row['return']:.3f}, {count}", flush=True)

    count = 2 if quick else 8
    seen, wanted, path = episodes(scene, plan, count + 4, 1.0)
    steps += path.shape[1] * len(forces)
    # Behaviour when it comes to the top too fast or beside it, which the teacher from the start never does.
    for since in (len(forces) // 3, 2 * len(forces) // 3):
        more, right, _ = episodes(scene, plan, count, 1.0, spread=2.0, since=since)
        seen, wanted = torch.cat([seen, more]), torch.cat([wanted, right])
        steps += count * (len(forces) - since)
    told("teacher", path, steps)
    whiten(module[1], seen)
    for part in range(1 if quick else 6):
        teach(module, seen, wanted, 20 if quick else 300)
        more, right, path = episodes(scene, plan, count, 0.2, scene.policy)
        steps += count * len(forces)
        told(f"pupil {part + 1}", path, steps)
        seen, wanted = torch.cat([seen, more]), torch.cat([wanted, right])
    weights, simulations, _ = improve(scene, 1 if quick else 3)
    steps += simulations * len(forces)
    adopt(scene, weights)
    told("through the renderer", episodes(scene, plan, count, 0.0, scene.policy)[2], steps)
    return scene, rows


def main():
    """Learn, and keep the returns and the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs/cartpole-from-pixels"))
    given = parser.parse_args()
    scene, rows = learn(given.seed, given.quick)
    given.out.mkdir(parents=True, exist_ok=True)
    save_policy(given.out / f"policy-{given.seed}.pt", scene.policy)
    record = {"seed": given.seed, "peak_memory_bytes": peak_memory(), "parts": rows}
    place = given.out / f"seed-{given.seed}.json"
    place.write_text(json.dumps(record) + "\n")
    write_origin(place)


if __name__ == "__main__":
    main()
