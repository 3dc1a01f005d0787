"""Gradients of every output by every input, against central differences in float64."""

import pytest
import torch

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    DirectionalLight,
    HarmonicLight,
    InputError,
    Material,
    PointLight,
    Surface,
    Texture,
)
from diffloom_render_softras.renderer import SoftRasRenderer

D = torch.float64
FRAMES = 2
STEP = 2e-6
SHADINGS = ("unlit", "lambert", "phong")
APPEARANCES = ("one", "vertex", "face", "bilinear", "edges", "nearest")
OVER_TIME = ("vertex over time", "face over time", "bilinear over time", "nearest over time")


def draw(seed, *shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=D)


class Scene:
    """Inputs by name, and images as a function of them."""

    def __init__(self, mesh, camera, appearance, shading, **options):
        vertices, self.faces = mesh
        shake = 0.06 * (draw(1, FRAMES, *vertices.shape) - 0.5)
        appearance, *times = appearance.split(" over ")
        self.appearance, self.shading, self.size = appearance, shading, (camera.height, camera.width)
        self.own_frames = (FRAMES,) if times else ()
        self.near, self.far = camera.near, camera.far
        self.renderer = SoftRasRenderer(**{"sigma": 2e-3, "gamma": 3e-2, "background": (0.1, 0.5, 0.9), **options})
        self.inputs = {
            "vertices": 0.7 * vertices + shake, "rotation": camera.rotation, "eye": camera.eye, "focal": camera.focal,
            "centre": camera.centre, **self._own(appearance, vertices.shape[0]),
        }  # fmt: skip
        self.inputs |= self._lights() if shading != "unlit" else {}
        self.inputs = {name: value.detach().clone().requires_grad_() for name, value in self.inputs.items()}

    def _own(self, appearance, count):
        if appearance in ("bilinear", "edges", "nearest"):
            self.uv_faces = torch.arange(3 * len(self.faces)).reshape(-1, 3) % 37
            return {"image": draw(2, *self.own_frames, 5, 6, 3), "uv": 0.1 + 0.8 * draw(3, 37, 2)}
        rows = {"one": (3,), "vertex": (count, 3), "face": (len(self.faces), 3)}[appearance]
        return {"colours": draw(2, *self.own_frames, *rows)}

    def _lights(self):
        return {
            "ambient": draw(4, 3), "lamp": torch.tensor([1.0, 2.0, 2.5], dtype=D), "diffuse": draw(5, 3),
            "specular": draw(6, 3), "direction": torch.tensor([-0.4, 0.8, 1.0], dtype=D), "sky": draw(7, 9, 3) - 0.3,
            "reflect": draw(8, 3), "shininess": torch.tensor(6.0, dtype=D),
        }  # fmt: skip

    def images(self, given, outputs):
        material = Material(self.shading)
        lights = ()
        if self.shading != "unlit":
            material = Material(self.shading, given["reflect"], given["reflect"], given["reflect"], given["shininess"])
            lights = (
                AmbientLight(given["ambient"]), PointLight(given["lamp"], given["diffuse"], given["specular"]),
                DirectionalLight(given["direction"], given["diffuse"], given["specular"]), HarmonicLight(given["sky"]),
            )  # fmt: skip
        appearance = {"colours": given.get("colours"), "colour_per": "face" if self.appearance == "face" else "vertex"}
        if "image" in given:
            filter = "nearest" if self.appearance == "nearest" else "bilinear"
            texture = Texture(given["image"], given["uv"], self.uv_faces, filter, corners=self.appearance != "edges")
            appearance = {"texture": texture}
        surface = Surface(given["vertices"], self.faces, material=material, **appearance)
        camera = Camera(
            given["rotation"], given["eye"], given["focal"], given["centre"], *self.size, self.near, self.far
        )
        image = self.renderer.render(surface, camera, lights, outputs)
        return [getattr(image, name) for name in outputs]

    def _moved(self, name, step, outputs):
        """The images with one input moved."""
        with torch.no_grad():
            return self.images({**self.inputs, name: self.inputs[name] + step}, outputs)

    def check(self, outputs, tolerance=2e-6, jumps=False):
        """Each input along a random direction; returns how large the slopes were.

        jumps: leave out the few pixels that jump between the two ends, where the choice of the nearest faces changes:
        depths often tie there, at corners that faces share.
        """
        weights = [draw(20 + k, *p.shape) - 0.3 for k, p in enumerate(self.images(self.inputs, outputs))]
        slopes = {}
        for k, (name, value) in enumerate(self.inputs.items()):
            way = torch.randn(value.shape, generator=torch.Generator().manual_seed(40 + k), dtype=D)
            ups, downs = (self._moved(name, sign * STEP * way, outputs) for sign in (1.0, -1.0))
            steps = [up - down for up, down in zip(ups, downs, strict=True)]
            smooth = [torch.ones_like(step) for step in steps]
            if jumps:
                # Smooth pixels change as much one way as the other, and half as much by half the step.
                here, half = self._moved(name, 0.0 * way, outputs), self._moved(name, 0.5 * STEP * way, outputs)
                bends = [(u + d - 2.0 * p).abs() + (2.0 * (h - p) - (u - p)).abs()
                         for u, d, p, h in zip(ups, downs, here, half, strict=True)]  # fmt: skip
                smooth = [(bend < 1e-8).to(D) for bend in bends]
            assert min(float(m.mean()) for m in smooth) > 0.9
            kept = [w * m for w, m in zip(weights, smooth, strict=True)]
            loss = sum((p * w).sum() for p, w in zip(self.images(self.inputs, outputs), kept, strict=True))
            (grad,) = torch.autograd.grad(loss, (value,), allow_unused=True)
            wanted = sum(float((step * w).sum()) for step, w in zip(steps, kept, strict=True)) / (2.0 * STEP)
            got = 0.0 if grad is None else float((grad * way).sum())
            scale = 0.0 if grad is None else float(grad.norm() * way.norm())
            assert abs(got - wanted) <= tolerance * max(scale, abs(float(loss.detach()))), (name, got, wanted)
            slopes[name] = abs(wanted)
        return slopes


