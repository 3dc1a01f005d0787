"""Contact of particles with a plane, as a term for any model of particles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError, ParamSpec
from diffloom.transforms import needs_gradient, unwrap_values
from diffloom_mechanics.contact.law import DEFAULT_LAW, ContactLaw, resolve_contact_law
from diffloom_mechanics.terms import NodeTerm


def make_contact_specs(contact: object = DEFAULT_LAW, **values: float) -> tuple[ParamSpec, ...]:
    """Return the parameters of plane contact, for the specs of a model.

    Args:
        contact: Contact law, its name, or a table.
        values: Defaults that differ from those of the law, such as ``contact_stiffness=1e3``.

    Returns:
        The specs.

    Raises:
        InputError: The law has no parameter of a name in ``values``.
    """
    law = resolve_contact_law(contact)
    unknown = sorted(set(values) - set(law.names))
    if unknown:
        raise InputError(
            f"make_contact_specs: got {', '.join(unknown)}; expected parameters of the law {type(law).__name__}: "
            f"{', '.join(law.names)}"
        )
    own = (replace(spec, default=values.get(spec.name, spec.default)) for spec in law.specs)
    return (
        *own,
        *law.extra_specs,
        ParamSpec("ground_height", 0.0, "m", "offset of the contact plane along its normal"),
        ParamSpec("ground_normal", (0.0, 1.0, 0.0), "", "normal of the contact plane, of any length", shape=(3,)),
    )


def normalise_normal(normal: Tensor) -> Tensor:
    """Return normals scaled to length 1, differentiable.

    Args:
        normal: Normals (3,) or (n, 3) of any length but 0.

    Returns:
        Unit normals of the same shape.

    Raises:
        InputError: A normal has the length 0.
    """
    length = torch.linalg.vector_norm(normal, dim=-1, keepdim=True)
    if bool((unwrap_values(length) == 0).any()):
        raise InputError("ground_normal: got a vector of length 0; expected a direction such as (0, 1, 0)")
    return torch.as_tensor(normal / length)


def pack_contact_rows(law: ContactLaw, params: Mapping[str, Tensor], count: int) -> tuple[tuple[str, Tensor], ...]:
    """Return the parameters of a contact law as rows for contact kernels.

    Args:
        law: The contact law.
        params: Parameters by name, scalar or (count,).
        count: Number of nodes.

    Returns:
        ("contact", (count, normal parameters)) and ("friction", (count, friction parameters)).

    Raises:
        InputError: A parameter is missing.
    """
    values = law.resolve(params)
    missing = [name for name in law.names if values.get(name) is None]
    if missing:
        raise InputError(
            f"contact: the law {type(law).__name__} needs {', '.join(missing)}; got {', '.join(sorted(params))}"
        )

    def rows(specs: tuple[ParamSpec, ...]) -> Tensor:
        return torch.stack([column(values[spec.name]) for spec in specs], dim=1)

    def column(value: Tensor) -> Tensor:
        """Return one parameter as (count,). A scalar needs no memory, unless its gradient is to be summed in order."""
        return value.expand(count) if value.dim() == 0 and not needs_gradient(value) else broadcast(value, (count,))

    return (("contact", rows(law.normal_specs)), ("friction", rows(law.friction.specs)))


def ground(
    params: Mapping[str, Tensor], count: int, name: str = "ground", *, contact: object = DEFAULT_LAW
) -> NodeTerm:
    """Return the contact of particles with the plane n.x = ground_height.

    Args:
        params: Parameters that ``make_contact_specs`` declares for the law, scalar or one per particle.
        count: Number of particles.
        name: Name of the term.
        contact: Contact law, its name, or a table.

    Returns:
        The force term.

    Example:
        ``Mechanics(nodes, (ground(params, count),))``
    """
    from diffloom_mechanics.contact.point_kernels import ground_contact

    law = resolve_contact_law(contact)
    force, adjoint = ground_contact(*law.device_functions())
    return NodeTerm(
        name,
        force=force,
        adjoint=adjoint,
        params=(
            ("ground_normal", broadcast(normalise_normal(params["ground_normal"]), (count, 3))),
            ("ground_height", broadcast(params["ground_height"], (count,))),
            *pack_contact_rows(law, params, count),
        ),
    )
