"""Checks of gradients through impacts: the adjoint against the effect of a change of two per cent."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, ImpactSettings, Params, Trajectory
from diffloom_testing.results import Failure, Skip, check, require
from diffloom_testing.subjects import ModelSubject
from diffloom_testing.wide_differences import COSINE, RATIO, compare_wide

#: Smallest number of impacts in a meaningful comparison.
LEAST = 5
#: Frames of the comparison, and frames in which impacts are counted.
FRAMES, COUNTED = 40, 400
#: Factor of the parameters of the target motion.
AIM = 1.1


def require_impact_settings(subject: ModelSubject) -> ImpactSettings:
    """Return the settings; raise Skip for models without contact."""
    settings = subject.settings.impacts
    if settings is None:
        raise Skip("example_settings.impacts gives no rollout with impacts: the model claims no contact")
    return settings


def count_impacts(subject: ModelSubject, params: Params, path: Trajectory) -> int:
    """Count, frame by frame, how often a free node comes into contact with the ground."""
    far = params.replace(ground_height=torch.full_like(params["ground_height"], -1e6))
    here, away = (subject.model.dynamics(each, Control()) for each in (params, far))
    touching = torch.stack(
        [(here.force(q, u) != away.force(q, u)).any(dim=-1) for q, u in zip(path.q, path.u, strict=True)]  # type: ignore[attr-defined]
    )
    return int((touching[1:] & ~touching[:-1]).sum())


def run_impacts(subject: ModelSubject, frames: int, **given: object) -> tuple[Params, Trajectory]:
    """Run the rollout of the settings with some parameters replaced, and save about ``frames`` frames."""
    settings = require_impact_settings(subject)
    params = subject.params(**{**settings.values, **given})
    every = max(1, settings.steps // frames)
    path = simulate(
        subject.model, params, dt=settings.dt, steps=settings.steps, save_every=every, integrator=subject.integrator
    )
    return params, path


@check("impacts")
def wide(subject: ModelSubject) -> str:
    """The adjoint agrees with differences of +-2 % over a rollout with at least five impacts."""
    base = subject.params(**require_impact_settings(subject).values)
    values = {name: base[name].detach() for name in require_impact_settings(subject).parameters}
    with torch.no_grad():
        impacts = count_impacts(subject, *run_impacts(subject, COUNTED))
        aim = run_impacts(subject, FRAMES, **{name: AIM * value for name, value in values.items()})[1].q
    require(
        impacts >= LEAST, f"the rollout of example_settings.impacts has {impacts} impacts; expected {LEAST} or more"
    )

    def loss(**given: Tensor) -> Tensor:
        """Return the mean square distance from the target motion."""
        return (run_impacts(subject, FRAMES, **given)[1].q - aim).square().mean()

    found = compare_wide(loss, values)
    if not found.agrees():
        raise Failure(
            f"{found} through {impacts} impacts; expected a cosine of {COSINE:g} and a ratio within {RATIO:g}: the "
            "contact force jumps where touch begins, or the rollout is chaotic"
        )
    return f"{found}, {impacts} impacts"


CHECKS = (wide,)
