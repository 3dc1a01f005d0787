from diffloom_control.features import Splines as Splines
from diffloom_control.goals import (
    Goal as Goal,
)
from diffloom_control.goals import (
    goal_target as goal_target,
)
from diffloom_control.goals import (
    pose_goal as pose_goal,
)
from diffloom_control.networks import (
    Network as Network,
)
from diffloom_control.networks import (
    network_policy as network_policy,
)
from diffloom_control.observations import (
    SeesImage as SeesImage,
)
from diffloom_control.observations import (
    SeesState as SeesState,
)
from diffloom_control.tracks import track_target as track_target
from diffloom_control.weights_file import (
    load_policy as load_policy,
)
from diffloom_control.weights_file import (
    save_policy as save_policy,
)
