"""Conformance checks of a loss."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_fitting.losses import Loss
from diffloom_fitting.targets import Target
from diffloom_fitting.testing.subjects import LossSubject, loss_subject
from diffloom_fitting.testing.views import target, tensors, times, view
from diffloom_testing import Check, Skip, Suite, check, require
from diffloom_testing.comparisons import (
    describe_worst,
    require_equal_copies,
    require_finite,
    require_frozen,
    require_matching_gradients,
    require_refusal,
    require_same_bits,
)

OUTPUTS = ("rgba", "silhouette", "depth", "face_index", "outline")
TOLERANCE = 1e-6
#: Difference of the view from the target: pixels, and a part of the colours.
SHIFT, TINT = 0.7, 0.06


def read_by(loss: Loss) -> tuple[str, ...]:
    """Return the names of the tensors of a view that a loss reads."""
    return tuple(name for name in loss.outputs if name != "face_index") or ("q",)


def off(loss: Loss, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return the loss of a view that differs from the target."""
    return loss.value(view(tensors(SHIFT, TINT, dtype), loss.outputs), target(dtype))


@check("interface")
def settings(subject: LossSubject) -> None:
    """The loss is a frozen dataclass that derives from Loss and needs no arguments."""
    require_frozen(subject.loss, Loss)


@check("interface")
def outputs(subject: LossSubject) -> str:
    """Outputs are a tuple of known images."""
    found = subject.loss.outputs
    right = isinstance(found, tuple) and set(found) <= set(OUTPUTS)
    require(right, f"outputs is {found!r}; expected a tuple of {', '.join(OUTPUTS)}, empty for states alone")
    return ", ".join(found) or "states"


@check("value")
def scalar(subject: LossSubject) -> str:
    """The loss is one finite number, positive where view and target differ."""
    found = off(subject.loss)
    require(found.dim() == 0, f"value has the shape {tuple(found.shape)}; expected a scalar ()")
    require_finite("value", found)
    require(float(found) > 0.0, f"view and target differ, and the loss is {float(found):g}; expected more than 0")
    return f"{float(found):.3g}"


@check("value")
def match(subject: LossSubject) -> str:
    """The loss is 0 where the view matches the target."""
    found = float(subject.loss.value(view(tensors(0.0, 0.0), subject.loss.outputs), target()))
    require(abs(found) <= 1e-12, f"view and target are the same, and the loss is {found:.3g}; expected 0")
    return f"{found:.1e}"


@check("value")
def nearer(subject: LossSubject) -> str:
    """The loss is smaller where the view is half as far off."""
    far = float(off(subject.loss))
    near = float(subject.loss.value(view(tensors(0.5 * SHIFT, 0.5 * TINT), subject.loss.outputs), target()))
    require(near < far, f"half as far off, the loss is {near:.3g} instead of {far:.3g}; expected less")
    return f"{near / far:.2f} of it"


@check("residuals")
def mean_square(subject: LossSubject) -> str:
    """The mean square of the residuals, if there are any, is the loss."""
    seen, wanted = view(tensors(SHIFT, TINT), subject.loss.outputs), target()
    found = subject.loss.residuals(seen, wanted)
    if found is None:
        raise Skip("the loss is not a mean of squares, so Gauss-Newton cannot use it")
    apart = abs(float(found.square().mean()) - float(subject.loss.value(seen, wanted)))
    require(apart <= 1e-12, f"the mean square of the residuals differs from the loss by {apart:.3g}")
    return f"{found.numel()} residuals"


def inputs(subject: LossSubject) -> tuple[str, ...]:
    """Return the names of the tensors that the loss reads."""
    return read_by(subject.loss)


@check("gradients", inputs)
def exact(subject: LossSubject, name: str) -> str:
    """The gradient by each tensor that the loss reads agrees with differences and is not zero."""
    shown = tensors(SHIFT, TINT)

    def value(**given: Tensor) -> Tensor:
        return subject.loss.value(view({**shown, **given}, subject.loss.outputs), target())

    found = require_matching_gradients(value, {name: shown[name]}, tolerance=TOLERANCE)
    require(not all(c.silent for c in found), f"the loss asks for {name} and does not depend on it")
    return describe_worst(found)


@check("frames")
def one_frame(subject: LossSubject) -> None:
    """The loss accepts one frame, because a horizon may be short."""
    shown = {name: value[:1] for name, value in tensors(SHIFT, TINT).items()}
    require_finite("the loss of one frame", subject.loss.value(view(shown, subject.loss.outputs), target().first(1)))


@check("precision")
def single_and_double(subject: LossSubject) -> str:
    """float32 agrees with float64, and stays float32."""
    double, single = off(subject.loss), off(subject.loss, torch.float32)
    require(single.dtype == torch.float32, f"a view in float32 gives a loss in {single.dtype}")
    apart = abs(float(single) - float(double)) / abs(float(double))
    require(apart <= 1e-4, f"float32 and float64 differ by {apart:.3g}, relative; allowed 1e-4")
    return f"{apart:.1e}"


@check("determinism")
def repeats(subject: LossSubject) -> None:
    """Equal views give equal bits, and view and target are not changed."""
    shown, wanted = tensors(SHIFT, TINT), target()
    first = subject.loss.value(view(shown, subject.loss.outputs), wanted)
    subject.loss.value(view(tensors(0.1, 0.0), subject.loss.outputs), wanted)
    require_same_bits("two losses of one view", first, subject.loss.value(view(shown, subject.loss.outputs), wanted))
    for name in read_by(subject.loss):
        require_same_bits(f"{name} before and after", tensors(SHIFT, TINT)[name], shown[name])
    assert wanted.frames is not None
    require_same_bits("the target before and after", tensors(0.0, 0.0)["rgba"], wanted.frames)


@check("bad_input")
def empty_target(subject: LossSubject) -> None:
    """A target without compared data is refused."""
    seen = view(tensors(SHIFT, TINT), subject.loss.outputs)
    require_refusal("a target without images, masks and states", lambda: subject.loss.value(seen, Target(times())))


@check("copying")
def pickles_and_copies(subject: LossSubject) -> None:
    """A pickled and a copied loss equal the original."""
    require_equal_copies(subject.loss)


CHECKS: tuple[Check, ...] = (
    settings,
    outputs,
    scalar,
    match,
    nearer,
    mean_square,
    exact,
    one_frame,
    single_and_double,
    repeats,
    empty_target,
    pickles_and_copies,
)

SUITE = Suite(Loss, loss_subject, CHECKS)
