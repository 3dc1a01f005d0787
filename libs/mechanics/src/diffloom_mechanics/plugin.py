"""Registrations of diffloom-mechanics, as import paths, so that torch and numba are imported on first use."""

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_mechanics.kinds import CONTACT_LAWS, TERMS

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [CONTACT_LAWS, TERMS]


@hookimpl
def diffloom_register_integrators(register: Register) -> None:
    """Register the integrators."""
    register(
        "semi_implicit",
        "diffloom_mechanics.integrators:SemiImplicitEuler",
        summary="Semi-implicit Euler: fast, explicit, small steps",
    )
    register(
        "backward_euler",
        "diffloom_mechanics.integrators:BackwardEuler",
        summary="Backward Euler: Newton's method, stable at large steps",
    )
    register(
        "leapfrog",
        "diffloom_mechanics.integrators:Leapfrog",
        summary="Leapfrog: second order, symplectic, two force evaluations a step",
    )
    register(
        "rk4",
        "diffloom_mechanics.integrators:RungeKutta4",
        summary="Runge-Kutta: fourth order, for smooth motion",
    )
    register(
        "implicit_midpoint",
        "diffloom_mechanics.integrators:ImplicitMidpoint",
        summary="Implicit midpoint: second order, stable at large steps, no numerical damping",
    )
    register(
        "custom_step",
        "diffloom_mechanics.integrators:CustomStepping",
        summary="Runs systems that bring a step of their own",
    )


@hookimpl
def diffloom_register_contact_laws(register: Register) -> None:
    """Register the contact laws."""
    register(
        "hunt_crossley",
        "diffloom_mechanics.contact.laws:HuntCrossley",
        summary="Damping in proportion to depth: gradients survive impacts",
    )
    register(
        "linear",
        "diffloom_mechanics.contact.laws:LinearContact",
        summary="Damping in proportion to speed, as in the gradSim paper",
    )
    register(
        "hysteresis",
        "diffloom_mechanics.contact.laws:Hysteresis",
        summary="One restitution at all speeds, smooth at touch",
    )


@hookimpl
def diffloom_register_terms(register: Register) -> None:
    """Register the obstacles, and air."""
    register(
        "sphere",
        "diffloom_mechanics.contact.obstacles:Sphere",
        summary="Obstacle: a ball that particles and rigid bodies touch",
    )
    register("box", "diffloom_mechanics.contact.obstacles:Box", summary="Obstacle: a box, in any orientation")
    register("capsule", "diffloom_mechanics.contact.obstacles:Capsule", summary="Obstacle: a cylinder with round ends")
    register("plane", "diffloom_mechanics.contact.obstacles:Plane", summary="Obstacle: a plane besides the ground")
    register(
        "height_field",
        "diffloom_mechanics.contact.sampled_obstacles:HeightField",
        summary="Obstacle: ground of given heights",
    )
    register(
        "mesh",
        "diffloom_mechanics.contact.sampled_obstacles:MeshObstacle",
        summary="Obstacle: a closed mesh, by signed distances",
    )
    register(
        "air",
        "diffloom_mechanics.air:Air",
        summary="Air around rigid bodies: drag, Magnus lift, rotational damping",
    )
