"""Schema of experiment files: every table and key with its type and description; `diffloom schema` prints it as JSON
schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from diffloom_experiments.values import FramesTable, Named, Number, ScheduleTable, StartsTable, StopTable, Table

Vector = tuple[Number, Number, Number]
StepSize = Annotated[Number, Field(gt=0.0)] | Literal["auto"]
GradientPolicy = Literal["store_all", "checkpointed"]


class TermTable(Table):
    """Registered force term that is added to the model, such as an obstacle; its settings stand beside its kind."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="your name for it: its parameters are called <name>.<parameter>")
    kind: str = Field(description="a registered term, such as sphere; see diffloom plugins")
    on: str | None = Field(None, description="node set it acts on, if the model has several that it fits")

    @property
    def settings(self) -> dict[str, Any]:
        """All keys but name, kind and on."""
        return dict(self.model_extra or {})


class BodyTable(Table):
    """One of several bodies in a world."""

    name: str = Field(description="your name for it: its parameters are called <name>.<parameter>")
    model: Named = Field(description="its model's registered name, and the arguments it is made with")
    colour: Vector | None = Field(None, description="rgb, 0..1; the model's own when absent")
    texture: str | None = Field(None, description="image file of its texture, if the model has texture coordinates")
    material: dict[str, Any] | None = Field(None, description="its shading, ambient, diffuse, specular and shininess")

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of this body as the model "world" takes them."""
        own = {"name": self.name, "model": {"name": self.model.name, **self.model.settings}}
        shown = {"colour": self.colour, "texture": self.texture, "material": self.material}
        return own | {key: value for key, value in shown.items() if value is not None}


class TimeTable(Table):
    """Clock of the physics."""

    dt: StepSize = Field(
        "auto",
        description='physics step [s], more than 0, or a fraction such as "1/960"; "auto" takes half of the stable '
        "step of the start and of the true values",
    )
    steps: int | None = Field(None, ge=1, description="number of steps; or give duration")
    duration: Number | None = Field(None, gt=0.0, description="length of the simulation [s]; or give steps")
    integrator: Named | None = Field(None, description="integrator and its settings; absent: the model's default")
    windows: list[Number] = Field(
        [],
        description="times [s] at which unknowns with windows = true change, such as the restitution of each bounce; "
        'guess = "bounces" finds them',
    )
    gradient: GradientPolicy = Field("store_all", description="keep every state, or recompute segments to save memory")


class WaypointTable(Table):
    """Position of a moving camera at one time; absent keys are as in the camera's table."""

    time: Number = Field(description="time of the video [s]; between two waypoints the camera moves linearly")
    distance: Number | None = Field(None, gt=0.0, description="distance from the target [m]")
    elevation: Number | None = Field(None, description="angle above the horizon [degrees]")
    azimuth: Number | None = Field(None, description="angle around the vertical [degrees]")
    target: Vector | None = Field(None, description="point that the camera looks at [m]")


class SizeTable(Table):
    """Size of images taken from the video."""

    longest: int = Field(ge=1, description="pixels of the longer side, at most; the shape is the video's")


