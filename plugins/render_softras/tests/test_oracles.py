"""Images and gradients that PyTorch3D 0.7.9 made, stored in data/.

Its rgb gradients are wrong on near-edge-on faces, so those are compared with ``ref64_grad_verts_rgb``, from an
independent float64 reference.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom.interfaces import AmbientLight, Camera, Material, PointLight, Surface, Texture
from diffloom_raster import project
from diffloom_render_softras.renderer import SoftRasRenderer

CASES = sorted(Path(__file__).parent.joinpath("data").glob("p3d_*.npz"))
FLIP = np.diag([-1.0, 1.0, -1.0])  # their +x points left and +z into the scene


class Case:
    def __init__(self, path, dtype):
        self.data = dict(np.load(path))
        self.dtype = dtype

    def __getitem__(self, name):
        return self.data[name]

    def tensor(self, name):
        return torch.tensor(self.data[name], dtype=self.dtype)

    def camera(self):
        rotation, shift = self["R"].astype(float), self["T"].astype(float)
        # R is a rotation only to float32: its inverse, not its transpose, gives the eye that goes with T.
        eye = -shift @ np.linalg.inv(rotation)
        size = int(self["H"]), int(self["W"])
        if self["cam_kind"] == "fov":
            focal = (0.5 * min(size) / np.tan(np.radians(0.5 * self["fov_deg"])),) * 2
            centre = 0.5 * size[1], 0.5 * size[0]
        else:
            focal, centre = (self["fx"], self["fy"]), (self["cx"], self["cy"])
        # Depths are normalised over 1..100 there, without cutting at 1: the same span, begun nearer.
        assert self["zfar"] - self["znear"] == 99.0
        return Camera.intrinsics(
            torch.tensor(FLIP @ rotation.T, dtype=self.dtype), torch.tensor(eye, dtype=self.dtype),
            focal=tuple(float(f) for f in focal), centre=tuple(float(c) for c in centre), size=size, near=0.5, far=99.5,
        )  # fmt: skip

    def renderer(self, **options):
        return SoftRasRenderer(
            sigma=float(self["sigma"]), gamma=float(self["gamma"]), faces_per_pixel=int(self["faces_per_pixel"]),
            background=tuple(float(c) for c in self["background"]),
            perspective_correct=bool(self["perspective_correct"]), **options,
        )  # fmt: skip

    def surface(self, vertices, appearance):
        faces = torch.tensor(self["faces"].astype(np.int64))
        material = Material("phong", shininess=float(self["shininess"]))
        if "texture" in self.data:
            corners = torch.tensor(self["faces_uvs"].astype(np.int64))
            texture = Texture(appearance, self.tensor("verts_uvs"), corners)
            return Surface(vertices[None], faces, texture=texture, material=material)
        return Surface(vertices[None], faces, colours=appearance, material=material)

    def lights(self):
        place = tuple(float(c) for c in self["light_location"])
        lamp = PointLight(place, float(self["light_diffuse"]), float(self["light_specular"]))
        return AmbientLight(float(self["light_ambient"])), lamp

    def appearance(self):
        return self.tensor("texture" if "texture" in self.data else "vert_colors")

    def appearance_gradient(self):
        return self.tensor("grad_texture" if "texture" in self.data else "grad_vert_colors")


@pytest.fixture(params=CASES, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def case(path, request):
    return Case(path, request.param)


def off(got, want):
    """Relative L2 difference."""
    return float((got - want).norm() / want.norm())


def test_there_are_oracles():
    assert len(CASES) == 8


def test_projection(case):
    x, y, depth = project(case.tensor("verts")[None], case.camera())[0].unbind(-1)
    unit = 0.5 * min(int(case["H"]), int(case["W"]))
    theirs = case.tensor("verts_ndc")
    assert torch.allclose(-x / unit, theirs[:, 0], atol=1e-6)
    assert torch.allclose(-y / unit, theirs[:, 1], atol=1e-6)
    assert torch.allclose(depth, theirs[:, 2], atol=1e-6)


def test_silhouette(case):
    vertices = case.tensor("verts").requires_grad_()
    image = case.renderer().render(case.surface(vertices, case.appearance()), case.camera(), outputs=("silhouette",))
    got = image.silhouette[0]
    assert (got.detach() - case.tensor("silhouette")).abs().max() < 5e-5
    loss = (got - case.tensor("target_silhouette")).square().mean()
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(case["loss_sil"]), rel=1e-5)
    assert off(vertices.grad, case.tensor("grad_verts_sil")) < 1e-4
    assert off(vertices.grad, case.tensor("ref64_grad_verts_sil")) < (1e-4 if case.dtype == torch.float32 else 1e-6)


def test_colour(case):
    vertices, appearance = case.tensor("verts").requires_grad_(), case.appearance().requires_grad_()
    image = case.renderer().render(case.surface(vertices, appearance), case.camera(), case.lights())
    assert (image.rgba[0].detach() - case.tensor("rgba")).abs().max() < 2e-4
    loss = (image.rgb[0] - case.tensor("target_rgba")[..., :3]).square().mean()
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(case["loss_rgb"]), rel=1e-4)
    assert off(appearance.grad, case.appearance_gradient()) < 1e-4
    truth = case.tensor("ref64_grad_verts_rgb")
    assert off(vertices.grad, truth) < (1e-4 if case.dtype == torch.float32 else 1e-6)
    sane = torch.tensor(case["p3d_grad_rgb_ok"])
    assert off(vertices.grad[sane], case.tensor("grad_verts_rgb")[sane]) < 3e-4


def test_fragments_of_the_first_layer(path):
    case = Case(path, torch.float64)
    image = case.renderer().render(
        case.surface(case.tensor("verts"), case.appearance()), case.camera(), case.lights(), ("face_index", "depth")
    )
    # Where the nearest fragment is an inside one, the hard index is that fragment's face.
    hit = (case["pix_to_face"][..., 0] >= 0) & (case["dists"][..., 0] < 0)
    same = image.face_index[0].numpy()[hit] == case["pix_to_face"][..., 0][hit]
    assert hit.sum() > 200
    assert same.mean() > 0.999
