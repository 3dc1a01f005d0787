"""Contact of particles with a plane, as a term that any model of particles may use."""

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
    """The parameters of plane contact under a contact law, to be listed among a model's own.

    contact: the law, by name or itself. values: defaults other than the law's own, by parameter, such as
    ``contact_stiffness=1e3``.
    """
    law = resolve_contact_law(contact)
    unknown = sorted(set(values) - set(law.names))
    if unknown:
        raise InputError(
            f"contact_specs: got {', '.join(unknown)}; the law {type(law).__name__} has {', '.join(law.names)}"
        )
    own = (replace(spec, default=values.get(spec.name, spec.default)) for spec in law.specs)
    return (
        *own,
        *law.extra_specs,
        ParamSpec("ground_height", 0.0, "m", "offset of the contact plane along its normal"),
        ParamSpec("ground_normal", (0.0, 1.0, 0.0), "", "normal of the contact plane, of any length", shape=(3,)),
    )


def normalise_normal(normal: Tensor) -> Tensor:
    """``normal`` (3,) or (n, 3) scaled to length 1, differentiable."""
    length = torch.linalg.vector_norm(normal, dim=-1, keepdim=True)
    if bool((unwrap_values(length) == 0).any()):
        raise InputError("ground_normal: got a vector of length 0; expected a direction such as (0, 1, 0)")
    return torch.as_tensor(normal / length)


def pack_contact_rows(law: ContactLaw, params: Mapping[str, Tensor], count: int) -> tuple[tuple[str, Tensor], ...]:
    """What contact kernels read: the parameters of normal and friction law, (count, parameters) each."""
    values = law.resolve(params)
    missing = [name for name in law.names if values.get(name) is None]
    if missing:
        raise InputError(
            f"contact: the law {type(law).__name__} needs {', '.join(missing)}; got {', '.join(sorted(params))}"
        )

    def rows(specs: tuple[ParamSpec, ...]) -> Tensor:
        return torch.stack([column(values[spec.name]) for spec in specs], dim=1)

    def column(value: Tensor) -> Tensor:
        """One for all needs no memory of its own on the way, unless its gradient is to be summed in order."""
        return value.expand(count) if value.dim() == 0 and not needs_gradient(value) else broadcast(value, (count,))

    return (("contact", rows(law.normal_specs)), ("friction", rows(law.friction.specs)))


def ground(
    params: Mapping[str, Tensor], count: int, name: str = "ground", *, contact: object = DEFAULT_LAW
) -> NodeTerm:
    """Plane contact of ``count`` particles, with the parameters that ``make_contact_specs`` declares for the same law.

    Each parameter is one for all or one per particle. The ground is where n.x < ground_height.
    """
    from diffloom_mechanics.contact.point_kernels import ground_contact

    law = resolve_contact_law(contact)
    force, adjoint = ground_contact(law.normal(), law.friction.functions())
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