class CameraTable(Table):
    """Placement of the camera, and properties of its recording.

    The keys distance, elevation, azimuth, target, fov and path belong to the kind "orbit".
    """

    kind: str = Field("orbit", description="a registered kind of camera")
    settings: dict[str, Any] = Field({}, description="settings of a kind other than orbit")
    distance: Number = Field(8.0, gt=0.0, description="distance from the target [m]")
    elevation: Number = Field(30.0, description="angle above the horizon [degrees]")
    azimuth: Number = Field(0.0, description="angle around the vertical [degrees]; 0 looks along -z")
    target: Vector = Field((0.0, 0.0, 0.0), description="point that the camera looks at [m]")
    fov: Number = Field(60.0, gt=0.0, lt=180.0, description="vertical field of view [degrees]")
    size: tuple[int, int] | SizeTable = Field(
        (256, 256), description="height and width of the images [px], or { longest = 320 } for the video's shape"
    )
    near: Number = Field(0.1, gt=0.0, description="near plane: nothing closer is drawn [m]")
    far: Number = Field(100.0, gt=0.0, description="far plane, by which depths are normalised [m]")
    path: list[WaypointTable] = Field([], description="waypoints of a moving camera, at least two")
    roll: Number = Field(0.0, description="rotation about the viewing axis [degrees]")
    centre: tuple[Number, Number] = Field(
        (0.0, 0.0), description="principal point, right of and below the middle of the image [px]"
    )
    lens_blur: Number = Field(
        0.0, ge=0.0, description="radius of the Gaussian spot into which the lens blurs a point [px]"
    )
    distortion: tuple[Number, Number, Number, Number, Number] = Field(
        (0.0, 0.0, 0.0, 0.0, 0.0), description="lens distortion k1, k2, p1, p2, k3 of Brown and Conrady"
    )
    exposure: Number = Field(0.0, ge=0.0, description="exposure time of a frame [s], which blurs motion")
    subframes: int = Field(1, ge=1, description="number of renderings averaged over the exposure")
    readout: Number = Field(0.0, description="time of a rolling shutter from the first row to the last [s]")
    clock: float = Field(
        1.0, gt=0.0, description="true duration over that by the video's time stamps; 1.02: frames last 2 % longer"
    )
    zoom: Number = Field(0.0, description="growth of the focal length per second, relative to its beginning [1/s]")
    gain: Number = Field(1.0, gt=0.0, description="factor on the surface's colours")
    gamma: Number = Field(1.0, gt=0.0, description="exponent of the surface's colours")
    time_offset: Number = Field(0.0, description="time t of the video is t + time_offset of the simulation [s]")


class AppearanceTable(Table):
    """Colour and shading of the surface."""

    colour: Vector | None = Field(None, description="rgb, 0..1; the model's own when absent")
    pattern: Literal["uniform", "position", "stripes"] = Field("uniform", description="pattern laid over the colour")
    shading: Literal["unlit", "lambert", "phong"] | None = Field(None, description="the model's own when absent")
    ambient: float = Field(1.0, ge=0.0, description="factor on ambient light")
    diffuse: float = Field(1.0, ge=0.0, description="factor on diffuse light")
    specular: float = Field(1.0, ge=0.0, description="factor on highlights")
    shininess: float = Field(64.0, gt=0.0, description="exponent of highlights: the larger, the smaller they are")


class LightTable(Table):
    """One light."""

    kind: Literal["ambient", "point", "directional"] = Field(description="kind of light")
    colour: float | Vector | None = Field(None, description="rgb of an ambient light")
    position: Vector | None = Field(None, description="position of a point light [m]")
    direction: Vector | None = Field(None, description="direction towards a directional light")
    diffuse: float | Vector | None = Field(None, description="rgb of the diffuse light")
    specular: float | Vector | None = Field(None, description="rgb of the highlights")


class RendererTable(Table):
    """Renderer; settings stand in a table of each renderer's own name, such as [renderer.softras]."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field("softras", description="a registered renderer")

    @model_validator(mode="after")
    def _by_name(self) -> RendererTable:
        """Check that settings stand in tables of renderers."""
        for key, value in (self.model_extra or {}).items():
            if not isinstance(value, dict):
                raise ValueError(f"got {key} = {value!r}; put settings in a table of the renderer's name, such as "
                                 f"[renderer.{self.name}]")  # fmt: skip
        return self

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return the settings of one renderer.

        Args:
            name: Registered name of the renderer.
        """
        return dict((self.model_extra or {}).get(name, {}))


class PlateTable(Table):
    """Part of the video that shows the background."""

    begin: float = Field(0.0, ge=0.0, description="time in the video [s]")
    duration: float = Field(gt=0.0, description="length of the part [s]")
    every: int = Field(1, ge=1, description="use each n-th frame")


