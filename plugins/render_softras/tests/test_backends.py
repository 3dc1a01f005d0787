"""Scenes that both back ends draw alike: each in float32 against the native one in float64.

What PyTorch3D does otherwise is kept out: it shows the edge along which it halves a face cut by the near plane, so
pixels there do not count; it holds one of the two cuts still in its gradients, so those of cut faces are not compared;
and its gradients of colour and depth are wrong for faces seen edge-on within a wide blur, so no scene has both.
"""

import dataclasses
import warnings

import pytest
import torch

from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_render_softras import pytorch3d_backend
from diffloom_render_softras.pytorch3d_backend import why_unavailable
from diffloom_render_softras.renderer import SoftRasRenderer

D = torch.float64
ALL = ("rgba", "silhouette", "depth", "face_index")
#: Largest difference of a pixel (of a depth, over far - near), and of gradients as vectors, relative.
PIXEL, SLOPE = 2e-4, 1e-3

CUT = "cut by the near plane"
#: Name -> what differs from a lit, vertex coloured ball seen by a tilted camera with unequal focal lengths.
SCENES = {
    "vertex colours": {},
    "one colour, unlit": {"appearance": "one", "shading": "unlit"},
    "face colours, lambert": {"appearance": "face", "shading": "lambert"},
    "texture": {"appearance": "bilinear"},
    "texture to the edges": {"appearance": "edges"},
    "nearest texel": {"appearance": "nearest"},
    "sharp": {"sigma": 1e-6},
    "blurred, deep": {"sigma": 4e-4, "gamma": 1e-2},
    "in pixels": {"sigma_pixels": 0.2},
    "upright": {"size": (44, 28)},
    "nearest faces": {"faces_per_pixel": 6},
    "culled": {"cull_backfaces": True, "gamma": 0.1},
    "without perspective": {"perspective_correct": False},
    CUT: {"near": 2.2, "sigma": 1e-5},
    "two frames": {"frames": 2},
    "vertex colours over time": {"frames": 2, "over_time": True},
    "face colours over time": {"appearance": "face", "frames": 2, "over_time": True},
    "texture over time": {"appearance": "bilinear", "frames": 2, "over_time": True},
}


def rand(seed, *shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=D)


class Scene:
    """One of SCENES: its inputs in float64 by name, and the images drawn from them."""

    def __init__(
        self, name, mesh, camera, appearance="vertex", shading="phong", frames=1, size=(36, 48), near=0.5,
        over_time=False, **settings,
    ):  # fmt: skip
        vertices, self.faces = mesh
        self.name, self.appearance, self.shading = name, appearance, shading
        self.camera = camera(frames, size=size, near=near)
        self.settings = {"sigma": 1e-4, "gamma": 3e-3, "background": (0.1, 0.5, 0.9), **settings}
        self.inputs = {
            "vertices": 0.7 * vertices + 0.05 * rand(1, frames, *vertices.shape), "rotation": self.camera.rotation,
            "eye": self.camera.eye, "focal": self.camera.focal, "centre": self.camera.centre,
            "ambient": rand(4, 3), "lamp": torch.tensor([1.0, 2.0, 2.5], dtype=D), "glow": rand(5, 3),
            "direction": torch.tensor([-0.4, 0.8, 1.0], dtype=D), "sky": rand(7, 9, 3) - 0.3,
        }  # fmt: skip
        own = (frames,) if over_time else ()
        if appearance in ("bilinear", "edges", "nearest"):
            self.inputs |= {"image": rand(2, *own, 9, 7, 3), "uv": 0.1 + 0.8 * rand(3, len(vertices), 2)}
        else:
            rows = {"one": (3,), "vertex": (len(vertices), 3), "face": (len(self.faces), 3)}[appearance]
            self.inputs["colours"] = rand(2, *own, *rows)

    def draw(self, backend, dtype, outputs):
        """Images by name and the inputs they were made of."""
        given = {name: value.to(dtype).clone().requires_grad_() for name, value in self.inputs.items()}
        names = ("rotation", "eye", "focal", "centre")
        camera = dataclasses.replace(self.camera, **{name: given[name] for name in names})
        lights = (
            AmbientLight(given["ambient"]), PointLight(given["lamp"], given["glow"], 0.3),
            DirectionalLight(given["direction"], 0.3, 0.2), HarmonicLight(0.2 * given["sky"]),
        )  # fmt: skip
        own = {"colours": given.get("colours"), "colour_per": "face" if self.appearance == "face" else "vertex"}
        if "image" in given:
            texel = "nearest" if self.appearance == "nearest" else "bilinear"
            own = {"texture": Texture(given["image"], given["uv"], None, texel, corners=self.appearance != "edges")}
        material = Material(self.shading, shininess=12.0)
        surface = Surface(given["vertices"], self.faces, material=material, **own)
        image = SoftRasRenderer(**self.settings, backend=backend).render(surface, camera, lights, outputs)
        return {name: getattr(image, name) for name in outputs}, given

    def slopes(self, backend, dtype, output):
        """Gradients of a random sum over an output, by input; only those that are not zero."""
        images, given = self.draw(backend, dtype, (output,))
        weights = (rand(11, *images[output].shape) - 0.3).to(dtype)
        (images[output] * weights).sum().backward()
        return {n: v.grad.double() for n, v in given.items() if v.grad is not None and bool((v.grad != 0).any())}


