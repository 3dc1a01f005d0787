"""Mitsuba: its matched mode against the native rasterizer, gradients against differences, and the path-traced mode."""

from dataclasses import replace

import pytest
import torch

from diffloom import get_renderer
from diffloom.interfaces import AmbientLight, InputError, PointLight, Surface, Texture, join_surfaces
from diffloom_render_mitsuba import library
from diffloom_render_mitsuba.library import why_unavailable
from diffloom_testing.scenes import camera, front, gem, lamps, make_chequered, square, with_shading

REAL = torch.float32
SIZE = (32, 40)

needed = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


def by_face():
    return replace(gem(1, REAL), colours=torch.linspace(0.1, 0.9, 24).reshape(8, 3), colour_per="face")


def sheet():
    """An open surface, bent, seen from both sides."""
    x, z = torch.meshgrid(torch.linspace(-0.7, 0.7, 5), torch.linspace(-0.7, 0.7, 4), indexing="ij")
    points = torch.stack([x, 0.4 * torch.sin(3.0 * x) * z, z], -1).reshape(1, -1, 3)
    corner = torch.tensor([4 * i + j for i in range(4) for j in range(3)])
    faces = torch.cat([torch.stack([corner, corner + 1, corner + 4], 1),
                       torch.stack([corner + 1, corner + 5, corner + 4], 1)])  # fmt: skip
    return Surface(points, faces, colours=0.2 + 0.6 * torch.rand(20, 3, generator=torch.Generator().manual_seed(2)))


def textured(**changes):
    base = make_chequered(REAL)
    return replace(base, texture=replace(base.texture, **changes))


def split_uv():
    base = gem(1, REAL)
    uv = torch.rand(24, 2, generator=torch.Generator().manual_seed(4))
    return Surface(base.vertices, base.faces, texture=Texture(make_chequered(REAL).texture.image, uv,
                                                              torch.arange(24).reshape(8, 3)))  # fmt: skip


def off_centre():
    view = camera(REAL, SIZE)
    return replace(view, focal=view.focal * torch.tensor([1.0, 1.25]), centre=view.centre + torch.tensor([3.0, -2.0]))


def squares():
    far = square(3.0, 0.9, REAL).replace_appearance(colours=torch.tensor([0.1, 0.2, 0.9]))
    return join_surfaces([square(2.0, 0.5, REAL), far])


SCENES = {
    "unlit": (gem(2, REAL), camera(REAL, SIZE), ()),
    "lambert": (with_shading(gem(1, REAL)), camera(REAL, SIZE), lamps(REAL)),
    "phong": (with_shading(gem(1, REAL), "phong"), camera(REAL, SIZE), lamps(REAL)),
    "colours of faces": (by_face(), camera(REAL, SIZE), ()),
    "texture": (textured(), camera(REAL, SIZE), ()),
    "texture, nearest, edges": (textured(filter="nearest", corners=False), camera(REAL, SIZE), ()),
    "texture, split": (split_uv(), camera(REAL, SIZE), ()),
    "open sheet": (with_shading(sheet()), camera(REAL, SIZE), lamps(REAL)),
    "off centre": (gem(1, REAL), off_centre(), ()),
    "one before another": (squares(), camera(REAL, SIZE), ()),
}


