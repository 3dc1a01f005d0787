"""The path to the real library: the error without it, and its own Python code run on our kernels."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import pytest
import torch

from diffloom.interfaces import Camera, InputError, Material, Surface, Texture
from diffloom_render_dibr import kaolin_backend, operators
from diffloom_render_dibr.renderer import DibrRenderer


@pytest.fixture
def fresh():
    kaolin_backend.why_unavailable.cache_clear()
    yield
    kaolin_backend.why_unavailable.cache_clear()


@pytest.mark.parametrize("error", [ImportError, ModuleNotFoundError, RuntimeError, OSError])
def test_an_import_that_fails_is_named(fresh, monkeypatch, ball, camera, error):
    def broken():
        raise error("operator torchvision::nms does not exist")

    monkeypatch.setattr(kaolin_backend, "import_kaolin_mesh", broken)
    with pytest.raises(InputError) as caught:
        DibrRenderer(backend="kaolin").render(ball(), camera())
    for words in ("unavailable", "torchvision::nms", error.__name__, 'backend="native"'):
        assert words in str(caught.value)


def test_other_errors_are_not_hidden(fresh, monkeypatch, ball, camera):
    def broken():
        raise KeyError("a bug")

    monkeypatch.setattr(kaolin_backend, "import_kaolin_mesh", broken)
    with pytest.raises(KeyError):
        DibrRenderer(backend="kaolin").render(ball(), camera())


def test_a_cpu_gets_the_advice_to_use_the_native_back_end(fresh, monkeypatch, ball, camera):
    monkeypatch.setattr(kaolin_backend, "import_kaolin_mesh", lambda: None)
    with pytest.raises(InputError, match='needs CUDA.*backend="native"'):
        DibrRenderer(backend="kaolin").render(ball(), camera())


def test_auto_is_native_on_a_cpu(ball, camera):
    auto, native = (DibrRenderer(backend=name).render(ball(), camera()).rgba for name in ("auto", "native"))
    assert torch.equal(auto, native)


class OnOurKernels:
    """The four functions that Kaolin's autograd code calls, on CPU tensors."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple] = {}

    def packed_rasterize_forward_cuda(self, height, width, z, image, boxes, features, first, multiplier, eps):
        outputs = []
        for begin, end in zip(first.tolist(), first.tolist()[1:], strict=False):
            part = slice(begin, end)
            ones = torch.eye(3, dtype=image.dtype).expand(1, end - begin, 3, 3)
            (value, weights), index = operators.rasterize(
                height, width, z[None, part], image[None, part] / multiplier, [features[None, part], ones],
                multiplier=multiplier, eps=eps, compat="kaolin",
            )  # fmt: skip
            outputs.append((value, index, weights))
        return tuple(torch.cat(parts) for parts in zip(*outputs, strict=True))

    def rasterize_backward_cuda(self, grad, value, index, weights, image, features, eps):
        image, features = image.detach().requires_grad_(), features.detach().requires_grad_()
        batch, height, width = index.shape
        # only the faces that were chosen, each in front of its own pixels
        shown = torch.zeros(image.shape[:2], dtype=torch.bool)
        for b in range(batch):
            shown[b, index[b][index[b] >= 0]] = True
        z = self._depths(image, index)
        with torch.enable_grad():
            again, found = operators.rasterize(height, width, z, image, features, shown, eps=eps, compat="kaolin")
            assert torch.equal(found, index)
            return torch.autograd.grad(again, (image, features), grad)

    def _depths(self, image, index):
        return self.kept["z"]

    def dibr_soft_mask_forward_cuda(self, image, boxes, index, sigmainv, knum, multiplier):
        boxlen = float((boxes[0, 0, 2] - image[0, 0, :, 0].max()) / multiplier)
        self.kept["mask"] = boxlen, knum
        with torch.no_grad():
            mask = operators.soft_mask(image / multiplier, index, sigmainv, boxlen, knum, multiplier, compat="kaolin")
        none = torch.zeros(0)
        return mask, none, none, none

    def dibr_soft_mask_backward_cuda(self, grad, mask, index, prob, face, kind, image, sigmainv, multiplier):
        boxlen, knum = self.kept["mask"]
        place = (image / multiplier).detach().requires_grad_()
        with torch.enable_grad():
            again = operators.soft_mask(place, index, sigmainv, boxlen, knum, multiplier, compat="kaolin")
            return torch.autograd.grad(again, place, grad)[0]


@pytest.fixture
def real_kaolin(kaolin, monkeypatch):
    """The library's own Python code, its CUDA functions replaced."""
    ours = OnOurKernels()
    for name in dir(ours):
        if name.endswith("_cuda"):
            monkeypatch.setattr(kaolin._C.render.mesh, name, getattr(ours, name), raising=False)
    monkeypatch.setattr(kaolin_backend, "check_usable", lambda vertices: None)
    inner = kaolin.render.mesh.dibr_rasterization

    def noting(height, width, z, *args, **more):
        ours.kept["z"] = z.detach()
        return inner(height, width, z, *args, **more)

    monkeypatch.setattr(kaolin.render.mesh, "dibr_rasterization", noting)
    return kaolin