@pytest.fixture
def scene(sphere, camera):
    return lambda appearance="vertex", shading="unlit", **options: Scene(
        sphere(1), camera(FRAMES), appearance, shading, **options
    )


def test_silhouette(scene):
    slopes = scene().check(("silhouette",))
    assert min(slopes[name] for name in ("vertices", "rotation", "eye", "focal", "centre")) > 1e-2


@pytest.mark.parametrize("shading", SHADINGS)
@pytest.mark.parametrize("appearance", APPEARANCES)
def test_colour(scene, appearance, shading):
    """Every look under every shading; all inputs that the image depends on must have a slope."""
    slopes = scene(appearance, shading).check(("rgba",))
    still = {"shininess", "specular"} if shading == "lambert" else set()
    still |= {"uv"} if appearance == "nearest" else set()
    assert min(slope for name, slope in slopes.items() if name not in still) > 1e-3, slopes


@pytest.mark.parametrize("appearance", OVER_TIME)
def test_colour_over_time(scene, appearance):
    """Colours and textures that every frame has of its own, beside everything else."""
    slopes = scene(appearance, "phong").check(("rgba",), tolerance=1e-6)
    still = {"uv"} if "nearest" in appearance else set()
    assert min(slope for name, slope in slopes.items() if name not in still) > 1e-3, slopes


def test_a_mesh_that_stands_still_and_changes_its_colours(sphere, camera):
    one = Scene(sphere(1), camera(1), "vertex over time", "lambert")
    one.inputs["vertices"] = one.inputs["vertices"][:1].detach().clone().requires_grad_()
    assert one.images(one.inputs, ("rgba",))[0].shape[0] == FRAMES
    one.check(("rgba",), tolerance=1e-6)