def antialiased(surface, view, lights, times=8):
    """The native rasterizer with sharp edges, at so many times the size, averaged."""
    large = replace(view, focal=times * view.focal, centre=times * view.centre, height=times * view.height,
                    width=times * view.width)  # fmt: skip
    found = get_renderer("softras")(sigma=1e-9, gamma=1e-7).render(surface, large, lights).rgba
    frames, height, width, _ = found.shape
    return found.reshape(frames, height // times, times, width // times, times, 4).mean((2, 4))


@needed
@pytest.mark.parametrize("name", SCENES)
def test_the_matched_mode_draws_like_the_native_rasterizer(name):
    surface, view, lights = SCENES[name]
    found = get_renderer("mitsuba")(samples=256).render(surface, view, lights).rgba
    off = found - antialiased(surface, view, lights)
    assert float(off.square().mean().sqrt()) < 6e-3
    assert float(off.mean().abs()) < 5e-4


WEIGHTS = (
    torch.sin(torch.linspace(0, 5, SIZE[0]))[:, None, None] * torch.cos(torch.linspace(0, 4, SIZE[1]))[None, :, None]
) * torch.tensor([1.0, 0.5, -0.7, 0.8]) + 0.3


def put(surface, view, name, value):
    if name == "texture":
        return replace(surface, texture=replace(surface.texture, image=value)), view
    if name in ("vertices", "colours"):
        return replace(surface, **{name: value}), view
    return surface, replace(view, **{name: value})


GRADIENTS = [("lambert", "vertices", 1e-2), ("lambert", "colours", 3e-2), ("unlit", "eye", 1e-2),
             ("unlit", "rotation", 3e-3), ("texture", "texture", 3e-2), ("off centre", "focal", 1.0)]  # fmt: skip


@needed
@pytest.mark.parametrize("name, what, step", GRADIENTS)
def test_gradients_agree_with_differences_of_images_of_many_samples(name, what, step):
    surface, view, lights = SCENES[name]
    base = {"vertices": surface.vertices, "colours": surface.colours, "eye": view.eye, "rotation": view.rotation,
            "focal": view.focal, "texture": surface.texture and surface.texture.image}[what]  # fmt: skip
    way = torch.randn(base.shape, generator=torch.Generator().manual_seed(1))

    def value(given, **settings):
        return (
            get_renderer("mitsuba")(**settings).render(*put(surface, view, what, given), lights).rgba * WEIGHTS
        ).sum()

    traced = base.clone().requires_grad_()
    value(traced, samples=4, gradient_samples=64).backward()
    slope = float((traced.grad * way).sum())
    ends = [float(value(base + sign * step * way, samples=1024)) for sign in (1.0, -1.0)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=0.03)


@needed
def test_a_fit_finds_where_a_body_is():
    """Gradients of few samples, Adam, no other renderer."""
    body, view = gem(1, REAL), front(REAL, (24, 24))
    renderer = get_renderer("mitsuba")(samples=4, gradient_samples=2)
    target = get_renderer("mitsuba")(samples=64, seed=5).render(body, view).rgba
    shift = torch.tensor([0.25, -0.2, 0.3], requires_grad=True)
    adam = torch.optim.Adam([shift], lr=0.05)
    for _ in range(40):
        adam.zero_grad()
        seen = renderer.render(replace(body, vertices=body.vertices + shift), view).rgba
        (seen - target).square().mean().backward()
        adam.step()
    assert float(shift[:2].detach().abs().max()) < 0.02
    assert abs(float(shift[2].detach())) < 0.1


@needed
def test_the_path_traced_mode_lights_shades_and_casts_shadows():
    slab = square(3.0, 0.4, REAL)  # across the view, above the ground
    view = replace(front(REAL, (40, 48)))
    lights = (AmbientLight(0.2), PointLight((0.0, 4.0, 1.0), 0.8, 0.0))
    dark = get_renderer("mitsuba")(mode="photorealistic", samples=40, ground=-0.6, background=(0.1, 0.2, 0.3))
    image = dark.render(slab, view, lights, ("rgba", "silhouette"))
    rgb = image.rgb[0]
    assert bool(torch.isfinite(rgb).all()) and float(rgb.min()) >= 0.0 and float(rgb.max()) <= 1.0
    assert torch.equal(image.rgba[..., 3], image.silhouette)  # coverage is the object's, without the ground
    assert float(image.silhouette[0, 39, 24]) == 0.0
    assert rgb[0, 0].tolist() == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)  # the background, not the sky
    open_ground = dark.render(replace(slab, vertices=slab.vertices + torch.tensor([0.0, 50.0, 0.0])), view, lights)
    beneath = image.rgb[0, 33:37, 20:28].mean()
    assert float(beneath) < 0.93 * float(open_ground.rgb[0, 33:37, 20:28].mean())
    again = dark.render(slab, view, lights)
    assert torch.equal(again.rgba, image.rgba)


@needed
def test_frames_have_separate_samples_with_seed_per_frame():
    still = replace(gem(1, REAL), vertices=gem(1, REAL).vertices.expand(2, -1, -1).contiguous())
    same = get_renderer("mitsuba")(samples=4).render(still, camera(REAL)).rgba
    own = get_renderer("mitsuba")(samples=4, seed_per_frame=True).render(still, camera(REAL)).rgba
    assert torch.equal(same[0], same[1])
    assert not torch.equal(own[0], own[1])


@needed
def test_double_precision_and_lights_without_equivalent_are_refused():
    from diffloom.interfaces import HarmonicLight

    with pytest.raises(InputError, match="float32"):
        get_renderer("mitsuba")().render(gem(1), camera())
    with pytest.raises(InputError, match="no equivalent of a HarmonicLight"):
        get_renderer("mitsuba")().render(with_shading(gem(1, REAL)), camera(REAL), (HarmonicLight(torch.ones(9)),))


@pytest.mark.parametrize(("version", "refused"), [((15, 0, 6), True), ((19, 1, 0), False)])
def test_an_old_llvm_is_refused_before_it_ends_the_process(version, refused, monkeypatch):
    from types import SimpleNamespace

    dr = SimpleNamespace(__version__="1.5.0", detail=SimpleNamespace(llvm_version=lambda: version))
    monkeypatch.setattr(library, "load", lambda: (None, dr))
    if not refused:
        library.check_llvm()
        return
    with pytest.raises(InputError, match=r"LLVM 15\.0\.6.*expected 17 or later"):
        library.check_llvm()


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch):
    why_unavailable.cache_clear()
    monkeypatch.setattr(library.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    try:
        with pytest.raises(InputError, match=r"unavailable: Mitsuba 3 does not run .*libllvm19"):
            library.load()
    finally:
        why_unavailable.cache_clear()


@pytest.mark.parametrize("settings", [{"mode": "fast"}, {"samples": 0}, {"background": (1.0,)}, {"gloss": 0.0}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError, match="MitsubaRenderer"):
        get_renderer("mitsuba")(**settings)


@needed
def test_a_scene_keeps_ground_and_shadow():
    import diffloom_fitting as fitting
    from diffloom import get_model

    ball = get_model("fem")("ball", radius=0.3)
    view = fitting.Orbit(distance=2.0, elevation=25, target=(0.0, 0.3, 0.0), size=(32, 32))
    traced = get_renderer("mitsuba")(mode="photorealistic", samples=16, ground=0.0, background=(0.1, 0.2, 0.3))
    scene = fitting.Scene(ball, traced, view, {"position": [0.0, 0.7, 0.0]}, dt=1e-3, steps=1)
    image = scene.render({}, [0.0]).image
    beside = image.rgba[0, ..., 3] == 0.0
    ground = image.rgb[0][beside][-200:]
    assert float((ground - torch.tensor([0.1, 0.2, 0.3])).abs().mean()) > 0.05  # not the plain background
    assert float(ground.mean(-1).min()) < 0.8 * float(ground.mean(-1).max())  # a shadow lies on it
