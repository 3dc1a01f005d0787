from diffloom_fitting.costs import ControlCosts as ControlCosts
from diffloom_fitting.driver import (
    run_search as run_search,
    run_searches as run_searches,
)
from diffloom_fitting.experiment import (
    AbstractExperiment as AbstractExperiment,
    Experiment as Experiment,
)
from diffloom_fitting.fits import (
    fit as fit,
    run_fit as run_fit,
)
from diffloom_fitting.goal_outcome import GoalOutcome as GoalOutcome
from diffloom_fitting.gradient_check import (
    GradientCheck as GradientCheck,
    check_gradient as check_gradient,
    check_wide_gradient as check_wide_gradient,
)
from diffloom_fitting.kinds import (
    CAMERAS as CAMERAS,
    DISPLAYS as DISPLAYS,
    LOSSES as LOSSES,
    OPTIMISERS as OPTIMISERS,
    TARGET_READERS as TARGET_READERS,
    get_camera as get_camera,
    get_loss as get_loss,
    get_optimiser as get_optimiser,
)
from diffloom_fitting.losses import (
    CentreError as CentreError,
    InteriorError as InteriorError,
    IoU as IoU,
    Loss as Loss,
    Moments as Moments,
    MultiScale as MultiScale,
    PixelError as PixelError,
    RegionLoss as RegionLoss,
    SilhouetteError as SilhouetteError,
    StateError as StateError,
    TrackError as TrackError,
)
from diffloom_fitting.objective import Objective as Objective
from diffloom_fitting.optimisers import (
    Adam as Adam,
    BasinHopping as BasinHopping,
    CmaEs as CmaEs,
    FitError as FitError,
    GaussNewton as GaussNewton,
    Lbfgs as Lbfgs,
    LineScan as LineScan,
    Optimiser as Optimiser,
    Progress as Progress,
    Sgd as Sgd,
    first_evaluation as first_evaluation,
    take_step as take_step,
)
from diffloom_fitting.optimisers.gauss_newton import Arrow as Arrow
from diffloom_fitting.priors import (
    Gaussian as Gaussian,
    ShareEvenly as ShareEvenly,
)
from diffloom_fitting.problem import (
    Evaluate as Evaluate,
    Evaluation as Evaluation,
    Problem as Problem,
    Search as Search,
)
from diffloom_fitting.quantities import quantity as quantity
from diffloom_fitting.results import (
    Estimate as Estimate,
    Result as Result,
)
from diffloom_fitting.scene import (
    Appearance as Appearance,
    CameraPlacement as CameraPlacement,
    FreeCamera as FreeCamera,
    MovingCamera as MovingCamera,
    Observation as Observation,
    Orbit as Orbit,
    Policy as Policy,
    Rollout as Rollout,
    Scene as Scene,
    Sensor as Sensor,
    Sinusoids as Sinusoids,
    View as View,
    Viewpoint as Viewpoint,
    Waypoint as Waypoint,
)
from diffloom_fitting.stages import (
    Schedule as Schedule,
    Stage as Stage,
    Stop as Stop,
)
from diffloom_fitting.stopwatch import Stopwatch as Stopwatch
from diffloom_fitting.targets import (
    Target as Target,
    Targets as Targets,
    synthesise as synthesise,
    synthesise_views as synthesise_views,
)
from diffloom_fitting.trust import (
    Verdict as Verdict,
    VerdictPart as VerdictPart,
)
from diffloom_fitting.unknowns import Unknown as Unknown
