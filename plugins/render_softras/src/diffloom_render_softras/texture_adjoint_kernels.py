"""The cotangent of a texture: pixels scatter into copies of it, each copy filled by one hand in a fixed order."""

from __future__ import annotations

from diffloom_kernels import anyl, device, maximum, minimum, mul3, where
from diffloom_raster.bin_kernels import TILE, tile_corner
from diffloom_raster.lane_kernels import first_of, lane_of, width_of
from diffloom_raster.power_kernels import expv
from diffloom_raster.texture_kernels import sample_scatter

from .blend_adjoint_kernels import load_saved
from .blend_kernels import fragment, reference_depth
from .surface_kernels import lit_factor, mix2, point_rows, value_rows


@device
def scatter_run(e, weighs, uv, first, adj, texels, copy, adj_image):
    """Add a run of pixels one by one."""
    for k in range(width_of(e)):
        if lane_of(weighs, k):
            c = lane_of(adj[0], k), lane_of(adj[1], k), lane_of(adj[2], k)
            sample_scatter(lane_of(uv[0], k), lane_of(uv[1], k), first, texels, c, copy, adj_image)


@device
def texture_adjoint(
    e, chunks, wants, grid, mesh, fragments, blur, fade, surfacing, lighting, coverage, images, adj_planes, adj_image
):
    """adj_image[copy] for a stripe e of columns of the tiles of one chunk of entries."""
    triangles, lists = fragments.triangles, fragments.lists
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    s = first_of(e)
    chunk, copy = s // TILE, s // width_of(e)
    entries = lists.triangle.shape[0]
    for n in range(chunk * entries // chunks, (chunk + 1) * entries // chunks):
        t = lists.triangle[n]
        frame, top, left = tile_corner(lists.tile[n], grid)
        here = e + (left + s % TILE - s)
        x = grid.columns[here]
        value_at, point_at = value_rows(t, frame, triangles.swapped, surfacing), point_rows(t, triangles.swapped, mesh)
        for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
            g = adj_planes[frame, 0, row, here], adj_planes[frame, 1, row, here], adj_planes[frame, 2, row, here]
            p, q, z, weighs = fragment(
                t, frame, row, here, x, grid.rows[row], wants.limited, mesh, outline, blur, fragments.limit
            )
            behind = (reference_depth(coverage.nearest[frame, row, here], fade, outline) - z) * fade.sharp
            weighs = weighs & (behind > fade.cut)
            if anyl(weighs):
                colour, depth, share = load_saved(frame, row, here, images)
                part = where(weighs, p * expv(behind) * share, R(0.0))
                factor = lit_factor(t, q, point_at, frame, lighting)
                adj = mul3(g, part)
                adj = adj[0] * factor[0], adj[1] * factor[1], adj[2] * factor[2]
                uv = mix2(q, value_at, surfacing.values)
                first = frame * surfacing.texels.stride
                scatter_run(e, weighs, uv, first, adj, surfacing.texels, copy, adj_image)
