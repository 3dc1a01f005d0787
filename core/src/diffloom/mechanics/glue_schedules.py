"""Text of the schedules: whole rollouts and single evaluations, forwards and backwards."""

from __future__ import annotations

from diffloom.mechanics.glue_arguments import Arguments, items


def write_schedules(at: Arguments) -> str:
    """All schedules."""
    return "\n".join([
        rollout(at), rollout_adjoint(at, with_force=False), rollout_adjoint(at, with_force=True), force(at),
        force_adjoint(at), step(at),
    ])  # fmt: skip


def launch_elements(at: Arguments, indent: str, adjoint: bool, clock: str = "clock", q: str = "q", u: str = "u") -> str:
    """Launches of all element terms, in one pass."""
    if not at.elements:
        return ""
    lines = [f"{indent}with together:"]
    for k, term in enumerate(at.elements):
        launch = "launch_lanes" if term.simd else "launch"
        arrays = items(f"T{k}", 1 + len(term.constants) + len(term.params))
        if adjoint:
            end = f", adj_f, F{k}[1], F{k}[2]{items(f'G{k}', len(term.params))}"
        else:
            end = f", F{k}[0]"
        body = f"t{k}_adjoint" if adjoint else f"t{k}_force"
        lines.append(f"{indent}    {launch}(T{k}[0].shape[0], {body}, {clock}, {q}, {u}{arrays}{end})")
    return "\n".join(lines) + "\n"


def launch_stages(at: Arguments, indent: str, adjoint: bool) -> str:
    """Launches of the node terms' stages, in order."""
    lines = []
    for k, term in enumerate(at.nodes):
        for s, _ in enumerate(term.adjoint_stages if adjoint else term.stages):
            body = f"n{k}_adjoint_stage{s}" if adjoint else f"n{k}_stage{s}"
            count = f"C{k}[{s + (len(term.stages) if adjoint else 0)}]"
            end = f", adj_f{items(f'H{k}', len(term.params))}" if adjoint else ""
            lines.append(f"{indent}launch({count}, {body}, clock, q, u{at.node_items(k)}{end})")
    return "".join(line + "\n" for line in lines)


def rollout(at: Arguments) -> str:
    """K steps from X[0], V[0]. Where X has fewer than K + 1 rows they are used in turn."""
    return (
        f"def rollout(K, k0, dt, X, V, {at.common}):\n"
        "    for j in range(K):\n"
        "        clock = (k0 + j, X.dtype.type((k0 + j) * dt), dt, 0)\n"
        "        a = j % X.shape[0]\n"
        "        b = (j + 1) % X.shape[0]\n"
        "        q = X[a]\n"
        "        u = V[a]\n"
        f"{launch_elements(at, '        ', False)}"
        f"{launch_stages(at, '        ', False)}"
        f"        launch(X.shape[1], advance, clock, q, u, X[b], V[b], S, R[0], L{at.of_nodes})\n"
    )


def rollout_adjoint(at: Arguments, with_force: bool) -> str:
    """AQ[0], AU[0] hold the cotangent of the last state; AQ[K % 2], AU[K % 2] that of the first afterwards."""
    name = "rollout_adjoint_with_force" if with_force else "rollout_adjoint"
    head = f"def {name}(K, k0, dt, X, V, frame_of, FQ, FU, AQ, AU, adj_f, {at.common}, {at.grads}):\n"
    if with_force or at.staged:
        return head + separate_steps(at, with_force)
    return head + joined_steps(at)


def separate_steps(at: Arguments, with_force: bool) -> str:
    """Backwards, each step on its own: for systems with stages or whose law needs the force."""
    forward = launch_elements(at, "        ", False) if with_force else ""
    pull = "pull_back_with_force" if with_force else "pull_back"
    return (
        "    for s in range(K):\n"
        "        j = K - 1 - s\n"
        "        a = s % 2\n"
        "        b = 1 - a\n"
        "        clock = (k0 + j, X.dtype.type((k0 + j) * dt), dt, 0)\n"
        "        q = X[j]\n"
        "        u = V[j]\n"
        f"{forward}"
        f"{launch_stages(at, '        ', False)}"
        f"        launch(X.shape[1], {pull}, clock, q, u, AQ[a], AU[a], AQ[b], AU[b], adj_f, S, R[0], L, GL"
        f"{at.of_nodes})\n"
        f"{launch_stages(at, '        ', True)}"
        f"{launch_elements(at, '        ', True)}"
        "        launch(X.shape[1], collect_frame, clock, q, u, adj_f, AQ[b], AU[b], S, R[1], R[2], j, frame_of, FQ, FU"
        f"{at.all_of_nodes})\n"
    )


