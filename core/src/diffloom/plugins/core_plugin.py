"""What the core itself offers, through the same hooks as everyone's plugins."""

from diffloom.plugins.hookspecs import PLUGIN_API, Register, hookimpl

DIFFLOOM_PLUGIN_API = PLUGIN_API


@hookimpl
def diffloom_register_integrators(register: Register) -> None:
    """Offer the integrators of the core."""
    register(
        "semi_implicit",
        "diffloom.dynamics.integrators.semi_implicit:SemiImplicitEuler",
        summary="Semi-implicit Euler: fast, explicit, small steps",
    )
    register(
        "backward_euler",
        "diffloom.dynamics.integrators.backward_euler:BackwardEuler",
        summary="Backward Euler: Newton's method, stable at large steps",
    )
    register(
        "leapfrog",
        "diffloom.dynamics.integrators.leapfrog:Leapfrog",
        summary="Leapfrog: second order, symplectic, two force evaluations a step",
    )
    register(
        "rk4",
        "diffloom.dynamics.integrators.rk4:RungeKutta4",
        summary="Runge-Kutta: fourth order, for smooth motion",
    )
    register(
        "implicit_midpoint",
        "diffloom.dynamics.integrators.implicit_midpoint:ImplicitMidpoint",
        summary="Implicit midpoint: second order, stable at large steps, no damping of its own",
    )
    register(
        "custom_step",
        "diffloom.dynamics.integrators.custom_step:CustomStepping",
        summary="Runs systems that bring a step of their own",
        formerly=("own_step",),
    )


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Offer the commands of the core."""
    register("plugins", "diffloom.cli.plugins:plugins", summary="List, check and create plugins")
    register("explain", "diffloom.cli.explain:explain", summary="Explain a parameter, a setting or a key of a file")
    register("doctor", "diffloom.cli.doctor:doctor", summary="Say what runs here, what does not, and why")


@hookimpl
def diffloom_register_contact_laws(register: Register) -> None:
    """Offer the contact laws of the core."""
    home = "diffloom.contact.laws"
    register(
        "hunt_crossley", f"{home}:HuntCrossley", summary="Damping in proportion to depth: gradients survive impacts"
    )
    register("linear", f"{home}:Linear", summary="Damping in proportion to speed, as in the gradSim paper")
    register(
        "hysteresis", "diffloom.contact.hysteresis:Hysteresis", summary="One restitution at all speeds, smooth at touch"
    )


@hookimpl
def diffloom_register_terms(register: Register) -> None:
    """Offer the obstacles of the core, and air."""
    solid = "diffloom.contact.obstacles"
    register("sphere", f"{solid}:Sphere", summary="Obstacle: a ball that particles and rigid bodies touch")
    register("box", f"{solid}:Box", summary="Obstacle: a box, in any orientation")
    register("capsule", f"{solid}:Capsule", summary="Obstacle: a cylinder with round ends")
    register("plane", f"{solid}:Plane", summary="Obstacle: a plane besides the ground")
    register("height_field", "diffloom.contact.height_field:HeightField", summary="Obstacle: ground of given heights")
    register("air", "diffloom.air.term:Air", summary="Air around rigid bodies: drag, Magnus lift, what brakes rotation")
    register("mesh", "diffloom.contact.mesh_obstacle:Mesh", summary="Obstacle: a closed mesh, by signed distances")