class GoalTable(Table):
    """Goal at one time: an image, a mask, a pose, or a centre."""

    image: str | None = Field(None, description="file of the image to reach")
    mask: str | None = Field(None, description="file of a mask to reach, white where the body shall be")
    pose: dict[str, Any] | None = Field(
        None,
        description="pose to reach: the start of the scene with these parameters, such as position, and its image",
    )
    centre: Vector | None = Field(None, description="centre of the nodes to reach [m]; for the loss centre")
    at: Number | list[Number] | Literal["end", "all"] = Field(
        "end", description="time of the goal [s], or several times; all: in every frame of target.rate"
    )


class TargetTable(GoalTable):
    """Target of the fit: a video, one synthesised with the values in [truth], or a goal."""

    goals: list[GoalTable] = Field([], description="several goals, at times of their own")
    track: str | list[list[Number]] | None = Field(
        None,
        description="path to follow: rows of time, column and row [s, px], or of time, x, y and z [s, m], or a CSV "
        "file of them with a header line of these names",
    )
    goal: bool = Field(False, description="true if the video is a goal to reach and not an observation")
    region: tuple[Number, Number, Number, Number] | None = Field(
        None, description="only this part of the image counts: left, top, right, bottom, 0..1"
    )

    video: str | None = Field(
        None,
        description="mp4, gif or folder of images; absent: synthesised. $DIFFLOOM_REAL_DATA/... is below the folder "
        "which that environment variable names",
    )
    reader: Named | None = Field(
        None,
        description="a registered video reader and its settings; absent: chosen for a folder or a file",
    )
    begin: float = Field(0.0, ge=0.0, description="time in the video at which the simulation starts [s]")
    duration: float | None = Field(None, gt=0.0, description="length of the part of the video to read [s]")
    every: int = Field(1, ge=1, description="read each n-th frame of the video")
    rate: Number | None = Field(
        None,
        gt=0.0,
        description="frames per second: of a folder, of a video instead of its time stamps, or of the synthesised "
        "video (absent: each step)",
    )
    rotate: Literal[0, 90, 180, 270] = Field(0, description="turn the video counter-clockwise [degrees]")
    crop: tuple[int, int, int, int] | None = Field(
        None, description="top, left, height and width of the part that is used [px of the turned video]"
    )
    gamma: float = Field(
        1.0,
        ge=0.2,
        le=5.0,
        description="exponent that makes pixel values proportional to light, in which frames are downscaled",
    )
    segment: Named | None = Field(
        None, description="a registered segmenter, such as plate, colour or motion, and its settings: makes masks"
    )
    repeats: Literal["keep", "drop"] = Field(
        "keep", description="drop: leave out frames that repeat the one before; rate then counts the remaining frames"
    )
    lost_frames: Literal["ignore", "find"] = Field(
        "ignore", description="find: detect frames that the camera lost from jumps of the track, and correct the times"
    )
    ruler: Literal["area", "across"] = Field(
        "area", description="measure of the radius of a track: the mask's area, or its width across the motion"
    )
    free_swing: Literal["ignore", "find"] = Field(
        "ignore", description="find: detect when a hand has released a pendulum, and count time from there"
    )
    masks: str | None = Field(None, description="video or folder of masks, one per frame")
    background: str | None = Field(None, description='image shown behind the surface: "median" of the video, or a file')
    plate: PlateTable | None = Field(
        None, description="part of the video whose median is the background; absent: the part that is read"
    )
    renderer: str | None = Field(None, description="synthesise with this renderer instead of the fit's")
    scene: dict[str, Any] = Field(
        {}, description="changes of the synthesised scene by dotted key: another model, other params, ..."
    )
    levels: int | None = Field(
        None, ge=1, description="number of grey levels that the synthesised video is rounded to, such as 255"
    )
    frames: FramesTable = Field(FramesTable(), description="which frames the loss sees")


class ViewTable(Table):
    """One of several cameras, with a video of its own."""

    label: str = Field(
        pattern="^[A-Za-z0-9_-]+$",
        description="name of the view in reports and files, and in the names of its unknowns: camera.<label>.azimuth",
    )
    camera: CameraTable = Field(CameraTable(), description="camera of the view; absent keys are as in [camera]")
    target: TargetTable = Field(TargetTable(), description="target of the view; absent keys are as in [target]")
    time_offset: Number = Field(
        0.0, description="the frame at time t of this video shows the simulation at t + time_offset [s]"
    )


