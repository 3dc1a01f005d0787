"""Random worlds of two bodies, rigid, soft, of cloth or of links: no NaN, no crash, no energy from nowhere.

    python tests/fuzz_worlds.py --count 500 --seed 0

Bodies start apart and undeformed, so that elastic and contact energy are 0. Contact energy and that of cloth are never
negative; that of a solid may become so, where its Lame modulus is below an eighth of its shear modulus: such a material
pushes itself apart, so its elastic energy is counted. Kinetic energy, that of gravity and that together may never rise
above where they start, but for the integrator's error. The stated bound is TOLERANCE of the largest kinetic energy on
the way, with the step that the world suggests.
"""

import argparse
import sys
from pathlib import Path

import torch

from diffloom import get_model, simulate
from diffloom.interfaces import Control, NoGradient, Params, SimulationError
from diffloom.naming import select_part

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "plugins" / "physics_articulated" / "tests"))
from energies import totals

TOLERANCE = 0.05
GRAVITY = 9.81
STEPS = 300
KINDS = ("cloth", "fem", "rigid", "drape", "links")


class Draw:
    """Random numbers of one world."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)

    def number(self, low, high):
        return low + (high - low) * float(torch.rand((), generator=self.random))

    def scale(self, low, high):
        return low * (high / low) ** self.number(0.0, 1.0)

    def vector(self, size):
        return [self.number(-size, size) for _ in range(3)]

    def choice(self, values):
        return values[int(torch.randint(len(values), (), generator=self.random))]


def rigid(draw, place, ground):
    """One rigid body of any shape, within 0.2 m of ``place``."""
    shape = draw.choice(["sphere", "box", "capsule", "star"])
    sizes = {
        "sphere": {"radius": draw.number(0.06, 0.15)},
        "box": {"size": [draw.number(0.08, 0.22) for _ in range(3)]},
        "capsule": {"radius": draw.number(0.04, 0.1), "length": draw.number(0.05, 0.18)},
        "star": {"scale": draw.number(0.2, 0.35)},
    }[shape]
    turn = [1.0, *draw.vector(1.0)]
    body = {"shape": shape, "position": place, "mass": draw.scale(0.05, 3.0), "orientation": turn, **sizes}
    body |= {"velocity": [*draw.vector(1.0)], "angular_velocity": draw.vector(6.0)}
    return get_model("rigid")([body], ground=ground)


def creature(draw, height):
    """A floating box with an arm on a hinge and a hand in a ball joint or fixed, its lowest point above ``height``."""
    radius, reach = draw.number(0.03, 0.06), draw.number(0.12, 0.25)
    size = [draw.number(0.06, 0.15) for _ in range(3)]
    body = {
        "name": "body", "joint": "free", "start": [draw.number(-0.05, 0.05), height + reach + 0.25, 0.02],
        "start_orientation": [1.0, *draw.vector(0.2)], "mass": draw.scale(0.1, 2.0),
        "velocity": [*draw.vector(0.5), *draw.vector(2.0)],
        "shapes": [{"shape": "box", "size": size, "rounding": 0.01}],
    }  # fmt: skip
    arm = {
        "name": "arm", "parent": "body", "axis": draw.vector(1.0), "position": [0.02, 0.0, 0.0],
        "mass": draw.scale(0.05, 1.0), "velocity": draw.number(-4.0, 4.0), "damping": draw.number(0.0, 0.01),
        "shapes": [{"shape": "capsule", "radius": 0.03, "length": 0.5 * reach, "position": [0.0, -0.5 * reach, 0.0]}],
    }  # fmt: skip
    hand = {
        "name": "hand", "parent": "arm", "joint": draw.choice(["ball", "fixed"]), "position": [0.0, -reach, 0.0],
        "mass": draw.scale(0.05, 1.0), "shapes": [{"shape": "sphere", "radius": radius, "subdivisions": 1}],
    }  # fmt: skip
    return get_model("articulated")([{"links": [body, arm, hand]}], touches=True)


def partner(draw):
    """Return the body that links fall on: its name, the model, and values of its parameters."""
    name = draw.choice(["ball", "sheet", "jelly"])
    if name == "ball":
        return name, rigid(draw, [0.02, 0.0, 0.0], False), {}
    if name == "sheet":
        mesh = {"shape": "grid", "cells": [6, 6], "size": [0.6, 0.6]}
        moduli = {f"sheet.{key}": draw.scale(100.0, 3000.0) for key in ("shear_modulus", "lame_modulus")}
        sheet = get_model("cloth")(mesh, pins=["left", "right", "top", "bottom"])
        return name, sheet, moduli | {"sheet.density": draw.scale(0.1, 1.0), "sheet.damping": draw.scale(0.01, 1.0)}
    jelly = get_model("fem")("box", size=(0.4, 0.3, 0.4), cells=(3, 3, 3))
    moduli = {f"jelly.{key}": draw.scale(1e3, 5e4) for key in ("shear_modulus", "lame_modulus")}
    return name, jelly, moduli | {"jelly.position": [0.0, 0.16, 0.0], "jelly.damping": draw.scale(0.1, 10.0)}


def make(kind, draw):
    """A world of one kind, and values of its parameters."""
    restitution = {"restitution": draw.number(0.1, 0.95), "friction": draw.number(0.0, 1.0)}
    if kind == "cloth":
        mesh = {"shape": "grid", "cells": [8, 8], "size": [0.8, 0.8]}
        pins = draw.choice([["left", "right", "top", "bottom"], ["left", "right"], ["corners"]])
        bodies = {"ball": rigid(draw, [0.05, 0.25, 0.0], False), "sheet": get_model("cloth")(mesh, pins=pins)}
        values = {"sheet.shear_modulus": draw.scale(30.0, 3000.0), "sheet.lame_modulus": draw.scale(30.0, 3000.0)}
        values |= {"sheet.density": draw.scale(0.05, 1.0), "sheet.damping": draw.scale(0.01, 1.0)}
        name = "ball_sheet"
    elif kind == "fem":
        jelly = get_model("fem")("box", size=(0.4, 0.3, 0.4), cells=(3, 3, 3))
        bodies = {"jelly": jelly, "brick": rigid(draw, [0.02, 0.55, 0.01], False)}
        values = {"jelly.shear_modulus": draw.scale(1e3, 5e4), "jelly.lame_modulus": draw.scale(1e3, 5e4)}
        values |= {"jelly.position": [0.0, 0.16, 0.0], "jelly.damping": draw.scale(0.1, 10.0)}
        name = "jelly_brick"
    elif kind == "drape":
        mesh = {"shape": "grid", "cells": [6, 6], "size": [0.6, 0.6], "position": [0.03, 0.36, 0.02]}
        jelly = get_model("fem")("box", size=(0.4, 0.3, 0.4), cells=(3, 3, 3))
        bodies = {"jelly": jelly, "sheet": get_model("cloth")(mesh)}
        values = {"jelly.shear_modulus": draw.scale(1e3, 5e4), "jelly.lame_modulus": draw.scale(1e3, 5e4)}
        values |= {"jelly.position": [0.0, 0.16, 0.0], "jelly.damping": draw.scale(0.1, 10.0)}
        values |= {"sheet.shear_modulus": draw.scale(30.0, 3000.0), "sheet.lame_modulus": draw.scale(30.0, 3000.0)}
        values |= {"sheet.density": draw.scale(0.05, 1.0), "sheet.damping": draw.scale(0.01, 1.0)}
        values |= {"sheet.velocity": [draw.number(-1.0, 1.0), draw.number(-2.0, 0.0), draw.number(-1.0, 1.0)]}
        name = "jelly_sheet"
    elif kind == "links":
        other, body, values = partner(draw)
        bodies = {"creature": creature(draw, 0.32 if other == "jelly" else 0.16), other: body}
        name = f"creature_{other}"
    else:
        bodies = {"cue": rigid(draw, [-0.3, 0.3, 0.0], True), "rack": rigid(draw, [0.1, 0.3, 0.05], True)}
        values = {"cue.velocity": [draw.number(1.0, 4.0), 0.0, 0.0]}
        name = "cue_rack"
    return get_model("world")(bodies), values | {f"{name}.{key}": value for key, value in restitution.items()}


def of_tree(world, path):
    """Kinetic energy of a tree, and that with gravity's, (frames,) [J]."""
    tree, (q, u) = world.body("creature"), path.sets["creature"]
    pulls = torch.tensor([[0.0, 0.0, 0.0], [0.0, -GRAVITY, 0.0]], dtype=torch.float64)
    return tuple(totals(tree, q, u, pull)[0].sum(dim=1) for pull in pulls)


