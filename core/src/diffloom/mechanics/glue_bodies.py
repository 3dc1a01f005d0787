"""Text of the bodies that run per node: gather, node terms, step, and the way back."""

from __future__ import annotations

from diffloom.mechanics.glue_arguments import Arguments, items


def write_bodies(at: Arguments) -> str:
    """All bodies."""
    return "\n".join([node_force(at), advance(at), pull_back(at), collect(at), collect_and_pull(at), single(at)])


def node_force(at: Arguments) -> str:
    """The sum of a node's slots and its node terms."""
    lines = [
        "@device",
        f"def node_force(i, clock, q, u, S, rows{at.of_nodes}):",
        f"    f = gather_{at.law.du}(i, S[0], S[1], rows)",
    ]
    for k in range(len(at.nodes)):
        lines.append(f"    f = plus_{at.law.du}(f, n{k}_force(i, clock, q, u{at.node_items(k)}))")
    return "\n".join([*lines, f"    return values_{at.law.du}(f)", ""])


def advance(at: Arguments) -> str:
    """A node's step."""
    return (
        "@device\n"
        f"def advance(i, clock, q, u, q_next, u_next, S, rows, L{at.of_nodes}):\n"
        f"    f = node_force(i, clock, q, u, S, rows{at.of_nodes})\n"
        f"    {at.law_step('f')}\n"
    )


def pull_back(at: Arguments) -> str:
    """The transpose of a node's step, with and without the true force."""
    zeros = ", ".join(["zero"] * at.law.du)
    head = "(i, clock, q, u, adj_q_next, adj_u_next, adj_q, adj_u, adj_f, S, rows, L, GL"
    return (
        "@device\n"
        f"def pull_back{head}{at.of_nodes}):\n"
        "    zero = q.dtype.type(0)\n"
        f"    {at.law_step_adjoint(f'({zeros})')}\n"
        "@device\n"
        f"def pull_back_with_force{head}{at.of_nodes}):\n"
        f"    f = node_force(i, clock, q, u, S, rows{at.of_nodes})\n"
        f"    {at.law_step_adjoint('f')}\n"
    )


def collect(at: Arguments) -> str:
    """A node's share of the force's adjoint, and the cotangent of a frame saved at this step."""
    law = at.law
    lines = [
        "@device",
        f"def collect(i, clock, q, u, adj_f, adj_q, adj_u, S, rows_q, rows_u{at.all_of_nodes}):",
        f"    a = gather_{law.dq}(i, S[0], S[1], rows_q)",
        f"    b = gather_{law.du}(i, S[0], S[1], rows_u)",
    ]
    for k, term in enumerate(at.nodes):
        grads = items(f"H{k}", len(term.params))
        lines.append(f"    c, d = n{k}_adjoint(i, clock, q, u{at.node_items(k)}, adj_f{grads})")
        lines.append(f"    a = plus_{law.dq}(a, c)")
        lines.append(f"    b = plus_{law.du}(b, d)")
    lines += [
        f"    increase_{law.dq}(adj_q, i, a)",
        f"    increase_{law.du}(adj_u, i, b)",
        "@device",
        "def inject(i, j, frame_of, FQ, FU, adj_q, adj_u):",
        "    frame = frame_of[j]",
        "    if frame >= 0:",
        *(f"        adj_q[i, {c}] += FQ[frame, i, {c}]" for c in range(law.dq)),
        *(f"        adj_u[i, {c}] += FU[frame, i, {c}]" for c in range(law.du)),
        "@device",
        "def collect_frame(i, clock, q, u, adj_f, adj_q, adj_u, S, rows_q, rows_u, j, frame_of, FQ, FU"
        f"{at.all_of_nodes}):",
        f"    collect(i, clock, q, u, adj_f, adj_q, adj_u, S, rows_q, rows_u{at.all_of_nodes})",
        "    inject(i, j, frame_of, FQ, FU, adj_q, adj_u)",
    ]
    return "\n".join([*lines, ""])


def collect_and_pull(at: Arguments) -> str:
    """The node pass between two steps backwards: the end of step j and the start of step j - 1, in one launch."""
    return (
        "@device\n"
        "def collect_and_pull(i, clock, q, u, before, q_before, u_before, adj_f, adj_q, adj_u, adj_q_before, "
        f"adj_u_before, S, rows, rows_q, rows_u, j, frame_of, FQ, FU, L, GL{at.all_of_nodes}):\n"
        "    collect_frame(i, clock, q, u, adj_f, adj_q, adj_u, S, rows_q, rows_u, j, frame_of, FQ, FU"
        f"{at.all_of_nodes})\n"
        "    pull_back(i, before, q_before, u_before, adj_q, adj_u, adj_q_before, adj_u_before, adj_f, S, rows, L, GL"
        f"{at.of_nodes})\n"
    )


def single(at: Arguments) -> str:
    """Force and step on their own, for schemes that are not compiled as a whole."""
    row = ", ".join(f"f[i, {c}]" for c in range(at.law.du))
    stores = "\n".join(f"    f[i, {c}] = g[{c}]" for c in range(at.law.du))
    return (
        "@device\n"
        f"def store_force(i, clock, q, u, f, S, rows{at.of_nodes}):\n"
        f"    g = node_force(i, clock, q, u, S, rows{at.of_nodes})\n{stores}\n"
        "@device\n"
        "def step_under(i, clock, q, u, f, q_next, u_next, L):\n"
        f"    {at.law_step(f'({row})')}\n"
        "@device\n"
        "def step_under_adjoint(i, clock, q, u, f, adj_q_next, adj_u_next, adj_q, adj_u, adj_f, L, GL):\n"
        f"    {at.law_step_adjoint(f'({row})')}\n"
    )
