"""Loss on part of the image."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.kinds import get_loss
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.validation import check_instance, check_numbers


@dataclass(frozen=True)
class RegionLoss(Loss):
    """Another loss on a rectangle of the image.

    Args:
        box: Left, top, right and bottom, as parts 0..1 of the image's width and height.
        of: A loss, or the registered name of one.
    """

    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    of: Loss | str = "mse"

    def __post_init__(self) -> None:
        super().__post_init__()
        box = check_numbers("region.box", self.box, 4)
        left, top, right, bottom = box
        if not (0.0 <= left < right <= 1.0 and 0.0 <= top < bottom <= 1.0):
            raise InputError(
                f"region: got {list(box)}; expected left < right and top < bottom, as parts 0..1 of the image"
            )
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "of", check_instance("region.of", self.of, Loss, get_loss))  # type: ignore[type-abstract]

    @property
    def inner(self) -> Loss:
        """The loss that is applied."""
        assert isinstance(self.of, Loss)
        return self.of

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.inner.outputs

    def residuals(self, view: View, target: Target) -> Tensor | None:
        return self.inner.residuals(*self._cut(view, target))

    def value(self, view: View, target: Target) -> Tensor:
        return self.inner.value(*self._cut(view, target))

    def _cut(self, view: View, target: Target) -> tuple[View, Target]:
        image, size = view.image, target.size
        if image is None or size is None:
            return view, target
        left, top, right, bottom = self.box
        rows = slice(int(top * size[0]), max(int(top * size[0]) + 1, round(bottom * size[0])))
        columns = slice(int(left * size[1]), max(int(left * size[1]) + 1, round(right * size[1])))

        def cut(value: Tensor | None) -> Tensor | None:
            return None if value is None else value[:, rows, columns]

        image = replace(image, rgba=cut(image.rgba), silhouette=cut(image.silhouette), depth=cut(image.depth))
        return replace(view, image=image), replace(target, frames=cut(target.frames), masks=cut(target.masks))
