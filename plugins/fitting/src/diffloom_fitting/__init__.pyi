from diffloom_fitting.costs import ControlCosts as ControlCosts
from diffloom_fitting.experiment import Experiment as Experiment
from diffloom_fitting.fits import (
    fit as fit,
)
from diffloom_fitting.fits import (
    run_fit as run_fit,
)
from diffloom_fitting.goal_outcome import Reached as Reached
from diffloom_fitting.gradient_check import check_gradient as check_gradient
from diffloom_fitting.kinds import (
    CAMERAS as CAMERAS,
)
from diffloom_fitting.kinds import (
    LOSSES as LOSSES,
)
from diffloom_fitting.kinds import (
    OPTIMISERS as OPTIMISERS,
)
from diffloom_fitting.kinds import (
    cameras as cameras,
)
from diffloom_fitting.kinds import (
    get_camera as get_camera,
)
from diffloom_fitting.kinds import (
    get_loss as get_loss,
)
from diffloom_fitting.kinds import (
    get_optimiser as get_optimiser,
)
from diffloom_fitting.kinds import (
    losses as losses,
)
from diffloom_fitting.kinds import (
    optimisers as optimisers,
)
from diffloom_fitting.losses import (
    CentreError as CentreError,
)
from diffloom_fitting.losses import (
    InteriorError as InteriorError,
)
from diffloom_fitting.losses import (
    IoU as IoU,
)
from diffloom_fitting.losses import (
    Loss as Loss,
)
from diffloom_fitting.losses import (
    Moments as Moments,
)
from diffloom_fitting.losses import (
    MultiScale as MultiScale,
)
from diffloom_fitting.losses import (
    PixelError as PixelError,
)
from diffloom_fitting.losses import (
    Region as Region,
)
from diffloom_fitting.losses import (
    SilhouetteError as SilhouetteError,
)
from diffloom_fitting.losses import (
    StateError as StateError,
)
from diffloom_fitting.losses import (
    TrackError as TrackError,
)
from diffloom_fitting.objective import (
    Evaluation as Evaluation,
)
from diffloom_fitting.objective import (
    Objective as Objective,
)
from diffloom_fitting.optimisers import (
    Adam as Adam,
)
from diffloom_fitting.optimisers import (
    BasinHopping as BasinHopping,
)
from diffloom_fitting.optimisers import (
    CmaEs as CmaEs,
)
from diffloom_fitting.optimisers import (
    FitError as FitError,
)
from diffloom_fitting.optimisers import (
    GaussNewton as GaussNewton,
)
from diffloom_fitting.optimisers import (
    Lbfgs as Lbfgs,
)
from diffloom_fitting.optimisers import (
    LineScan as LineScan,
)
from diffloom_fitting.optimisers import (
    Optimiser as Optimiser,
)
from diffloom_fitting.optimisers import (
    Progress as Progress,
)
from diffloom_fitting.optimisers import (
    Sgd as Sgd,
)
from diffloom_fitting.optimisers import (
    first_evaluation as first_evaluation,
)
from diffloom_fitting.optimisers import (
    take_step as take_step,
)
from diffloom_fitting.priors import Gaussian as Gaussian
from diffloom_fitting.result import (
    Estimate as Estimate,
)
from diffloom_fitting.result import (
    Result as Result,
)
from diffloom_fitting.scene import (
    Appearance as Appearance,
)
from diffloom_fitting.scene import (
    CameraPlacement as CameraPlacement,
)
from diffloom_fitting.scene import (
    FreeCamera as FreeCamera,
)
from diffloom_fitting.scene import (
    Observation as Observation,
)
from diffloom_fitting.scene import (
    Orbit as Orbit,
)
from diffloom_fitting.scene import (
    Policy as Policy,
)
from diffloom_fitting.scene import (
    Rollout as Rollout,
)
from diffloom_fitting.scene import (
    Scene as Scene,
)
from diffloom_fitting.scene import (
    Sensor as Sensor,
)
from diffloom_fitting.scene import (
    Sinusoids as Sinusoids,
)
from diffloom_fitting.scene import (
    Tracked as Tracked,
)
from diffloom_fitting.scene import (
    View as View,
)
from diffloom_fitting.scene import (
    Viewpoint as Viewpoint,
)
from diffloom_fitting.scene import (
    Waypoint as Waypoint,
)
from diffloom_fitting.schedules import Schedule as Schedule
from diffloom_fitting.stages import (
    Stage as Stage,
)
from diffloom_fitting.stages import (
    Stop as Stop,
)
from diffloom_fitting.targets import (
    Target as Target,
)
from diffloom_fitting.targets import (
    Targets as Targets,
)
from diffloom_fitting.targets import (
    synthesise as synthesise,
)
from diffloom_fitting.targets import (
    synthesise_views as synthesise_views,
)
from diffloom_fitting.trust import (
    Finding as Finding,
)
from diffloom_fitting.trust import (
    Verdict as Verdict,
)
from diffloom_fitting.unknowns import Unknown as Unknown
