from diffloom_raster.drawing import (
    SceneStyle as SceneStyle,
    SceneTensors as SceneTensors,
    draw_in_front as draw_in_front,
    find_faces as find_faces,
    read_scene as read_scene,
    sample_scene as sample_scene,
)
from diffloom_raster.layout import (
    BehindNearError as BehindNearError,
    Layout as Layout,
    Topology as Topology,
    cut_layout as cut_layout,
    find_topology as find_topology,
    whole_layout as whole_layout,
)
from diffloom_raster.lighting import (
    DEFAULT_LIGHTS as DEFAULT_LIGHTS,
    as_rgb as as_rgb,
    as_vector as as_vector,
    harmonics as harmonics,
    irradiance as irradiance,
    light_columns as light_columns,
    light_cotangents as light_cotangents,
    light_tables as light_tables,
    shade as shade,
    vertex_normals as vertex_normals,
)
from diffloom_raster.projection import (
    Split as Split,
    camera_cotangents as camera_cotangents,
    camera_points as camera_points,
    camera_tensors as camera_tensors,
    clip_near as clip_near,
    count_frames as count_frames,
    project as project,
)
from diffloom_raster.rasterisation import (
    NO_LIMIT as NO_LIMIT,
    Raster as Raster,
    interpolate as interpolate,
    new_coverage as new_coverage,
    new_mask as new_mask,
    new_triangles as new_triangles,
    pixel_lists as pixel_lists,
    rasterise as rasterise,
    soft_mask as soft_mask,
)
from diffloom_raster.scene import check_limit as check_limit, check_rgb as check_rgb, check_scene as check_scene
from diffloom_raster.surfaces import (
    GREY as GREY,
    Appearance as Appearance,
    count_texture_copies as count_texture_copies,
    read_appearance as read_appearance,
    sample_texture as sample_texture,
)
