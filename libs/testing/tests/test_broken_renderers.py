"""Deliberately broken renderers: each is caught by the check meant for it, and the sound original passes all.

The original is the renderer that ``diffloom plugins new render`` writes.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.interfaces import Capabilities, Image, Material, Renderer, Surface
from diffloom_testing import CheckOutcome
from diffloom_testing.renderers.areas import project_to_image, supersample
from diffloom_testing.subjects import renderer_subject
from diffloom_testing.suites import run_suite

SOUND: dict[str, Any] = {}


@pytest.fixture(scope="module", autouse=True)
def _sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    result = CliRunner().invoke(diffloom, ["plugins", "new", "render", "sound", "--into", str(folder)])
    assert result.exit_code == 0, result.output
    sys.path.insert(0, str(folder / "diffloom-render-sound" / "src"))
    try:
        SOUND["class"] = importlib.import_module("diffloom_render_sound.renderer").SoundRenderer
        yield
    finally:
        del sys.path[0]
        for name in [name for name in sys.modules if name.startswith("diffloom_render_sound")]:
            del sys.modules[name]


@dataclass(frozen=True)
class Wrapped(Renderer):
    """The sound renderer; broken ones change what goes in or comes out."""

    background: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def sound(self) -> Renderer:
        return SOUND["class"](background=self.background)

    @property
    def capabilities(self) -> Capabilities:
        return self.sound.capabilities

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        return self.sound.render(surface, camera, lights, outputs)


def changed(change):
    """Return a renderer class that applies ``change(tensor)`` to each output."""

    @dataclass(frozen=True)
    class Changed(Wrapped):
        def render(self, surface, camera, lights=(), outputs=("rgba",)):
            image = super().render(surface, camera, lights, outputs)
            found = {name: getattr(image, name) for name in ("rgba", "silhouette")}
            return Image(**{name: change(value) for name, value in found.items() if value is not None})

    return Changed


def given(change):
    """Return a renderer class that applies ``change(surface, camera)`` to its input."""

    @dataclass(frozen=True)
    class Given(Wrapped):
        def render(self, surface, camera, lights=(), outputs=("rgba",)):
            return super().render(*change(surface, camera), lights, outputs)

    return Given


class Negated(torch.autograd.Function):
    """The identity with an adjoint of the wrong sign."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, adj):
        return -adj


