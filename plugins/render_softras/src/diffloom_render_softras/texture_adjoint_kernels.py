"""The cotangent of a texture: pixels scatter into copies of it, each copy filled by one hand in a fixed order."""

from __future__ import annotations

from diffloom.kernels import anyl, device, mul3, where
from diffloom.shading.kernels.powers import expv
from diffloom.shading.kernels.runs import first_of, lane_of, width_of
from diffloom.shading.kernels.sampling import sample_scatter
from diffloom.shading.kernels.tiles import TILE

from .blend import fragment, reference_depth
from .blend_adjoint import load_saved
from .pixels import tile_corner
from .surface import lit_factor, mix, point_rows, value_rows


@device
def scatter_run(e, seen, value, adj, look, copy, adj_image):
    """Add a run of pixels one by one."""
    for k in range(width_of(e)):
        if lane_of(seen, k):
            c = lane_of(adj[0], k), lane_of(adj[1], k), lane_of(adj[2], k)
            sample_scatter(lane_of(value[0], k), lane_of(value[1], k), (look[1], look[2]), c, copy, adj_image)


@device
def texture_adjoint(
    e, limited, chunks, mesh, shape, lists, view, soft, fade, limit, look, light, saved, adj_planes, adj_image,
):  # fmt: skip
    """adj_image[copy] for a stripe e of columns of the tiles of one chunk of entries."""
    record, box, swapped = shape
    R = record.dtype.type
    s = first_of(e)
    chunk, copy = s // TILE, s // width_of(e)
    entries = lists[2].shape[0]
    for n in range(chunk * entries // chunks, (chunk + 1) * entries // chunks):
        t = lists[2][n]
        frame, top, left = tile_corner(lists[3][n], view)
        here = e + (left + s % TILE - s)
        x = view[2][here]
        for row in range(max(top, box[t, 1]), min(top + TILE, box[t, 3] + 1)):
            g = adj_planes[frame, 0, row, here], adj_planes[frame, 1, row, here], adj_planes[frame, 2, row, here]
            p, q, z, seen = fragment(t, frame, row, here, x, view[3][row], limited, mesh, record, soft, limit)
            behind = (reference_depth(saved[1][frame, row, here], fade, record) - z) * fade[0]
            seen = seen & (behind > fade[1])
            if anyl(seen):
                colour, depth, share = load_saved(frame, row, here, saved)
                part = where(seen, p * expv(behind) * share, R(0.0))
                factor = lit_factor(q, point_rows(t, shape, mesh), frame, light)
                adj = mul3(g, part)
                adj = adj[0] * factor[0], adj[1] * factor[1], adj[2] * factor[2]
                scatter_run(e, seen, mix(q, value_rows(t, shape, look), look[4]), adj, look, copy, adj_image)