@pytest.fixture(params=SCENES)
def scene(request, sphere, camera):
    return Scene(request.param, sphere(1), camera, **SCENES[request.param])


@pytest.fixture(params=["native", pytest.param("pytorch3d", marks=pytest.mark.filterwarnings("ignore:PyTorch3D"))])
def backend(request):
    reason = why_unavailable() if request.param == "pytorch3d" else None
    if reason is not None:
        pytest.skip(reason)
    return request.param


def off(got, want):
    """Relative L2 difference."""
    return float((got - want).norm() / want.norm())


def counting(scene, backend, got, want):
    """True for pixels that count: all of them but those on a seam, where the library has seams."""
    same = (got.double() - want.double()).abs() < PIXEL
    if backend == "native" or scene.name != CUT:
        return torch.ones_like(same)
    assert same.double().mean() > 0.99
    return same


def test_images(scene, backend):
    got, _ = scene.draw(backend, torch.float32, ALL)
    want, _ = scene.draw("native", D, ALL)
    span = {"depth": scene.camera.far - scene.camera.near}
    for name in ALL[:3]:
        counts = counting(scene, backend, got[name], want[name])
        difference = ((got[name].double() - want[name]) * counts).abs().max().detach() / span.get(name, 1.0)
        print(f"{backend}, {scene.name}: {name} {float(difference):.1e}")
        assert difference < PIXEL
    assert (got["face_index"] != want["face_index"]).double().mean() < 2e-3
    assert (want["face_index"] >= 0).sum() > 100


@pytest.mark.parametrize("output", ["silhouette", "rgba", "depth"])
def test_gradients(scene, backend, output):
    if backend == "pytorch3d" and scene.name == CUT:
        pytest.skip("PyTorch3D differentiates only one of the two cuts of a face")
    got, want = scene.slopes(backend, torch.float32, output), scene.slopes("native", D, output)
    assert "vertices" in want
    assert got.keys() == want.keys()
    found = {name: off(got[name], want[name]) for name in want}
    print(f"{backend}, {scene.name}: {output}", *(f"{name} {value:.1e}" for name, value in found.items()))
    assert max(found.values()) < SLOPE, found


@pytest.fixture
def library():
    """The back end's module, where the library is there and has not warned yet."""
    if why_unavailable() is not None:
        pytest.skip(why_unavailable())
    pytorch3d_backend.warn_of_cpu.cache_clear()
    return pytorch3d_backend


def test_the_library_draws_as_many_frames_at_a_time_as_fit(sphere, camera, library, monkeypatch):
    many = Scene("two frames", sphere(1), camera, frames=2)
    with pytest.warns(UserWarning, match="hundred times slower"):
        whole, _ = many.draw("pytorch3d", torch.float32, ALL)
    monkeypatch.setattr(library, "MEMORY", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        single, _ = many.draw("pytorch3d", torch.float32, ALL)
    for name in ALL:
        assert torch.allclose(single[name].double(), whole[name].double(), atol=1e-6), name