def test_depth(scene):
    slopes = scene().check(("depth",))
    assert min(slopes[name] for name in ("vertices", "rotation", "eye", "focal", "centre")) > 1e-2


def test_everything_at_once(scene):
    scene("vertex", "phong").check(("rgba", "depth", "silhouette"))


@pytest.mark.parametrize("options", [{"gamma": 1e-4}, {"gamma": 1.0}, {"sigma": 1e-4}, {"sigma_pixels": 1.5}])
def test_other_softness(scene, options):
    """A sharp gamma: the background's weight is at its floor, and the nearest depth acts through it."""
    scene("vertex", "phong", **options).check(("rgba", "depth"), tolerance=1e-5)


def test_the_floor_of_the_background_matters(scene):
    """Pixels where faces barely outweigh the floor: wide reach, so that weights fall to 1e-10."""
    scene("vertex", "unlit", gamma=1e-4, least_probability=1e-11).check(("rgba", "depth"), tolerance=1e-5)


@pytest.mark.parametrize("count", [1, 3])
def test_nearest_faces_only(scene, count):
    limited = scene("vertex", "phong", faces_per_pixel=count)
    free = scene("vertex", "phong")
    images = [s.images(s.inputs, ("rgba",))[0] for s in (limited, free)]
    assert (images[0] - images[1]).abs().max() > 1e-2
    limited.check(("rgba", "depth"), jumps=True)
    limited.check(("silhouette",), jumps=True)


def test_without_perspective(scene):
    scene("bilinear", "phong", perspective_correct=False).check(("rgba", "depth"))


def test_back_faces_left_out(scene):
    culled = scene("vertex", "lambert", cull_backfaces=True, gamma=0.3)
    whole = scene("vertex", "lambert", gamma=0.3)
    images = [s.images(s.inputs, ("rgba",))[0] for s in (culled, whole)]
    assert (images[0] - images[1]).abs().max() > 1e-2
    culled.check(("rgba", "depth", "silhouette"))


@pytest.mark.parametrize("appearance", ["vertex", "face", "bilinear", *OVER_TIME[:3]])
def test_through_the_near_plane(sphere, camera, appearance):
    """The camera's near plane cuts the sphere open."""
    cut = Scene(sphere(1), camera(FRAMES, near=2.1), appearance, "phong")
    slopes = cut.check(("rgba", "depth"))
    cut.check(("silhouette",))
    whole = Scene(sphere(1), camera(FRAMES, near=0.5), appearance, "phong")
    images = [s.images(s.inputs, ("silhouette",))[0] for s in (cut, whole)]
    assert (images[0] - images[1]).abs().max() > 0.1
    assert slopes["vertices"] > 1e-2


def test_inputs_shared_by_all_frames(sphere, camera):
    """One camera for two frames, and one frame for two cameras."""
    one = Scene(sphere(1), camera(1), "vertex", "phong")
    one.check(("rgba", "silhouette"))
    many = Scene(sphere(1), camera(FRAMES), "vertex", "phong")
    many.inputs["vertices"] = many.inputs["vertices"][:1].detach().clone().requires_grad_()
    assert many.images(many.inputs, ("rgba",))[0].shape[0] == FRAMES
    many.check(("rgba",))


def test_a_second_backward_works_and_a_second_derivative_is_refused(scene):
    s = scene("vertex", "phong")
    value = s.images(s.inputs, ("rgba",))[0].square().sum()
    first = torch.autograd.grad(value, s.inputs["vertices"], retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(value, s.inputs["vertices"], retain_graph=True)[0])
    (slope,) = torch.autograd.grad(value, s.inputs["vertices"], create_graph=True)
    with pytest.raises(InputError, match="gradient of a gradient"):
        slope.sum().backward()


def test_changing_an_input_before_backward_is_noticed(scene):
    s = scene()
    value = s.images(s.inputs, ("silhouette",))[0].sum()
    with torch.no_grad():
        s.inputs["vertices"] += 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()
