"""Images that match those of the rasterizers, with gradients: coverage of pixels by samples, silhouettes included."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import Camera, Image, Surface
from diffloom.transforms import once_differentiable
from diffloom_raster import compute_vertex_normals, read_appearance, to_camera_axes

from .library import load, use_threads
from .shading import make_reader, make_shader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diffloom.interfaces import Light

    from .renderer import MitsubaRenderer

#: Distance [m] beyond which nothing is drawn; rasterizers have no limit.
FARTHEST = 1e6
#: Offset of the seed for gradients, which must not use the image's own samples.
GRADIENT_SEED = 7919


@functools.lru_cache(maxsize=8)
def _make_scene(faces: bytes, vertices: int, size: tuple[int, int], near: float) -> tuple[Any, Any]:
    """Return a scene of one mesh before a fixed camera at the origin that looks along -z, and its parameters."""
    mi, _ = load()
    index = np.frombuffer(faces, np.uint32)
    mesh = mi.Mesh("object", vertices, len(index) // 3)
    params = mi.traverse(mesh)
    params["faces"] = mi.UInt32(index)
    params["vertex_positions"] = mi.Float(np.zeros(3 * vertices, np.float32))
    params.update()
    height, width = size
    scene = mi.load_dict({
        "type": "scene",
        "object": mesh,
        "sensor": {
            "type": "perspective",
            "fov": 90.0,
            "fov_axis": "x",
            "near_clip": near,
            "far_clip": FARTHEST,
            "to_world": mi.ScalarTransform4f().rotate([0, 1, 0], 180),
            "film": {
                "type": "hdrfilm", "width": width, "height": height, "pixel_format": "rgb",
                "component_format": "float32", "rfilter": {"type": "box"}, "sample_border": True,
            },
            "sampler": {"type": "multijitter", "sample_count": 16},
        },
    })  # fmt: skip
    return scene, mi.traverse(scene)


def shear_points(vertices: Tensor, camera: Camera) -> Tensor:
    """Return camera coordinates, sheared so that one fixed camera (focal length half the width) sees what ``camera``
    sees.

    Gradients by the camera come by way of the points, so a moving camera needs no other derivative.
    """
    x, y, z = to_camera_axes(vertices, camera).unbind(-1)
    half = 0.5 * camera.width
    shift = camera.centre - camera.centre.new_tensor([half, 0.5 * camera.height])
    across, up = camera.focal[0] * x - shift[0] * z, camera.focal[1] * y + shift[1] * z
    return torch.stack([across / half, up / half, z], dim=-1)


@dataclass(frozen=True)
class RenderJob:
    """One frame to draw: everything that carries no gradients. colour: True for colours, False for coverage."""

    scene: Any
    params: Any
    corners: Any
    colour_corners: Any
    width: int
    texture: Any
    lit: Any
    colour: bool
    samples: int
    gradient_samples: int
    seed: int

    def integrator(self, rows: Any, values: Any, image: Any) -> Any:
        """Return the integrator for the colours or the coverage of this frame."""
        mi, _ = load()
        from .integrator import MatchedIntegrator, MeshShading

        made = MatchedIntegrator(mi.Properties())
        made.sppi, made.guiding = 0, "none"
        if self.colour:
            made.shading = MeshShading(
                self.corners, rows, self.colour_corners, values, self.width, image, self.texture, self.lit
            )
        return made

    def place(self, points: Any) -> None:
        """Move the mesh to ``points``."""
        self.params["object.vertex_positions"] = points
        self.params.update()


def _flatten(tensor: Tensor) -> Any:
    """Return a tensor as a flat Dr.Jit array."""
    mi, _ = load()
    return mi.Float(np.ascontiguousarray(tensor.detach().numpy(), np.float32).reshape(-1))


class _RenderFrame(torch.autograd.Function):
    """Autograd function (job, points, rows, values, image) -> (height, width, 3)."""

    @staticmethod
    def forward(ctx: Any, job: RenderJob, *inputs: Tensor) -> Tensor:
        points, *rest = (_flatten(each) for each in inputs)
        job.place(points)
        found = job.integrator(*rest).render(job.scene, 0, job.seed, job.samples)
        ctx.job = job
        ctx.save_for_backward(*inputs)
        return torch.from_numpy(np.array(found, dtype=np.float32))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj: Tensor) -> tuple[Any, ...]:
        mi, dr = load()
        job: RenderJob = ctx.job
        given = ctx.saved_tensors  # read once: torch.utils.checkpoint hands them out once
        leaves = [_flatten(each) for each in given]
        wanted = ctx.needs_input_grad[1:]
        for leaf, needed in zip(leaves, wanted, strict=True):
            if needed:
                dr.enable_grad(leaf)
        job.place(leaves[0])
        integrator = job.integrator(*leaves[1:])
        adj_image = mi.TensorXf(np.ascontiguousarray(adj.numpy(), np.float32))
        try:
            _backpropagate(job, integrator, adj_image)
        except RuntimeError as cause:
            if "empty distribution" not in str(cause):
                raise
            integrator.sppp = 0  # no silhouette is visible, so that none can be sampled
            _backpropagate(job, integrator, adj_image)
        found = [
            torch.from_numpy(np.array(dr.grad(leaf), dtype=np.float32)).reshape(like.shape) if needed else None
            for leaf, like, needed in zip(leaves, given, wanted, strict=True)
        ]
        job.place(dr.detach(leaves[0]))
        return None, *found


def _backpropagate(job: RenderJob, integrator: Any, adj_image: Any) -> None:
    """Add the cotangents of an image's inputs to their gradients."""
    integrator.render_backward(job.scene, None, adj_image, 0, job.seed + GRADIENT_SEED, job.gradient_samples)


