from diffloom_control.goals import (
    Goal as Goal,
    goal_target as goal_target,
    pose_goal as pose_goal,
    track_target as track_target,
)
from diffloom_control.networks import (
    Network as Network,
    load_policy as load_policy,
    network_policy as network_policy,
    save_policy as save_policy,
)
from diffloom_control.observations import (
    SeesImage as SeesImage,
    SeesState as SeesState,
    Splines as Splines,
)