def energies(world, params, path):
    """Kinetic energy and that with gravity's and the elastic energy of solids, (frames,) [J]."""
    kinetic = torch.zeros(len(path), dtype=torch.float64)
    total = kinetic.clone()
    for name, nodes in world.dynamics(params, Control()).sets.items():
        if name == "creature":
            moving, with_gravity = of_tree(world, path)
            kinetic, total = kinetic + moving, total + with_gravity
            continue
        arrays, (q, u) = dict(nodes.arrays), path.sets[name]
        inverse = arrays["inverse_mass"]
        mass = torch.where(inverse > 0, 1.0 / torch.where(inverse > 0, inverse, 1.0), 0.0)
        own = 0.5 * (mass * u[..., :3].square().sum(dim=2)).sum(dim=1)
        if q.shape[2] == 7:
            w, vector, spin = q[..., 3:4], -q[..., 4:], u[..., 3:]
            across = 2.0 * torch.linalg.cross(vector, spin)
            turning = spin + w * across + torch.linalg.cross(vector, across)
            xx, yy, zz, xy, xz, yz = arrays["inertia"].unbind(1)
            rows = [torch.stack(row, dim=1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
            own = own + 0.5 * torch.einsum("fni,nij,fnj->f", turning, torch.stack(rows, dim=1), turning)
        kinetic, total = kinetic + own, total + own + GRAVITY * (mass * q[..., 1]).sum(dim=1)
    if "jelly" in path.sets:
        elastic = world.body("jelly").energy(path["jelly"], Params(select_part("jelly", params), params.dtype)).elastic
        total = total + elastic - elastic[0]
    return kinetic, total


def run(seed, kinds=KINDS):
    """One world; a sentence when something is wrong, else None, and whether its bodies touched."""
    draw = Draw(seed)
    kind = kinds[0] if len(kinds) == 1 else draw.choice(kinds)
    world, values = make(kind, draw)
    params = world.params(torch.float64, **values)
    dt = world.suggested_dt(params)
    try:
        steps = max(STEPS, min(3000, int(0.3 / dt)))
        path = simulate(world, params, dt=dt, steps=steps, save_every=5, gradient=NoGradient())
    except SimulationError as error:
        return f"{kind}, dt {dt:.2e}: {error}"
    kinetic, total = energies(world, params, path)
    if not bool(torch.isfinite(total).all()):
        return f"{kind}, dt {dt:.2e}: energy is not finite"
    rise = float(total.max() - total[0])
    if rise > TOLERANCE * float(kinetic.max()) + 1e-9:
        return f"{kind}, dt {dt:.2e}: energy rises by {rise:.3g} J of {float(kinetic.max()):.3g} J"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=KINDS, help="of this kind alone; may be given again")
    given = parser.parse_args()
    wrong = 0
    for seed in range(given.seed, given.seed + given.count):
        said = run(seed, tuple(given.kind or KINDS))
        if said is not None:
            wrong += 1
            print(f"seed {seed}: {said}", flush=True)
        if (seed - given.seed) % 100 == 99:
            print(f"{seed - given.seed + 1} done", file=sys.stderr, flush=True)
    print(f"{given.count} worlds, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
