"""Pipelines that all schemes use: all forces at a state, and their transpose."""

from diffloom_kernels import generic, independent, launch, launch_runs, static
from diffloom_mechanics.node_kernels import (
    adjoint_stage,
    element_adjoint,
    element_force,
    node_force,
    plus,
    run_on_scene,
    run_on_scene_adjoint,
    stage,
    state_cotangent,
    store,
    values,
)
from diffloom_mechanics.records import SceneTermRecord, StateCotangents


def element_forces(clock, q, u, system):
    """Run all element terms in one pass. q, u: state of each node set. Elements are padded to whole lane runs."""
    with independent:
        for term in static(system.elements):
            if static(term.lanes):
                launch_runs(term.size, element_force, clock, q, u, term)
            else:
                launch(term.size, element_force, clock, q, u, term)


def node_stages(clock, q, u, system):
    """Run the stages of node terms, before the nodes gather."""
    for nodes in static(system.sets):
        for term in static(nodes.terms):
            for part in static(term.stages):
                if static(isinstance(term, SceneTermRecord)):
                    launch(part.size, run_on_scene, clock, q, u, nodes, term, part.each, part.body)
                else:
                    launch(part.size, stage, clock, q, u, nodes, term, part.body)


def force_adjoints(clock, q, u, adj, system, grads):
    """Transpose of all forces up to the node pass: elements write rows for their nodes."""
    for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
        for term, grad in static(zip(nodes.terms, own.terms, strict=True)):
            for part in static(term.adjoint_stages):
                if static(isinstance(term, SceneTermRecord)):
                    launch(part.size, run_on_scene_adjoint, clock, q, u, adj, nodes, term, grad, part.each, part.body)
                else:
                    launch(part.size, adjoint_stage, clock, q, u, adj, nodes, term, grad, part.body)
    with independent:
        for element, grad in static(zip(system.elements, grads.elements, strict=True)):
            if static(element.lanes):
                launch_runs(element.size, element_adjoint, clock, q, u, adj, element, grad)
            else:
                launch(element.size, element_adjoint, clock, q, u, adj, element, grad)


@generic
def store_force(i, clock, q, u, out, nodes):
    """Store the force on node i."""
    store(out, i, node_force(i, clock, q, u, nodes), nodes.kind.du)


@generic
def store_cotangent(i, clock, q, u, adj, nodes, grads):
    """Add the cotangent of node i's state."""
    a, b = state_cotangent(i, clock, q, u, adj, nodes, grads)
    own = static(nodes.number)
    store(adj.q[own], i, plus(values(adj.q[own], i, nodes.kind.dq), a, nodes.kind.dq), nodes.kind.dq)
    store(adj.u[own], i, plus(values(adj.u[own], i, nodes.kind.du), b, nodes.kind.du), nodes.kind.du)


def force(clock, q, u, out, system):
    """Compute the force on every node at one state."""
    element_forces(clock, q, u, system)
    node_stages(clock, q, u, system)
    with independent:
        for n, nodes in static(enumerate(system.sets)):
            launch(nodes.size, store_force, clock, q, u, out[n], nodes)


def force_adjoint(clock, q, u, many, system, grads):
    """Transpose of force for a batch of cotangents: many.f (cotangents, nodes, du); many.q and many.u are added to."""
    node_stages(clock, q, u, system)
    for p in range(many.f[0].shape[0]):
        adj = StateCotangents(
            tuple(a[p] for a in static(many.q)),
            tuple(a[p] for a in static(many.u)),
            tuple(a[p] for a in static(many.f)),
        )
        force_adjoints(clock, q, u, adj, system, grads)
        with independent:
            for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
                launch(nodes.size, store_cotangent, clock, q, u, adj, nodes, own)
