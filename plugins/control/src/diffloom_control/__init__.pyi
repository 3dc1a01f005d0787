from diffloom_control.goals import (
    Goal as Goal,
    make_goal_target as make_goal_target,
    make_pose_goal as make_pose_goal,
    make_track_target as make_track_target,
)
from diffloom_control.networks import (
    Network as Network,
    load_policy as load_policy,
    make_network_policy as make_network_policy,
    save_policy as save_policy,
)
from diffloom_control.observations import (
    ImageObservation as ImageObservation,
    SplineFeatures as SplineFeatures,
    StateObservation as StateObservation,
)
