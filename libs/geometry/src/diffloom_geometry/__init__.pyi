from diffloom_geometry.closed_meshes import (
    VolumeIntegrals as VolumeIntegrals,
    check_closed as check_closed,
    compute_signed_volumes as compute_signed_volumes,
    compute_winding_numbers as compute_winding_numbers,
    integrate_capsule as integrate_capsule,
    integrate_sphere as integrate_sphere,
    integrate_volume as integrate_volume,
    read_closed_mesh as read_closed_mesh,
)
from diffloom_geometry.drawn_area import match_surface as match_surface, measure_surface as measure_surface
from diffloom_geometry.incidence import Indices as Indices, assemble as assemble, take as take
from diffloom_geometry.mesh_files import is_surface_mesh as is_surface_mesh, read_triangles as read_triangles
from diffloom_geometry.tet_files import read_solid as read_solid, write_tet as write_tet
from diffloom_geometry.tet_fill import fill_surface as fill_surface
from diffloom_geometry.tet_shapes import ball as ball, beam as beam, box as box, gear as gear
from diffloom_geometry.tetmesh import (
    SolidSurface as SolidSurface,
    TetMesh as TetMesh,
    TextureMap as TextureMap,
    check_tetmesh as check_tetmesh,
    extract_surface as extract_surface,
)
from diffloom_geometry.triangle_meshes import (
    Edges as Edges,
    Faces as Faces,
    Points as Points,
    check_triangles as check_triangles,
    find_edges as find_edges,
    sample_surface as sample_surface,
)
