from diffloom.interfaces import (
    AmbientLight as AmbientLight,
    Camera as Camera,
    Checkpointed as Checkpointed,
    Control as Control,
    DirectionalLight as DirectionalLight,
    HarmonicLight as HarmonicLight,
    Image as Image,
    Material as Material,
    NoGradient as NoGradient,
    PointLight as PointLight,
    State as State,
    StoreAll as StoreAll,
    Surface as Surface,
    Texture as Texture,
    Trajectory as Trajectory,
)
from diffloom.plugins import (
    get_integrator as get_integrator,
    get_model as get_model,
    get_renderer as get_renderer,
)
from diffloom.simulation import batch_surface as batch_surface, simulate as simulate

__version__: str