class UnknownTable(Table):
    """Parameter that the fit searches for."""

    start: Any = Field(None, description="start value: a number, list, or draw; absent: the value in [params]")
    each: bool = Field(False, description="one value per element instead of one for all")
    only: list[int] | None = Field(None, description="numbers of the rows that are unknown; absent: all")
    space: Literal["free", "log", "bounded"] | None = Field(
        None, description="space in which the optimiser moves; absent: by the parameter's bounds"
    )
    bounds: tuple[Number | None, Number | None] | None = Field(
        None, description="lower and upper bound, narrower than the parameter's own"
    )
    scale: float = Field(1.0, gt=0.0, description="size of a typical change, in the free space")
    windows: bool = Field(
        False, description="one value for each window of time.windows, called <name>@1 and so on; start may be a list"
    )


class PolicyTable(Table):
    """Small network that drives a control; [unknowns.policy] fits its weights."""

    drives: str = Field(
        description="the control that the network drives: a parameter of the model that may change per step"
    )
    sees: Literal["time", "spline", "state", "image"] = Field(
        "time", description="input of the network: sines of the time, splines of the time, the state, or the image"
    )
    every: int = Field(16, ge=1, description="steps between two observations of the state or the image")
    phases: int = Field(8, ge=1, description="number of sines of the time, evenly spaced in phase")
    frequency: Number = Field(1.0, gt=0.0, description="frequency of these sines [Hz]")
    knots: int = Field(8, ge=4, description="number of knots of the splines, evenly spaced over the simulation")
    hidden: list[int] = Field([], description="widths of the hidden layers; none: a linear policy")
    reads: Literal["convolutions", "moments"] = Field(
        "convolutions", description="encoder of images: convolutions, or position and spread of each colour"
    )
    channels: list[int] = Field([8, 16], description="channels of the convolutions, each of stride 2")
    image_size: tuple[int, int] = Field((32, 32), description="height and width of the observed image [px]")
    frames: int = Field(1, ge=1, description="number of images in an observation; two show velocities")
    bias: bool = Field(True, description="true if the layers have a bias")
    gain: Number = Field(
        1.0, gt=0.0, description="factor on the initial weights; a small one starts with small controls"
    )
    scale: Number = Field(1.0, description="largest value of the control, which is scale times a tanh")
    only: list[int | str] | None = Field(
        None,
        description="entries of the control that the network drives, counted from 0, or regions of the model, each as "
        "one (a muscle); the remaining entries stay 0",
    )
    weights: str | None = Field(None, description="file of initial weights, such as a run's policy.pt")


class ControlTable(Table):
    """Costs of a control, which are added to the loss."""

    effort: float = Field(0.0, ge=0.0, description="weight of the controls' mean square")
    smoothness: float = Field(0.0, ge=0.0, description="weight of the mean square of their rate of change [1/s]")


class StageTable(Table):
    """One stage of a fit: an optimiser with its iterations, schedules and loss."""

    optimiser: Named = Field(
        description="a registered optimiser, such as gauss_newton, adam or lbfgs, and its settings"
    )
    iterations: int = Field(50, ge=1, description="number of iterations, unless the stage stops before")
    rate: ScheduleTable | None = Field(None, description="factor on the optimiser's own rate")
    horizon: ScheduleTable | Number | None = Field(
        None, description="part of the target's time span that the loss sees, 0..1"
    )
    renderer: dict[str, dict[str, ScheduleTable | Number]] = Field(
        {}, description="settings that change during the stage, by renderer, such as softras.sigma"
    )
    drawn_by: str | None = Field(
        None, description="a registered renderer that draws in this stage; absent: that of [renderer]"
    )
    loss: Named | None = Field(None, description="loss of this stage instead of the experiment's")
    params: dict[str, ScheduleTable | Number] = Field(
        {}, description="values of known parameters in this stage, such as friction_smoothing"
    )
    only: list[str] | None = Field(None, description="unknowns that this stage changes; absent: all")
    shared: list[str] = Field([], description="unknowns whose rows share one value in this stage")
    together: list[str] = Field([], description="unknowns whose rows change by the same amount in this stage")
    stop: StopTable = Field(StopTable(), description="when the stage ends before its iterations are used up")