def joined_steps(at: Arguments) -> str:
    """Backwards, with the node passes of neighbouring steps joined: two launches a step."""
    return (
        "    first = (k0 + K - 1, X.dtype.type((k0 + K - 1) * dt), dt, 0)\n"
        "    launch(X.shape[1], pull_back, first, X[K - 1], V[K - 1], AQ[0], AU[0], AQ[1], AU[1], adj_f, S, R[0], L, GL"
        f"{at.of_nodes})\n"
        "    for s in range(K - 1):\n"
        "        j = K - 1 - s\n"
        "        a = s % 2\n"
        "        b = 1 - a\n"
        "        clock = (k0 + j, X.dtype.type((k0 + j) * dt), dt, 0)\n"
        "        before = (k0 + j - 1, X.dtype.type((k0 + j - 1) * dt), dt, 0)\n"
        f"{launch_elements(at, '        ', True, 'clock', 'X[j]', 'V[j]')}"
        "        launch(X.shape[1], collect_and_pull, clock, X[j], V[j], before, X[j - 1], V[j - 1], adj_f, AQ[b], "
        f"AU[b], AQ[a], AU[a], S, R[0], R[1], R[2], j, frame_of, FQ, FU, L, GL{at.all_of_nodes})\n"
        "    clock = (k0, X.dtype.type(k0 * dt), dt, 0)\n"
        f"{launch_elements(at, '    ', True, 'clock', 'X[0]', 'V[0]')}"
        "    launch(X.shape[1], collect_frame, clock, X[0], V[0], adj_f, AQ[K % 2], AU[K % 2], S, R[1], R[2], 0, "
        f"frame_of, FQ, FU{at.all_of_nodes})\n"
    )


def force(at: Arguments) -> str:
    """The force at one state."""
    return (
        f"def force(k, dt, implicit, q, u, f, {at.common}):\n"
        "    clock = (k, q.dtype.type(k * dt), dt, implicit)\n"
        f"{launch_elements(at, '    ', False)}"
        f"{launch_stages(at, '    ', False)}"
        f"    launch(q.shape[0], store_force, clock, q, u, f, S, R[0]{at.of_nodes})\n"
    )


def force_adjoint(at: Arguments) -> str:
    """Its transpose, for every cotangent of a batch: AF (cotangents, nodes, du), AQ and AU zero before."""
    return (
        f"def force_adjoint(k, dt, implicit, q, u, AF, AQ, AU, {at.common}, {at.grads}):\n"
        "    clock = (k, q.dtype.type(k * dt), dt, implicit)\n"
        f"{launch_stages(at, '    ', False)}"
        "    for p in range(AF.shape[0]):\n"
        "        adj_f = AF[p]\n"
        f"{launch_stages(at, '        ', True)}"
        f"{launch_elements(at, '        ', True)}"
        f"        launch(q.shape[0], collect, clock, q, u, adj_f, AQ[p], AU[p], S, R[1], R[2]{at.all_of_nodes})\n"
    )


def step(at: Arguments) -> str:
    """The law's step under a given force, and its transpose for every cotangent of a batch."""
    return (
        "def step(k, dt, implicit, q, u, f, q_next, u_next, L):\n"
        "    clock = (k, q.dtype.type(k * dt), dt, implicit)\n"
        "    launch(q.shape[0], step_under, clock, q, u, f, q_next, u_next, L)\n"
        "def step_adjoint(k, dt, implicit, q, u, f, AQ_next, AU_next, AQ, AU, AF, L, GL):\n"
        "    clock = (k, q.dtype.type(k * dt), dt, implicit)\n"
        "    for p in range(AQ_next.shape[0]):\n"
        "        launch(q.shape[0], step_under_adjoint, clock, q, u, f, AQ_next[p], AU_next[p], AQ[p], AU[p], AF[p], "
        "L, GL)\n"
    )