@pytest.mark.parametrize("appearance", ["vertex", "face", "texture"])
@pytest.mark.parametrize("compat", [None, "kaolin"])
def test_colours_over_time_reach_kaolin(monkeypatch, ball, camera, appearance, compat):
    """Arguments of the library, with our operator in its place: every frame has its own colours."""
    ours = SimpleNamespace(dibr_rasterization=functools.partial(operators.dibr_rasterization, compat="kaolin"))
    monkeypatch.setattr(kaolin_backend, "import_kaolin_mesh", lambda: ours)
    monkeypatch.setattr(kaolin_backend, "check_usable", lambda vertices: None)
    base, view = ball(level=2, frames=2), camera((40, 40))
    torch.manual_seed(0)
    count = base.vertices.shape[1]
    shape = {"vertex": (2, count, 3), "face": (2, len(base.faces), 3), "texture": (2, 6, 6, 3)}[appearance]
    values, uv = torch.rand(shape).double(), torch.rand((count, 2)).double()
    found = []
    for backend in ("kaolin", "native"):
        given = values.clone().requires_grad_()
        own = (
            {"texture": Texture(given, uv)} if appearance == "texture" else {"colours": given, "colour_per": appearance}
        )
        surface = Surface(base.vertices, base.faces, material=Material("lambert"), **own)
        image = DibrRenderer(backend=backend, compat=compat, cull_backfaces=False).render(
            surface, view, outputs=("rgba", "face_index")
        )
        found.append((image, given))
    same = (found[0][0].face_index == found[1][0].face_index)[..., None]
    assert float(same.double().mean()) > 0.999
    for image, _ in found:
        (image.rgba[..., :3] * same).square().sum().backward()
    torch.testing.assert_close(found[0][0].rgba[..., :3] * same, found[1][0].rgba[..., :3] * same, rtol=0.0, atol=1e-6)
    torch.testing.assert_close(found[0][1].grad, found[1][1].grad, rtol=1e-5, atol=1e-6)
    assert float(found[1][1].grad.flatten(1).norm(dim=1).min()) > 0.0


@pytest.mark.parametrize("appearance", ["vertex", "texture"])
@pytest.mark.parametrize("shading", ["unlit", "phong"])
def test_through_kaolins_python(real_kaolin, ball, camera, appearance, shading):
    """The adapter, and Kaolin's autograd under it, give the native image and gradient."""
    base, view = ball(level=2, frames=2), camera((40, 40))
    torch.manual_seed(0)
    count = base.vertices.shape[1]
    colour = {"colours": torch.rand((count, 3)).double()}
    if appearance == "texture":
        colour = {"texture": Texture(torch.rand((6, 6, 3)).double(), torch.rand((count, 2)).double())}
    outputs = ("rgba", "depth", "face_index")
    found = []
    for backend in ("kaolin", "native"):
        vertices = base.vertices.clone().requires_grad_()
        surface = Surface(vertices, base.faces, material=Material(shading), **colour)
        image = DibrRenderer(backend=backend, compat="kaolin", sigmainv=500.0, boxlen=0.1).render(
            surface, view, outputs=outputs
        )
        (image.rgba.square().sum() + (image.depth * (image.depth < 50.0)).sum()).backward()
        found.append((image.rgba.detach(), image.depth.detach(), image.face_index, vertices.grad))
    (rgba, depth, index, grad), (rgba_, depth_, index_, grad_) = found
    assert torch.equal(index, index_)
    assert int((index >= 0).sum()) > 400
    torch.testing.assert_close(rgba, rgba_, rtol=0.0, atol=1e-6)
    torch.testing.assert_close(depth, depth_, rtol=1e-6, atol=1e-6)
    error = float((grad - grad_).norm() / grad_.norm())
    print(f"{appearance} {shading}: rgba {float((rgba - rgba_).abs().max()):.1e}, gradient {error:.1e}")
    assert error < 1e-4


def test_corrected_features_through_kaolin(real_kaolin, ball, camera):
    """Features, without compat, go in divided by depth and come out as the native ones, with their gradients."""
    base, view = ball(level=2), camera((40, 40))
    torch.manual_seed(0)
    colours = torch.rand((base.vertices.shape[1], 3)).double()
    found = []
    for backend in ("kaolin", "native"):
        given = [tensor.clone().requires_grad_() for tensor in (base.vertices, colours, view.eye, view.focal)]
        eyes = Camera.intrinsics(view.rotation, given[2], focal=given[3], centre=view.centre, size=(40, 40))
        image = DibrRenderer(backend=backend).render(
            Surface(given[0], base.faces, colours=given[1]), eyes, outputs=("rgba", "depth", "face_index")
        )
        found.append((image, given))
    (theirs, _), (ours, _) = found
    # which of two faces is in front Kaolin decides by affine depth
    same = theirs.face_index == ours.face_index
    assert float(same.double().mean()) > 0.999
    torch.testing.assert_close(theirs.rgba[same][:, :3], ours.rgba[same][:, :3], rtol=0.0, atol=1e-6)
    torch.testing.assert_close(theirs.depth[same], ours.depth[same], rtol=1e-6, atol=1e-6)
    shown, worst = same & (ours.face_index >= 0), 0.0
    for image, _ in found:
        (image.rgba[..., :3][shown].square().sum() + image.depth[shown].square().sum()).backward()
    for mine, wanted in zip(*(given for _, given in found), strict=True):
        worst = max(worst, float((mine.grad - wanted.grad).norm() / wanted.grad.norm()))
    print(f"corrected: {int((~same).sum())} faces differ, gradients {worst:.1e}")
    assert worst < 1e-4