class GaussianTable(Table):
    """Gaussian prior of one unknown, in its unit."""

    mean: Number | list[Number] = Field(description="the expected value, or one for each number")
    deviation: Number | list[Number] = Field(description="its standard deviation, more than 0")


class PriorTable(Table):
    """Priors, which are added to the loss."""

    gaussian: dict[str, GaussianTable] = Field(
        {}, description="by unknown: a Gaussian prior, as further residuals that Gauss-Newton, ± and the verdict see"
    )
    noise: float = Field(
        0.01,
        gt=0.0,
        description="standard deviation of a pixel (0..1), or of a track [px], against which the priors are weighted",
    )

    even: dict[str, float] = Field(
        {}, description="weight by unknown: mean squared deviation of its rows from their mean, in its unit"
    )


class ExperimentFile(Table):
    """Complete experiment file."""

    title: str = Field("A fit", description="heading of the report")
    text: str = Field("", description="a sentence or two for the report")
    seed: int = Field(0, description="seed of all draws")
    precision: Literal["float32", "float64"] = Field("float64", description="float type of all computations")
    device: str = Field("cpu", description="device of simulation and rendering: cpu or cuda")
    model: Named | None = Field(None, description="the model's registered name, and the arguments it is made with")
    bodies: list[BodyTable] = Field([], description="bodies of a world, which touch each other; instead of a model")
    contacts: list[dict[str, Any]] = Field([], description="settings of the contact between two of the bodies")
    attachments: list[dict[str, Any]] = Field([], description="springs, holds and paths of the bodies")
    terms: list[TermTable] = Field([], description="force terms added to the model, such as obstacles")
    params: dict[str, Any] = Field({}, description="known values of the parameters, in their units")
    time: TimeTable = Field(description="the clock of the physics")
    camera: CameraTable = Field(CameraTable(), description="the camera; with [[views]], their common settings")
    views: list[ViewTable] = Field([], description="several cameras, each with its own target; absent: one camera")
    appearance: AppearanceTable = AppearanceTable()
    lights: list[LightTable] = Field([], description="lights of the scene; absent: the renderer's own")
    renderer: RendererTable = RendererTable()
    target: TargetTable | None = Field(None, description="target of the fit; absent in a file that is only simulated")
    truth: dict[str, Any] = Field(
        {}, description="true values, with which the target is synthesised or the result compared"
    )
    unknowns: dict[str, UnknownTable] = Field({}, description="parameters that the fit searches for, by name")
    policy: PolicyTable | None = Field(None, description="a network that drives a control")
    guess: Named | None = Field(
        None, description="method that guesses missing starts from the video's tracks: pendulum, throw or bounces"
    )
    control: ControlTable = ControlTable()
    loss: Named = Field(Named(name="mse"), description="a registered loss and its settings")
    prior: PriorTable = PriorTable()
    assumed: dict[str, Number | str] = Field(
        {},
        description="tolerances of numbers taken as known, by name: a standard deviation, a share such as 2 %, exact, "
        "or seek; absent: the table in docs/trust.md for recorded videos, none for synthesised ones",
    )
    uncertainty: Literal["laplace", "blocks", "posterior"] = Field(
        "laplace",
        description="method of ±: the loss's curvature, the larger of it and the jackknife over time windows, or "
        "samples of the posterior",
    )
    stages: list[StageTable] = Field(
        [StageTable(optimiser=Named(name="gauss_newton"), iterations=30, stop=StopTable(change=1e-9, patience=3))],
        min_length=1,
        description="stages of the fit, one after another; absent: Gauss-Newton, with motion before materials, over a "
        "growing part of the video, coarse images before fine ones",
    )
    iterations: int | None = Field(
        None, ge=1, description="iterations of the last stage, in a file without stages; absent: 30"
    )
    starts: StartsTable = StartsTable()
