"""Values lie where they must."""

from __future__ import annotations

from diffloom.testing.checks import Skip, check, require
from diffloom.testing.comparing import finite
from diffloom.testing.renderers.images import draw, needs, offered, precision
from diffloom.testing.scenes import FAR, NEAR, camera, gem, lamps, lit
from diffloom.testing.subjects import RendererSubject

#: Rounding beyond an end.
SLACK = 1e-6


@check("range", offered)
def bounds(subject: RendererSubject, output: str) -> str:
    """Colours and coverage in 0..1, depth between near and far, face numbers from -1 to the last face."""
    dtype = precision(subject)
    surface = gem(2, dtype)
    found = finite(output, draw(subject, surface, camera(dtype), output).double())
    ends = {"depth": (NEAR, FAR), "face_index": (-1.0, len(surface.faces) - 1.0)}.get(output, (0.0, 1.0))
    low, high = float(found.min()), float(found.max())
    right = ends[0] - SLACK <= low and high <= ends[1] + SLACK * max(1.0, ends[1])
    require(right, f"{output} runs from {low:.6g} to {high:.6g}; expected {ends[0]:g} to {ends[1]:g}")
    require(low < high, f"{output} is {low:.6g} everywhere, though a body stands before a background")
    return f"{low:.3g} to {high:.3g}"


@check("range")
def alpha(subject: RendererSubject) -> None:
    """rgba's last channel is the silhouette."""
    needs(subject, "rgba")
    needs(subject, "silhouette")
    dtype = precision(subject)
    image = subject.renderer.render(gem(1, dtype), camera(dtype), outputs=("rgba", "silhouette"))
    assert image.rgba is not None
    assert image.silhouette is not None
    off = float((image.rgba[..., 3] - image.silhouette).abs().max())
    require(off <= SLACK, f"rgba's alpha and the silhouette differ by {off:.3g}")


def shadings(subject: RendererSubject) -> tuple[str, ...]:
    """The claimed shadings that answer light."""
    return tuple(sorted(subject.renderer.capabilities.shadings - {"unlit"})) or ("none",)


@check("range", shadings)
def light(subject: RendererSubject, shading: str) -> None:
    """Lit surfaces are finite, not negative, and darker in the dark."""
    needs(subject, "rgba")
    if shading == "none":
        raise Skip("the renderer claims no shading but 'unlit'")
    dtype = precision(subject)
    bright = draw(subject, lit(gem(1, dtype), shading), camera(dtype), "rgba", lamps(dtype))[..., :3]
    dark = draw(subject, lit(gem(1, dtype), shading), camera(dtype), "rgba", lamps(dtype)[:1])[..., :3]
    finite("a lit image", bright)
    require(float(bright.min()) >= -SLACK, f"a lit image has the colour {float(bright.min()):.3g}")
    require(float(dark.sum()) < float(bright.sum()), "putting two lamps out does not make the image darker")


CHECKS = (bounds, alpha, light)
