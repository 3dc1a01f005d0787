from diffloom.batch import batch_surface as batch_surface
from diffloom.interfaces import (
    AmbientLight as AmbientLight,
)
from diffloom.interfaces import (
    Camera as Camera,
)
from diffloom.interfaces import (
    Checkpointed as Checkpointed,
)
from diffloom.interfaces import (
    Control as Control,
)
from diffloom.interfaces import (
    DirectionalLight as DirectionalLight,
)
from diffloom.interfaces import (
    HarmonicLight as HarmonicLight,
)
from diffloom.interfaces import (
    Image as Image,
)
from diffloom.interfaces import (
    Material as Material,
)
from diffloom.interfaces import (
    NoGradient as NoGradient,
)
from diffloom.interfaces import (
    PointLight as PointLight,
)
from diffloom.interfaces import (
    State as State,
)
from diffloom.interfaces import (
    StoreAll as StoreAll,
)
from diffloom.interfaces import (
    Surface as Surface,
)
from diffloom.interfaces import (
    Texture as Texture,
)
from diffloom.interfaces import (
    Trajectory as Trajectory,
)
from diffloom.plugins import (
    get_integrator as get_integrator,
)
from diffloom.plugins import (
    get_model as get_model,
)
from diffloom.plugins import (
    get_renderer as get_renderer,
)
from diffloom.plugins import (
    get_term as get_term,
)
from diffloom.simulation import simulate as simulate

__version__: str
