from diffloom_control.features import Splines as Splines
from diffloom_control.goals import (
    Goal as Goal,
    goal_target as goal_target,
    pose_goal as pose_goal,
)
from diffloom_control.networks import (
    Network as Network,
    network_policy as network_policy,
)
from diffloom_control.observations import (
    SeesImage as SeesImage,
    SeesState as SeesState,
)
from diffloom_control.tracks import track_target as track_target
from diffloom_control.weights_file import (
    load_policy as load_policy,
    save_policy as save_policy,
)