def read_colour_rows(surface: Surface) -> tuple[Tensor, Tensor]:
    """Return rows of colours or texture coordinates, (rows, 3 or 2) or with frames before, and the rows at the
    corners.
    """
    made = read_appearance(surface, None)
    values = made.values.reshape(-1, made.stride, made.values.shape[-1]) if made.stride else made.values
    return values, torch.as_tensor(made.corners.faces).long()


def render(
    renderer: MitsubaRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw all frames, one after another."""
    mi, _ = load()
    use_threads(renderer.threads)
    points = shear_points(surface.vertices, camera).expand(frames, -1, -1)
    world = surface.vertices.expand(frames, -1, -1)
    lit_rows = torch.cat([world, compute_vertex_normals(world.contiguous(), surface.faces)], dim=-1)
    index = np.ascontiguousarray(surface.faces.numpy().astype(np.uint32))
    scene, params = _make_scene(index.tobytes(), int(points.shape[1]), (camera.height, camera.width), camera.near)
    values, corners = read_colour_rows(surface)
    values = values.expand(frames, *values.shape[-2:])
    texture = surface.texture
    image = world.new_zeros((1, 1, 3)) if texture is None else texture.image
    image = image.expand(frames, *image.shape[-3:])
    eyes = camera.eye.expand(frames, 3)
    drawn, covered = [], []
    for k in range(frames):
        job = RenderJob(
            scene, params, mi.UInt32(index.reshape(-1)), mi.UInt32(corners.numpy().astype(np.uint32).reshape(-1)),
            int(values.shape[-1]), None if texture is None else make_reader(texture),
            make_shader(surface.materials[0], lights, eyes[k]), True, renderer.samples, renderer.gradient_samples,
            renderer.seed_for(k),
        )  # fmt: skip
        given = points[k], lit_rows[k], values[k], image[k]
        if "rgba" in outputs:
            drawn.append(_RenderFrame.apply(job, *given))  # type: ignore[no-untyped-call]
        # Coverage uses the samples of the colour, so that both have the same part of a pixel at an edge.
        job = RenderJob(**{**vars(job), "colour": False})
        covered.append(_RenderFrame.apply(job, *given)[..., 0])  # type: ignore[no-untyped-call]
    alpha = torch.stack(covered).clamp(0.0, 1.0)
    rgba = None
    if "rgba" in outputs:
        behind = alpha.new_tensor(renderer.background)
        rgb = torch.stack(drawn) + (1.0 - alpha[..., None]) * behind
        rgba = torch.cat([rgb, alpha[..., None]], dim=-1)
    return Image(rgba, alpha if "silhouette" in outputs else None)