@dataclass(frozen=True)
class Generous(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        return super().render(surface, camera, lights, ("rgba", "silhouette"))


@dataclass(frozen=True)
class TwoAlphas(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        image = super().render(surface, camera, lights, outputs)
        return image if image.silhouette is None else replace(image, silhouette=image.silhouette.square())


@dataclass(frozen=True)
class InTheDark(Wrapped):
    """Claims light, and never looks at it."""

    @property
    def capabilities(self):
        return replace(super().capabilities, shadings=frozenset({"unlit", "lambert"}))

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        plain = Surface(surface.vertices, surface.faces, colours=surface.colours)
        return super().render(plain, camera, lights, outputs)


@dataclass(frozen=True)
class OneBackground(Wrapped):
    @property
    def sound(self):
        return SOUND["class"]()


@dataclass(frozen=True)
class NoDepth(Wrapped):
    """Claims depth, and gives the far one everywhere."""

    @property
    def capabilities(self):
        found = super().capabilities
        return replace(found, outputs=found.outputs | {"depth"})

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        inner = [name for name in outputs if name != "depth"] or ["silhouette"]
        image = super().render(surface, camera, lights, inner)
        found = {name: getattr(image, name) for name in inner if name in outputs}
        shape = next(t for t in (image.rgba, image.silhouette) if t is not None).shape[:3]
        return Image(**found, depth=torch.full(shape, camera.far, dtype=camera.dtype) if "depth" in outputs else None)


@dataclass(frozen=True)
class FarFirst(Wrapped):
    """The farther hides the nearer."""

    @property
    def sound(self):
        class Inverted(SOUND["class"]):
            def __post_init__(self):
                pass

        return Inverted(background=self.background, softness=-0.02)


@dataclass(frozen=True)
class FirstFrameOnly(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        still = replace(surface, vertices=surface.vertices[:1].expand_as(surface.vertices))
        return super().render(still, camera, lights, outputs)


@dataclass(frozen=True)
class SingleOnly(Wrapped):
    """Says float32 and draws float64 all the same."""

    @property
    def capabilities(self):
        return replace(super().capabilities, dtypes=frozenset({torch.float32}))


@dataclass(frozen=True)
class FragileToEmptiness(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        int(surface.faces[0, 0])
        return super().render(surface, camera, lights, outputs)


@dataclass(frozen=True)
class Lenient(Wrapped):
    """Renderer that corrects invalid input instead of refusing it."""

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        known = tuple(name for name in outputs if name in self.capabilities.outputs) or ("rgba",)
        kind = surface.vertices.dtype
        frames = len(surface)
        view = replace(
            camera,
            rotation=camera.rotation.to(kind),
            eye=(camera.eye[:1] if camera.eye.dim() == 2 and len(camera.eye) != frames else camera.eye).to(kind),
            focal=camera.focal.to(kind),
            centre=camera.centre.to(kind),
        )
        whole = Surface(torch.nan_to_num(surface.vertices), surface.faces, colours=surface.colours)
        return super().render(whole, view, lights, known)


MEMORY: dict[str, Any] = {}


@dataclass(frozen=True)
class AfterImage(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        image = super().render(surface, camera, lights, outputs)
        name = outputs[0]
        found, last = getattr(image, name), MEMORY.get(name)
        MEMORY[name] = found.detach()
        if last is None or last.shape != found.shape or last.dtype != found.dtype:
            return image
        return replace(image, **{name: 0.99 * found + 0.01 * last})


@dataclass(frozen=True)
class Shrinking(Wrapped):
    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        image = super().render(surface, camera, lights, outputs)
        with torch.no_grad():
            if not surface.vertices.requires_grad:
                surface.vertices.mul_(0.99)
        return image


@dataclass(frozen=True)
class Unpicklable(Wrapped):
    def __reduce__(self):
        raise TypeError("this renderer stays here")


@dataclass
class NotFrozen(Renderer):
    background: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def capabilities(self):
        return Wrapped().capabilities

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        return Wrapped(self.background).render(surface, camera, lights, outputs)


@dataclass(frozen=True)
class ClaimsTooMuch(Wrapped):
    @property
    def capabilities(self):
        found = super().capabilities
        return replace(found, gradients=found.gradients | {"taste"})


def nan_for_flat_faces(surface, camera):
    corners = surface.vertices[:, surface.faces]
    normal = torch.linalg.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    return replace(surface, vertices=surface.vertices * (1.0 + 0.0 * (1.0 / normal.norm(dim=-1)).sum())), camera


def nan_gradient_for_flat_faces(surface, camera):
    """The norm's gradient at zero done by hand: 0 / 0."""
    corners = surface.vertices[:, surface.faces]
    normal = torch.linalg.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    length = torch.sqrt(normal.square().sum(dim=-1))
    return replace(surface, vertices=surface.vertices + 0.0 * length.sum()), camera


def mirrored_behind(surface, camera):
    """A projection that forgets on which side of the camera a point is."""
    way = surface.vertices - camera.eye
    side = torch.sign((way @ camera.rotation.transpose(-1, -2))[..., 2:])
    return replace(surface, vertices=camera.eye - side * way), camera


def flat_colours(surface, camera):
    if surface.colours is None or surface.colours.dim() == 1:
        return surface, camera
    return replace(surface, colours=surface.colours[surface.faces[:, 0]], colour_per="face"), camera


def without_last_face(surface, camera):
    colours = surface.colours
    return Surface(surface.vertices, surface.faces[:-1], colours=colours), camera


def coarse(image):
    return (64.0 * image).round() / 64.0 if image.dtype == torch.float32 else image


def first_colours(surface, camera):
    """One frame's colours for all."""
    colours = surface.colours
    if colours is None or colours.dim() < 3:
        return surface, camera
    frames = max(len(surface), 1)
    return replace(
        surface, vertices=surface.vertices.expand(frames, -1, -1), colours=colours[:1].expand(frames, -1, -1)
    ), camera


def mixed_colours(surface, camera):
    """Images of the right colours, whose gradient reaches every frame."""
    colours = surface.colours
    if colours is None or colours.dim() < 3:
        return surface, camera
    return replace(surface, colours=colours + (colours.mean(0) - colours.mean(0).detach())), camera


def halved_colours(surface, camera):
    """Half of the gradient where colours change over time."""
    colours = surface.colours
    if colours is None or colours.dim() < 3:
        return surface, camera
    return replace(surface, colours=0.5 * colours + 0.5 * colours.detach()), camera


def tinted_colours(surface, camera):
    """Another colour where colours change over time."""
    colours = surface.colours
    if colours is None or colours.dim() < 3:
        return surface, camera
    return replace(surface, colours=0.999 * colours), camera


@dataclass(frozen=True)
class Unclaimed(Wrapped):
    """Does not claim colours that change, and draws the first frame's."""

    @property
    def capabilities(self):
        return replace(super().capabilities, per_frame=frozenset())

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        return super().render(*first_colours(surface, camera), lights, outputs)


@dataclass(frozen=True)
class Glowing(Wrapped):
    """Draws several materials, of which the ambient factor alone counts."""

    @property
    def capabilities(self):
        shadings = frozenset({"unlit", "lambert"})
        return replace(super().capabilities, materials=True, shadings=shadings)

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        factors = torch.tensor([1.0 if m.shading == "unlit" else float(m.ambient) for m in surface.materials])
        index = getattr(surface.material, "index", torch.zeros(len(surface.faces), dtype=torch.int64))
        of_vertex = torch.ones(surface.vertices.shape[1], 1, dtype=surface.vertices.dtype)
        of_vertex[surface.faces.flatten(), 0] = factors.to(of_vertex)[index].repeat_interleave(3)
        if surface.colours is not None:
            surface = replace(surface, colours=surface.colours * of_vertex)
        return super().render(replace(surface, material=Material()), camera, lights, outputs)


def glowing(change):
    """Return a renderer class that changes surfaces before it draws them."""

    @dataclass(frozen=True)
    class Changed(Glowing):
        def render(self, surface, camera, lights=(), outputs=("rgba",)):
            return super().render(change(surface), camera, lights, outputs)

    return Changed


def first_material(surface):
    """One face's material for all."""
    return replace(surface, material=surface.materials[0])


def tinted_numbers(surface):
    """Another colour where faces have materials of their own."""
    return surface if isinstance(surface.material, Material) else replace(surface, colours=0.999 * surface.colours)


@dataclass(frozen=True)
class OneMaterial(Wrapped):
    """Does not claim several materials, and draws the first for all."""

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        return super().render(first_material(surface), camera, lights, outputs)


class Stepped(torch.autograd.Function):
    """Silhouettes without gradients made to have that of another image."""

    @staticmethod
    def forward(ctx, value, slope):
        return value.clone()

    @staticmethod
    def backward(ctx, adj):
        return None, adj


@dataclass(frozen=True)
class Fine(Renderer):
    """Draws by dense sampling, so without bias; gradients are those of a square across the axis alone."""

    unbiased = True
    factor: float = 1.0

    @property
    def capabilities(self):
        return Capabilities(frozenset({"rgba", "silhouette"}), frozenset({"vertices"}), frozenset({torch.float64}))

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        colours = torch.ones_like(surface.vertices[0]) if surface.colours is None else surface.colours
        with torch.no_grad():
            samples = 64 if camera.height <= 20 else max(2, 500 // camera.height)
            rgba = supersample(replace(surface, colours=colours), camera, samples)[None]
        alpha = Stepped.apply(rgba[..., 3], self.coverage(surface, camera))
        return Image(rgba=rgba if "rgba" in outputs else None, silhouette=alpha if "silhouette" in outputs else None)

    def coverage(self, surface, camera):
        """Return the coverage of the box around the surface's vertices."""
        x, y, _ = project_to_image(surface.vertices[0], camera).unbind(-1)
        sides = []
        for places, size in ((x, camera.width), (y, camera.height)):
            edges = torch.arange(size + 1, dtype=places.dtype)
            sides.append((edges.clamp(places.min(), places.max())).diff())
        return self.factor * (sides[1][:, None] * sides[0])[None]


@dataclass(frozen=True)
class Widened(Fine):
    """Outlines a pixel too wide."""

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        image = super().render(surface, camera, lights, outputs)
        if image.silhouette is None:
            return image
        return replace(image, silhouette=torch.nn.functional.max_pool2d(image.silhouette, 3, 1, 1))


def fine(change):
    """The dense sampling of a surface that is changed before."""

    @dataclass(frozen=True)
    class Changed(Fine):
        def render(self, surface, camera, lights=(), outputs=("rgba",)):
            return super().render(change(surface), camera, lights, outputs)

    return Changed


def grown(surface):
    """A surface one percent too large."""
    return replace(surface, vertices=1.01 * surface.vertices)


def one_sided(surface):
    """Return the surface without the faces that are turned away from z, so that its far side is visible."""
    a, b, c = surface.vertices[0, surface.faces].unbind(1)
    return replace(surface, faces=surface.faces[torch.linalg.cross(b - a, c - a)[:, 2] < 0.0])


def faceted(surface):
    """Fine faces grow at their seams."""
    return grown(surface) if len(surface.faces) > 100 else surface


@dataclass(frozen=True)
class Slow(Fine):
    """A gradient two percent too small."""

    factor: float = 0.98


BROKEN = {
    "an outline a pixel too wide": (Widened, "areas.sphere[4.4]"),
    "a sphere one percent too large": (fine(grown), "areas.sphere[17]"),
    "a box one percent too large": (fine(grown), "areas.box"),
    "a torus one percent too large": (fine(grown), "areas.torus"),
    "the far side drawn in front": (fine(one_sided), "areas.supersampled[gem]"),
    "seams between fine faces": (fine(faceted), "areas.tessellation"),
    "a slope by size that is too small": (Slow, "areas.slope[size]"),
    "a slope by place that is too small": (Slow, "areas.slope[place]"),
    "a slope by depth that is too small": (Slow, "areas.slope[depth]"),
    "rows and columns swapped": (changed(lambda t: t.transpose(1, 2)), "shapes.shape[rgba]"),
    "more than was asked for": (Generous, "shapes.only_what_was_asked"),
    "colours above one": (changed(lambda t: 1.3 * t), "range.bounds[rgba]"),
    "alpha and silhouette apart": (TwoAlphas, "range.alpha"),
    "light that changes nothing": (InTheDark, "range.light[lambert]"),
    "a veil over the background": (changed(lambda t: t + 0.01 * (1.0 - t)), "background.beside_the_body[silhouette]"),
    "a background of its own": (OneBackground, "background.colour"),
    "upside down": (changed(lambda t: t.flip(1)), "placement.where"),
    "half an image to the side": (changed(lambda t: t.roll(3, 2)), "placement.where"),
    "depth that is none": (NoDepth, "placement.depth"),
    "far things in front": (FarFirst, "placement.hiding"),
    "the last face forgotten": (given(without_last_face), "face_order.faces[rgba]"),
    "one corner's colour for the face": (given(flat_colours), "face_order.vertices[rgba]"),
    "wrong sign in the adjoint of vertices": (
        given(lambda s, c: (replace(s, vertices=Negated.apply(s.vertices)), c)),
        "gradients.exact[rgba by vertices]",
    ),
    "missing gradient of colours": (
        given(lambda s, c: (replace(s, colours=None if s.colours is None else s.colours.detach()), c)),
        "gradients.exact[rgba by colours]",
    ),
    "missing gradient of the camera": (
        given(lambda s, c: (s, replace(c, focal=c.focal.detach()))),
        "gradients.exact[silhouette by focal]",
    ),
    "a gradient half as large": (
        changed(lambda t: 0.5 * t + 0.5 * t.detach()),
        "gradients.exact[silhouette by vertices]",
    ),
    "the first frame in all": (FirstFrameOnly, "batch.one_by_one[rgba]"),
    "the first camera for all": (
        given(lambda s, c: (s, replace(c, eye=c.eye[0] if c.eye.dim() == 2 else c.eye))),
        "batch.a_camera_per_frame[rgba]",
    ),
    "one frame's colours for all": (given(first_colours), "per_frame.own_frames[colours per vertex]"),
    "a gradient to other frames": (given(mixed_colours), "per_frame.own_frames[colours per face]"),
    "half a gradient of moving colours": (given(halved_colours), "per_frame.exact[colours per vertex]"),
    "other colours when given per frame": (given(tinted_colours), "per_frame.equal_frames[colours per face]"),
    "moving colours that are not claimed": (Unclaimed, "per_frame.frames_that_do_not_fit[colours per vertex]"),
    "one material for all": (glowing(first_material), "materials.as_if_alone"),
    "other colours under materials of faces": (glowing(tinted_numbers), "materials.one_for_all"),
    "materials that are not claimed": (OneMaterial, "materials.not_claimed"),
    "another precision than asked for": (changed(lambda t: t.double()), "dtypes.as_claimed[float32]"),
    "a precision that is not claimed": (SingleOnly, "dtypes.as_claimed[float64]"),
    "digits lost in single precision": (changed(coarse), "dtypes.single_and_double[rgba]"),
    "NaN on degenerate faces": (
        given(nan_for_flat_faces),
        "degenerate.finite_everywhere[a face with a corner twice]",
    ),
    "NaN in the gradient of degenerate faces": (
        given(nan_gradient_for_flat_faces),
        "degenerate.finite_everywhere[a body in one point]",
    ),
    "things behind the camera": (given(mirrored_behind), "degenerate.nothing_in_view[behind the camera]"),
    "a crash without faces": (FragileToEmptiness, "degenerate.no_faces"),
    "anything taken: outputs": (Lenient, "bad_input.unknown_output"),
    "anything taken: NaN": (Lenient, "bad_input.not_finite"),
    "anything taken: precision": (Lenient, "bad_input.mixed_precision"),
    "anything taken: frames": (Lenient, "bad_input.frames_that_do_not_fit"),
    "anything taken: shadings": (Lenient, "bad_input.unclaimed_shading"),
    "an after-image": (AfterImage, "determinism.repeats[rgba]"),
    "noise": (changed(lambda t: t * (1.0 - 1e-9 * torch.rand(1, dtype=t.dtype))), "determinism.repeats[rgba]"),
    "a surface changed in place": (Shrinking, "determinism.leaves_inputs_alone[rgba]"),
    "what cannot be pickled": (Unpicklable, "copying.pickles_and_copies"),
    "settings that may be changed": (NotFrozen, "capabilities.settings"),
    "a claim there is not": (ClaimsTooMuch, "capabilities.claims"),
}


def test_the_intact_original_passes_all_checks():
    for renderer in (SOUND["class"], Wrapped):
        report = run_suite(renderer_subject(renderer))
        assert not report.failures, str(report)
        assert report.skipped_families == {}


def test_a_dense_sampling_is_unbiased():
    report = run_suite(renderer_subject(Fine), families=["areas"])
    assert not report.failures, str(report)
    assert report.skipped_families == {}


def test_the_bias_of_a_soft_renderer_is_told():
    report = run_suite(renderer_subject(Wrapped), families=["areas"])
    told = {result.check: result.detail for result in report.results}
    assert not report.failures, str(report)
    assert float(told["areas.sphere[4.4]"].split()[-1]) != pytest.approx(1.0, abs=0.01)


def test_sound_materials_pass():
    report = run_suite(renderer_subject(Glowing), families=["materials"])
    assert not report.failures, str(report)


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_subject_fails_its_check(fault):
    renderer, meant = BROKEN[fault]
    MEMORY.clear()
    report = run_suite(renderer_subject(renderer), families=[meant.split(".")[0]])
    found = {result.check: result.detail for result in report.results if result.outcome is CheckOutcome.FAILED}
    assert meant in found, f"{meant} does not see it; failing: {sorted(found)}"
