"""Hand-written adjoints of device functions, against those derived from the source of the functions."""

import importlib
import inspect

import numpy as np
import pytest

from diffloom.interfaces import Control
from diffloom.plugins import models
from diffloom_kernels.derive import derive_adjoint, interpreted
from diffloom_mechanics import TERMS, Mechanics, compare_device_adjoints
from diffloom_mechanics.contact import obstacle_kernels
from diffloom_mechanics.contact.derived_laws import derive_distance_adjoint
from diffloom_testing.subjects import model_subject
from diffloom_testing.term_hosts import TERM, term_subject

#: Device functions whose adjoints cannot be derived, with the reason.
REFUSED = {
    "tree_acceleration": "only the rows that an element writes",
    "drift": "only the rows that an element writes",
    "rate": "only the rows that an element writes",
    "joint_force": "only the rows that an element writes",
    "body_ground_force": "changed by more than a sum",
    "body_push_force": "at a row that is not its own",
    "push_vertex": "passes before the node pass",
    "pair_force": "passes before the node pass",
    "particle_force": "another node set",
    "body_force": "another node set",
}


def comparisons():
    """All comparisons: those of models, and of every term on every model that it fits."""
    for name in models():
        subject = model_subject(name)
        dynamics = subject.model.dynamics(subject.params(), Control())
        if isinstance(dynamics, Mechanics):
            yield from compare_device_adjoints(dynamics, subject.model.initial_state(subject.params()))
    for name in TERMS.names():
        for host in term_subject(name).hosts.values():
            system = host.alone(host.params())
            yield from (one for one in compare_device_adjoints(system, host.state()) if repr(TERM) in one.owner)


@pytest.fixture(scope="module")
def found():
    return list(comparisons())


def test_hand_written_adjoints_agree_with_derived_ones(found):
    wrong = [one for one in found if not one.agrees]
    assert not wrong
    heard = {one.function for one in found if one.error is not None and not one.silent}
    print(f"{len(heard)} device functions agree: {', '.join(sorted(heard))}")
    assert len(heard) >= 18


def test_what_cannot_be_derived_is_known(found):
    for one in found:
        if one.error is None:
            assert one.function in REFUSED, one
            assert REFUSED[one.function] in one.reason


#: Functions of numbers that have an adjoint of their own, by module, with the lengths of their arguments; 0 is a float.
PAIRS = {
    "diffloom_kernels.algebra.quaternions": {
        "quat_normalize": (4,), "quat_mul": (4, 4), "quat_rotate": (4, 3),
    },
    "diffloom_mechanics.air_kernels": {"drag": (3, 0, 0)},
    "diffloom_mechanics.contact.friction_kernels": {
        "coulomb_pair": (2, 2), "stribeck_pair": (4, 4), "smooth_pair": (3, 3), "anisotropic_pair": (5, 5),
    },
    "diffloom_mechanics.contact.normal_kernels": {
        "hunt_crossley_pair": (2, 2), "toe_pair": (3, 3), "linear_pair": (2, 2), "hysteresis_pair": (4, 4),
    },
    "diffloom_mechanics.contact.shape_kernels": {
        "length_and_direction": (3,), "sphere_shape": (3, 0), "plane_shape": (3, 3), "capsule_shape": (3, 0, 0),
        "box_shape": (3, 3),
    },
    "diffloom_mechanics.rotation_kernels": {"quat_exp": (3,)},
    "diffloom_physics_articulated.joint_kernels": {"limit_force": (0, 0, 0, 0)},
    "diffloom_physics_articulated.rotation_kernels": {"quat_exp": (3,)},
    "diffloom_physics_cloth.shell_kernels": {"pull": (3, 3)},
    "diffloom_raster.coverage_kernels": {"perspective_weights": (0, 0, 6, 3)},
}  # fmt: skip
SHAPES = {"sphere": 1, "box": 3, "capsule": 2, "plane": 3}


def flat(value):
    """The numbers of a nested tuple."""
    return [n for entry in value for n in flat(entry)] if isinstance(value, tuple) else [float(value)]


def randomised(value, rng):
    """Random numbers in the structure of a value."""
    return tuple(randomised(entry, rng) for entry in value) if isinstance(value, tuple) else np.float64(rng.normal())


def sample(lengths, rng):
    """Random positive arguments: sizes and stiffnesses are."""
    return tuple(rng.uniform(0.2, 1.2) if n == 0 else tuple(rng.uniform(0.2, 1.2, n)) for n in lengths)


def holds(one, all_of_them):
    """True if the numbers of one cotangent are those of one of several."""
    return any(len(flat(one)) == len(flat(v)) and np.allclose(flat(one), flat(v), 1e-9, 1e-12) for v in all_of_them)


@pytest.mark.parametrize("path", [f"{module}.{name}" for module, names in PAIRS.items() for name in names])
def test_functions_of_numbers(path):
    """Each cotangent of the hand-written adjoint, which may leave some out, is one of the derived."""
    module, _, name = path.rpartition(".")
    found, lengths = importlib.import_module(module), PAIRS[module][name]
    function, by_hand = (interpreted(getattr(found, key)) for key in (name, f"{name}_adjoint"))
    derived = interpreted(derive_adjoint(getattr(found, name), tuple(0.0 if n == 0 else (0.0,) * n for n in lengths)))
    names, asked = (list(inspect.signature(f).parameters) for f in (function, by_hand))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        args = sample(lengths, rng)
        adj = randomised(function(*args), rng)
        extra = [key for key in asked if key not in names]
        given = dict(zip(names, args, strict=True)) | dict(zip(extra, (adj,) if len(extra) == 1 else adj, strict=True))
        hand, full = by_hand(*[given[key] for key in asked]), derived(*args, adj)
        assert np.abs(flat(hand)).max() > 1e-3
        options = [*full, full] if isinstance(full, tuple) else [full]
        assert holds(hand, options) or all(holds(part, options) for part in hand)


@pytest.mark.parametrize("shape", SHAPES)
def test_distances_to_obstacles(shape):
    distance, by_hand = (getattr(obstacle_kernels, f"{shape}_distance{end}") for end in ("", "_adjoint"))
    derived = interpreted(derive_distance_adjoint(distance))
    rng = np.random.default_rng(0)
    size, point = rng.uniform(0.3, 0.9, (4, 3)), sample((3,), rng)[0]
    cotangents = (np.float64(0.7), tuple(rng.normal(size=3)))
    results = []
    for adjoint in (interpreted(by_hand), derived):
        adj_size = np.zeros_like(size)
        found = adjoint(1, point, size, np.zeros(8, np.int32), np.zeros(8), *cotangents, adj_size)
        results.append(np.array([*flat(found), *adj_size.ravel()]))
    assert np.abs(results[0]).max() > 1e-3
    assert np.allclose(*results, rtol=1e-12, atol=1e-12)
