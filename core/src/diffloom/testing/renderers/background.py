"""Where nothing is seen there is background."""

from __future__ import annotations

import dataclasses

import torch

from diffloom.testing.checks import Skip, check, require
from diffloom.testing.renderers.images import draw, needs, offered, precision
from diffloom.testing.scenes import FAR, SIZE, front, square
from diffloom.testing.subjects import RendererSubject


@check("background", offered)
def beside_the_body(subject: RendererSubject, output: str) -> None:
    """Far from a small square: no coverage, the far depth, no face; in its middle: covered."""
    dtype = precision(subject)
    found = draw(subject, square(2.0, 0.35, dtype), front(dtype), output).double()[0]
    corner, middle = found[0, 0], found[SIZE[0] // 2, SIZE[1] // 2]
    nothing = {"silhouette": 0.0, "depth": FAR, "face_index": -1.0}.get(output)
    if nothing is not None:
        require(
            abs(float(corner) - nothing) <= 1e-6 * FAR,
            f"{output} is {float(corner):.6g} in a corner; expected {nothing:g}",
        )
        require(abs(float(middle) - nothing) > 0.5, f"{output} is {float(middle):.6g} in the middle of the square")
    else:
        require(float(corner[3]) <= 1e-6, f"alpha is {float(corner[3]):.3g} in a corner; expected 0")
        require(float(middle[3]) >= 0.9, f"alpha is {float(middle[3]):.3g} in the middle of the square; expected 1")
        off = float((middle[:3] - torch.tensor([0.8, 0.4, 0.2], dtype=torch.float64)).abs().max())
        require(off <= 0.1, f"an unlit square of colour (0.8, 0.4, 0.2) shows {middle[:3].tolist()} in its middle")


@check("background")
def colour(subject: RendererSubject) -> None:
    """The setting ``background`` is what is seen beside the body."""
    needs(subject, "rgba")
    if not any(field.name == "background" for field in dataclasses.fields(subject.renderer)):  # type: ignore[arg-type]
        raise Skip("the renderer has no setting 'background'")
    dtype, wanted = precision(subject), (0.25, 0.5, 0.75)
    other = dataclasses.replace(subject.renderer, background=wanted)  # type: ignore[type-var]
    rgba = other.render(square(2.0, 0.35, dtype), front(dtype)).rgba
    assert rgba is not None
    off = float((rgba[0, 0, 0, :3].double() - torch.tensor(wanted, dtype=torch.float64)).abs().max())
    require(off <= 1e-6, f"with background={wanted} a corner shows {rgba[0, 0, 0, :3].tolist()}")


CHECKS = (beside_the_body, colour)
