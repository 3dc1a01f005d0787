from diffloom_raster.drawing import (
    SceneStyle as SceneStyle,
    SceneTensors as SceneTensors,
    draw_in_front as draw_in_front,
    find_faces as find_faces,
    make_sample_scene as make_sample_scene,
    read_scene as read_scene,
)
from diffloom_raster.layout import (
    BehindNearError as BehindNearError,
    ImageLayout as ImageLayout,
    Topology as Topology,
    find_topology as find_topology,
    find_whole_layout as find_whole_layout,
    make_cut_layout as make_cut_layout,
)
from diffloom_raster.lighting import (
    DEFAULT_LIGHTS as DEFAULT_LIGHTS,
    as_rgb as as_rgb,
    as_vector as as_vector,
    compute_vertex_normals as compute_vertex_normals,
    count_light_columns as count_light_columns,
    harmonics as harmonics,
    irradiance as irradiance,
    make_light_tables as make_light_tables,
    shade as shade,
    split_light_cotangents as split_light_cotangents,
)
from diffloom_raster.projection import (
    NearCut as NearCut,
    clip_near as clip_near,
    count_frames as count_frames,
    project as project,
    read_camera as read_camera,
    split_camera_cotangents as split_camera_cotangents,
    to_camera_axes as to_camera_axes,
)
from diffloom_raster.rasterisation import (
    NO_LIMIT as NO_LIMIT,
    Raster as Raster,
    allocate_coverage as allocate_coverage,
    allocate_mask as allocate_mask,
    allocate_triangles as allocate_triangles,
    draw_soft_mask as draw_soft_mask,
    group_pixels as group_pixels,
    interpolate as interpolate,
    rasterise as rasterise,
)
from diffloom_raster.scene import check_limit as check_limit, check_rgb as check_rgb, check_scene as check_scene
from diffloom_raster.scene_adjoint import (
    FusedDrawing as FusedDrawing,
    FusedPlan as FusedPlan,
    SceneAdjoint as SceneAdjoint,
    allocate_point_cotangents as allocate_point_cotangents,
    allocate_slots as allocate_slots,
    make_shading as make_shading,
)
from diffloom_raster.surfaces import (
    GREY as GREY,
    SurfaceAppearance as SurfaceAppearance,
    count_texture_copies as count_texture_copies,
    read_appearance as read_appearance,
    sample_texture as sample_texture,
)
