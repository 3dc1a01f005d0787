"""Rollouts of many small scenes, one per SIMD lane: splitting schemes over whole segments, forwards and backwards.

A block of scenes goes through all steps before the next block begins, so that its memory stays in the cache, and
threads never wait for each other. A node is treated as in split_kernels, bit for bit; ``scene_node`` puts the block in
place of the node's number.
"""

from diffloom_kernels import generic, launch, scene_node, static
from diffloom_mechanics.records import Clock
from diffloom_mechanics.split_kernels import collect, inject, move_node, move_node_adjoint


@generic
def block_move(b, clock, move, q, u, q_next, u_next, system):
    """Move all nodes of a block."""
    for n, nodes in static(enumerate(system.sets)):
        for k in range(nodes.size):
            move_node(scene_node(b, k), clock, move, q, u, q_next[n], u_next[n], nodes)


@generic
def block_move_adjoint(b, clock, move, q, u, adj, system, grads):
    """Transpose of block_move."""
    for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
        for k in range(nodes.size):
            move_node_adjoint(scene_node(b, k), clock, move, q, u, adj, nodes, own)
    if static(move.kicks):
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            for k in range(nodes.size):
                collect(scene_node(b, k), clock, q, u, adj, nodes, own)


@generic
def block_rollout(b, steps, scheme, states, between, system):
    """Run a block of scenes from the first of ``states``, as split_rollout runs one scene."""
    after = 0
    for j in range(steps.length):
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        before = after
        after = before + 1 if before + 1 < states.q[0].shape[0] else 0
        for m, move in static(enumerate(scheme)):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == 0):
                q = tuple(x[before] for x in static(states.q))
                u = tuple(x[before] for x in static(states.u))
            else:
                q = between[static(m - 1)].q
                u = between[static(m - 1)].u
            if static(m == len(scheme) - 1):
                q_next = tuple(x[after] for x in static(states.q))
                u_next = tuple(x[after] for x in static(states.u))
            else:
                q_next = between[m].q
                u_next = between[m].u
            block_move(b, clock, move, q, u, q_next, u_next, system)


@generic
def block_rollout_adjoint(b, steps, scheme, states, between, frames, adj, system, grads):
    """Transpose of block_rollout, as split_rollout_adjoint for one scene."""
    for s in range(steps.length):
        j = steps.length - 1 - s
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        q_start = tuple(x[j] for x in static(states.q))
        u_start = tuple(x[j] for x in static(states.u))
        for m, move in static(enumerate(scheme)):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == len(scheme) - 1):
                pass  # its end is the next state
            elif static(m == 0):
                block_move(b, clock, move, q_start, u_start, between[0].q, between[0].u, system)
            else:
                here = between[static(m - 1)]
                block_move(b, clock, move, here.q, here.u, between[m].q, between[m].u, system)
        for m, move in static(reversed(tuple(enumerate(scheme)))):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == 0):
                block_move_adjoint(b, clock, move, q_start, u_start, adj, system, grads)
            else:
                here = between[static(m - 1)]
                block_move_adjoint(b, clock, move, here.q, here.u, adj, system, grads)
        for nodes in static(system.sets):
            for k in range(nodes.size):
                inject(scene_node(b, k), j, frames, adj, nodes)


def lanes_rollout(blocks, steps, scheme, states, between, system):
    """Run blocks of scenes by split_rollout."""
    launch(blocks, block_rollout, steps, scheme, states, between, system)


def lanes_rollout_adjoint(blocks, steps, scheme, states, between, frames, adj, system, grads):
    """Transpose of lanes_rollout."""
    launch(blocks, block_rollout_adjoint, steps, scheme, states, between, frames, adj, system, grads)
