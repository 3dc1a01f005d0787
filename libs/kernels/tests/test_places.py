"""Scenes side by side: the source of one scene computes a block of them, each to the bits of its own run."""

import numpy as np
import pytest

from diffloom_kernels import (
    Program,
    any_lane,
    device,
    generic,
    launch,
    ld3,
    row_add,
    row_fma,
    row_from_vec3,
    row_load,
    row_scale,
    row_store,
    row_vec3,
    scene_node,
    scene_row,
    where,
)

LANES = {np.float32: 8, np.float64: 4}
NODES = 3


@device
def body(i, row, x, weight, starts, list_of, extra, out):
    R = x.dtype.type
    total = R(0)
    for s in range(starts[i], starts[i + 1]):
        k = list_of[s]
        total += extra[scene_row(i, k)] * weight[i]
    sunk = x[row, i, 0] < R(0)
    if any_lane(sunk):
        total = where(sunk, total - x[row, i, 0] / weight[i], total)
    v = row_add(
        row_from_vec3(ld3(out, i)),
        row_fma(row_from_vec3((total, total, total)), R(0.5), row_from_vec3((R(1), R(2), R(3)))),
    )
    row_store(out, i, row_add(row_scale(v, total), row_load(out, i)))
    w = row_vec3(v)
    out[i, 2] += w[0] * w[1]


@generic
def block(b, row, x, weight, starts, list_of, extra, out):
    for k in range(3):
        body(scene_node(b, k), row, x, weight, starts, list_of, extra, out)


def alone(row, x, weight, starts, list_of, extra, out):
    launch(weight.shape[0], body, row, x, weight, starts, list_of, extra, out)


def side_by_side(blocks, row, x, weight, starts, list_of, extra, out):
    launch(blocks, block, row, x, weight, starts, list_of, extra, out)


@generic
def wrong_axes(b, row, x):
    x[scene_node(b, 0)] = x.dtype.type(0)


@generic
def into_shared(b, weight):
    weight[scene_node(b, 0)] = weight.dtype.type(0)


def store_wrong(blocks, row, x):
    launch(blocks, wrong_axes, row, x)


def store_shared(blocks, weight):
    launch(blocks, into_shared, weight)


PROGRAM = Program("places", (alone, side_by_side, store_wrong, store_shared))


def blocked(rows, lanes, axis=0):
    """(scenes, ...) as (blocks, ..., lanes), the blocks behind ``axis`` axes."""
    split = rows.reshape(-1, lanes, *rows.shape[1:])
    return np.ascontiguousarray(np.moveaxis(np.moveaxis(split, 1, -1), 0, axis))


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_a_block_has_the_bits_of_single_scenes(real):
    lanes, draw = LANES[real], np.random.default_rng(0)
    scenes = 2 * lanes
    x = draw.normal(size=(scenes, 4, NODES, 2)).astype(real)
    extra = draw.normal(size=(scenes, 5)).astype(real)
    out = draw.normal(size=(scenes, NODES, 3)).astype(real)
    weight = np.array([0.7, 1.3, 2.1], real)  # shared by all scenes
    starts, list_of = np.array([0, 2, 2, 5], np.int32), np.array([4, 0, 1, 2, 3], np.int32)
    many = blocked(out, lanes)
    PROGRAM.run(
        "side_by_side", 2, 1, blocked(x, lanes, axis=1), weight, starts, list_of, blocked(extra, lanes), many,
        target="serial",
    )  # fmt: skip
    found = np.moveaxis(many, -1, 1).reshape(out.shape)
    for s in range(scenes):
        single = out[s].copy()
        PROGRAM.run("alone", 1, x[s], weight, starts, list_of, extra[s], single, target="serial")
        assert np.array_equal(single, found[s])
    assert (x[:, 1, :, 0] < 0).any()
    assert (x[:, 1, :, 0] > 0).any()


def test_what_cannot_be_stored_is_refused():
    with pytest.raises(Exception, match="two more"):
        PROGRAM.run("store_wrong", 1, 0, np.zeros((1, 2, 3, 8), np.float32), target="serial")
    with pytest.raises(Exception, match="all scenes share"):
        PROGRAM.run("store_shared", 1, np.zeros(3, np.float32), target="serial")
