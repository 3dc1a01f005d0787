"""What an experiment file may say. Every table is checked; `diffloom schema` prints this as JSON schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from diffloom_experiments.values import FramesTable, Named, Number, ScheduleTable, StartsTable, StopTable, Table

Vector = tuple[Number, Number, Number]
StepSize = Annotated[Number, Field(gt=0.0)] | Literal["auto"]
GradientPolicy = Literal["store_all", "checkpointed"]


class TermTable(Table):
    """A registered force term that is added to the model, such as an obstacle; its settings stand beside its kind."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="your name for it: its parameters are called <name>.<parameter>")
    kind: str = Field(description="a registered term, such as sphere; see diffloom plugins")
    on: str | None = Field(None, description="the node set it acts on, where the model has several that it fits")

    @property
    def settings(self) -> dict[str, Any]:
        """All keys but these."""
        return dict(self.model_extra or {})


class BodyTable(Table):
    """One of several bodies in a world."""

    name: str = Field(description="your name for it: its parameters are called <name>.<parameter>")
    model: Named = Field(description="its model's registered name, and the arguments it is made with")
    colour: Vector | None = Field(None, description="rgb, 0..1; the model's own when absent")
    texture: str | None = Field(None, description="an image laid over it, where the model has texture coordinates")
    material: dict[str, Any] | None = Field(None, description="its shading, ambient, diffuse, specular and shininess")

    @property
    def settings(self) -> dict[str, Any]:
        """As the model "world" takes it."""
        own = {"name": self.name, "model": {"name": self.model.name, **self.model.settings}}
        shown = {"colour": self.colour, "texture": self.texture, "material": self.material}
        return own | {key: value for key, value in shown.items() if value is not None}


class TimeTable(Table):
    """The clock of the physics."""

    dt: StepSize = Field(
        description='physics step [s], more than 0, or a fraction such as "1/960"; "auto" takes what the model suggests'
    )
    steps: int | None = Field(None, ge=1, description="how many steps; or give duration")
    duration: Number | None = Field(None, gt=0.0, description="length of the simulation [s]; or give steps")
    integrator: Named | None = Field(None, description="integrator and its settings; absent: the model's default")
    windows: list[Number] = Field(
        [],
        description="times [s] from which on unknowns with windows = true are others, such as the restitution of each "
        "bounce; the guess bounces finds them",
    )
    gradient: GradientPolicy = Field("store_all", description="keep every state, or recompute segments to save memory")


class WaypointTable(Table):
    """Where a moving camera is at one time; what is absent is as in the camera's table."""

    time: Number = Field(description="of the video [s]; between two waypoints the camera moves linearly")
    distance: Number | None = Field(None, gt=0.0, description="from the target [m]")
    elevation: Number | None = Field(None, description="above the horizon [degrees]")
    azimuth: Number | None = Field(None, description="around the vertical [degrees]")
    target: Vector | None = Field(None, description="where it looks [m]")


class SizeTable(Table):
    """The size of images taken from the video."""

    longest: int = Field(ge=1, description="the video's own shape, with at most so many pixels on its longer side")


class CameraTable(Table):
    """Where the camera stands, and how it records. distance, elevation, azimuth, target, fov and path are those of the
    kind "orbit"."""

    kind: str = Field("orbit", description="a registered kind of camera")
    settings: dict[str, Any] = Field({}, description="of a kind other than orbit: its own settings")
    distance: Number = Field(8.0, gt=0.0, description="from the target [m]")
    elevation: Number = Field(30.0, description="above the horizon [degrees]")
    azimuth: Number = Field(0.0, description="around the vertical [degrees]; 0 looks along -z")
    target: Vector = Field((0.0, 0.0, 0.0), description="where it looks [m]")
    fov: Number = Field(60.0, gt=0.0, lt=180.0, description="vertical field of view [degrees]")
    size: tuple[int, int] | SizeTable = Field(
        (256, 256), description="height and width of the images [px], or { longest = 320 } for the video's shape"
    )
    near: Number = Field(0.1, gt=0.0, description="nothing nearer is drawn [m]")
    far: Number = Field(100.0, gt=0.0, description="depths are normalised up to here [m]")
    path: list[WaypointTable] = Field([], description="waypoints of a camera that moves, at least two")
    roll: Number = Field(0.0, description="about the viewing axis [degrees]")
    centre: tuple[Number, Number] = Field((0.0, 0.0), description="of the lens, right and down of the middle [px]")
    distortion: tuple[Number, Number, Number, Number, Number] = Field(
        (0.0, 0.0, 0.0, 0.0, 0.0), description="of the lens: k1, k2, p1, p2, k3 of Brown and Conrady"
    )
    lens_blur: Number = Field(0.0, ge=0.0, description="radius of the Gaussian spot that a point is seen as [px]")
    exposure: Number = Field(0.0, ge=0.0, description="how long a frame is exposed [s]: motion blur")
    subframes: int = Field(1, ge=1, description="how often a frame is drawn within its exposure")
    readout: Number = Field(0.0, description="from the first row to the last of a rolling shutter [s]")
    gain: Number = Field(1.0, gt=0.0, description="factor on the surface's colours")
    gamma: Number = Field(1.0, gt=0.0, description="exponent of the surface's colours")
    time_offset: Number = Field(0.0, description="time t of the video is t + time_offset of the simulation [s]")


class AppearanceTable(Table):
    """How the surface is coloured."""

    colour: Vector | None = Field(None, description="rgb, 0..1; the model's own when absent")
    pattern: Literal["uniform", "position", "stripes"] = Field("uniform", description="laid over the colour")
    shading: Literal["unlit", "lambert", "phong"] | None = Field(None, description="the model's own when absent")
    ambient: float = Field(1.0, ge=0.0, description="factor on ambient light")
    diffuse: float = Field(1.0, ge=0.0, description="factor on diffuse light")
    specular: float = Field(1.0, ge=0.0, description="factor on highlights")
    shininess: float = Field(64.0, gt=0.0, description="exponent of highlights: the larger, the smaller they are")


class LightTable(Table):
    """One light."""

    kind: Literal["ambient", "point", "directional"] = Field(description="what kind of light it is")
    colour: float | Vector | None = Field(None, description="of an ambient light")
    position: Vector | None = Field(None, description="of a point light [m]")
    direction: Vector | None = Field(None, description="towards a directional light")
    diffuse: float | Vector | None = Field(None, description="rgb of its diffuse light")
    specular: float | Vector | None = Field(None, description="rgb of its highlights")


class RendererTable(Table):
    """Which renderer draws; settings stand in a table of each renderer's own name, such as [renderer.softras]."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field("softras", description="a registered renderer")

    @model_validator(mode="after")
    def _by_name(self) -> RendererTable:
        for key, value in (self.model_extra or {}).items():
            if not isinstance(value, dict):
                raise ValueError(f"got {key} = {value!r}; settings stand in a table of the renderer's name, such as "
                                 f"[renderer.{self.name}]")  # fmt: skip
        return self

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings given for one renderer."""
        return dict((self.model_extra or {}).get(name, {}))


class PlateTable(Table):
    """Which part of the video shows the background."""

    begin: float = Field(0.0, ge=0.0, description="time in the video [s]")
    duration: float = Field(gt=0.0, description="how much of it [s]")
    every: int = Field(1, ge=1, description="each n-th frame")


class GoalTable(Table):
    """What is wanted at one time: an image, a mask, a pose, or a place."""

    image: str | None = Field(None, description="file of the image that is wanted")
    mask: str | None = Field(None, description="file of a mask, white where the body is to be")
    pose: dict[str, Any] | None = Field(
        None,
        description="parameters, such as position: to be as the scene would start with them, drawn by it",
    )
    centre: Vector | None = Field(None, description="where the middle of the nodes is to be [m]; for the loss centre")
    at: Number | list[Number] | Literal["end", "all"] = Field(
        "end", description="when [s], or several times; all: in every frame of target.rate"
    )


class TargetTable(GoalTable):
    """What is to be matched: a video, one synthesised with the values in [truth], or a goal."""

    goals: list[GoalTable] = Field([], description="several goals, at times of their own")
    track: str | list[list[Number]] | None = Field(
        None,
        description="a way to go: rows of time, column and row [s, px], or of time, x, y and z [s, m], or a CSV file "
        "of them with a line of these names",
    )
    goal: bool = Field(False, description="a synthesised or recorded target shows what is wanted, not what was seen")
    region: tuple[Number, Number, Number, Number] | None = Field(
        None, description="only this part of the image counts: left, top, right, bottom, 0..1"
    )

    video: str | None = Field(
        None,
        description="mp4, gif or folder of images; absent: synthesised. $DIFFLOOM_REAL_DATA/... is in that folder",
    )
    reader: Named | None = Field(
        None,
        description="a registered video reader and its settings; absent: by whether the video is a folder or a file",
    )
    begin: float = Field(0.0, ge=0.0, description="time in the video that is the simulation's start [s]")
    duration: float | None = Field(None, gt=0.0, description="how much of the video to read [s]")
    every: int = Field(1, ge=1, description="read each n-th frame of the video")
    rate: Number | None = Field(
        None,
        gt=0.0,
        description="frames a second: of a folder, of a video in place of its time stamps, or of the synthesised video "
        "(absent: each step)",
    )
    rotate: Literal[0, 90, 180, 270] = Field(0, description="turn the video counter-clockwise [degrees]")
    crop: tuple[int, int, int, int] | None = Field(
        None, description="top, left, height and width of the part that is used [px of the turned video]"
    )
    gamma: float = Field(
        1.0, ge=0.2, le=5.0, description="power of a video's numbers that light is proportional to: frames shrink in it"
    )
    segment: Named | None = Field(
        None, description="a registered segmenter, such as plate, colour or motion, and its settings: makes masks"
    )
    repeats: Literal["keep", "drop"] = Field(
        "keep", description="leave out frames that repeat the one before; with rate, those that are left are counted"
    )
    lost_frames: Literal["ignore", "find"] = Field(
        "ignore", description="find where the camera lost frames, from leaps of the track, and move later times back"
    )
    ruler: Literal["area", "across"] = Field(
        "area", description="what radii of tracks are measured by: the mask's area, or its width across the motion"
    )
    free_swing: Literal["ignore", "find"] = Field(
        "ignore", description="find where a pendulum swings freely, as when a hand has let go; time counts from there"
    )
    masks: str | None = Field(None, description="video or folder of masks, one per frame, taken as they are")
    background: str | None = Field(None, description='"median" of the video, or an image, shown behind the surface')
    plate: PlateTable | None = Field(
        None, description="the part of the video whose median is the background; absent: the part that is read"
    )
    renderer: str | None = Field(None, description="synthesise with this renderer instead of the fit's")
    scene: dict[str, Any] = Field(
        {}, description="what is different in the synthesised scene, by place: another model, other params, ..."
    )
    levels: int | None = Field(None, ge=1, description="round the synthesised video to so many grey levels, e.g. 255")
    frames: FramesTable = Field(FramesTable(), description="which frames the loss sees")


class ViewTable(Table):
    """One of several cameras, with a video of its own."""

    label: str = Field(
        pattern="^[A-Za-z0-9_-]+$",
        description="names the view in reports and files, and its camera's place: camera.<label>.azimuth",
    )
    camera: CameraTable = Field(CameraTable(), description="what is absent is as in [camera]")
    target: TargetTable = Field(TargetTable(), description="what is absent is as in [target]")
    time_offset: Number = Field(
        0.0, description="the frame at time t of this video shows the simulation at t + time_offset [s]"
    )


class UnknownTable(Table):
    """One parameter that is sought."""

    start: Any = Field(None, description="where to begin: number, list, or a draw; absent: the value in [params]")
    each: bool = Field(False, description="one value per element instead of one for all")
    only: list[int] | None = Field(None, description="rows that are sought")
    space: Literal["free", "log", "bounded"] | None = Field(None, description="absent: by the parameter's bounds")
    bounds: tuple[Number | None, Number | None] | None = Field(None, description="narrower bounds")
    scale: float = Field(1.0, gt=0.0, description="size of a natural change, in the free space")
    windows: bool = Field(
        False, description="one value for each window of time.windows, called <name>@1 and so on; start may be a list"
    )


class PolicyTable(Table):
    """A small network that drives a control; seek its weights with [unknowns.policy]."""

    drives: str = Field(description="the control: a parameter of the model that may change per step")
    sees: Literal["time", "spline", "state", "image"] = Field(
        "time", description="what it is told: sines of the time, splines of the time, the state, or the rendered image"
    )
    every: int = Field(16, ge=1, description="steps between two observations, when it sees the state or the image")
    phases: int = Field(8, ge=1, description="how many sines of the time it is told, evenly apart in phase")
    frequency: Number = Field(1.0, gt=0.0, description="of these sines [Hz]")
    knots: int = Field(8, ge=4, description="of splines, evenly over the simulation")
    hidden: list[int] = Field([], description="widths of hidden layers; none makes it linear")
    reads: Literal["convolutions", "moments"] = Field(
        "convolutions", description="how it reads images: by convolutions, or as place and spread of each colour"
    )
    channels: list[int] = Field([8, 16], description="of convolutions of stride 2, when it sees the image")
    image_size: tuple[int, int] = Field((32, 32), description="height and width of the image that it sees [px]")
    frames: int = Field(1, ge=1, description="how many images it is shown at once; two tell how fast things move")
    bias: bool = Field(True, description="whether its layers have a bias")
    gain: Number = Field(1.0, gt=0.0, description="factor on its first weights; a small one begins at rest")
    scale: Number = Field(1.0, description="largest value of the control, which is scale times a tanh")
    only: list[int | str] | None = Field(
        None,
        description="which numbers of the control's row it drives, counted from 0, or regions of the model, each as "
        "one (a muscle); the others stay 0",
    )
    weights: str | None = Field(None, description="file of weights to begin with, such as a run's policy.pt")


class ControlTable(Table):
    """What a control costs; added to the loss."""

    effort: float = Field(0.0, ge=0.0, description="weight of the controls' mean square")
    smoothness: float = Field(0.0, ge=0.0, description="weight of the mean square of their rate of change [1/s]")


class StageTable(Table):
    """One optimiser's turn."""

    optimiser: Named = Field(
        description="a registered optimiser, such as gauss_newton, adam or lbfgs, and its settings"
    )
    iterations: int = Field(50, ge=1, description="how many, unless it stops before")
    rate: ScheduleTable | None = Field(None, description="factor on the optimiser's own rate")
    horizon: ScheduleTable | Number | None = Field(None, description="part of the target's time that is seen, 0..1")
    renderer: dict[str, dict[str, ScheduleTable | Number]] = Field(
        {}, description="settings by renderer that change, such as softras.sigma"
    )
    loss: Named | None = Field(None, description="instead of the experiment's")
    params: dict[str, ScheduleTable | Number] = Field(
        {}, description="known parameters of the model that are others in this stage, such as friction_smoothing"
    )
    only: list[str] | None = Field(None, description="unknowns that move in this stage")
    shared: list[str] = Field([], description="unknowns whose rows take one value")
    together: list[str] = Field([], description="unknowns whose rows move by the same amount, keeping differences")
    stop: StopTable = Field(StopTable(), description="when the stage ends before its iterations are used up")


class GaussianTable(Table):
    """What is known of one unknown beforehand, in its unit."""

    mean: Number | list[Number] = Field(description="the expected value, or one for each number")
    deviation: Number | list[Number] = Field(description="its standard deviation, more than 0")


class PriorTable(Table):
    """What is believed beforehand; added to the loss."""

    gaussian: dict[str, GaussianTable] = Field(
        {}, description="by unknown: a Gaussian prior, as further residuals that Gauss-Newton, ± and the verdict see"
    )
    noise: float = Field(
        0.01, gt=0.0, description="deviation of a pixel (0..1), or of a track [px], that the prior is weighed against"
    )

    even: dict[str, float] = Field(
        {}, description="weight by unknown: mean squared deviation of its rows from their mean, in its unit"
    )


class ExperimentFile(Table):
    """A whole file."""

    title: str = Field("A fit", description="heading of the report")
    text: str = Field("", description="a sentence or two for the report")
    seed: int = Field(0, description="of all draws")
    precision: Literal["float32", "float64"] = Field("float64", description="of everything that is computed")
    device: str = Field("cpu", description="where it is simulated and drawn: cpu or cuda")
    model: Named | None = Field(None, description="the model's registered name, and the arguments it is made with")
    bodies: list[BodyTable] = Field([], description="instead of a model: several that move together and touch")
    contacts: list[dict[str, Any]] = Field([], description="what is said of the contact between two of the bodies")
    attachments: list[dict[str, Any]] = Field([], description="springs, holds and paths of the bodies")
    terms: list[TermTable] = Field([], description="force terms added to the model, such as obstacles")
    params: dict[str, Any] = Field({}, description="known values of the parameters, in their units")
    time: TimeTable = Field(description="the clock of the physics")
    camera: CameraTable = Field(CameraTable(), description="the camera; with [[views]], what they have in common")
    views: list[ViewTable] = Field([], description="several cameras, each with its own target; absent: one, [camera]")
    appearance: AppearanceTable = AppearanceTable()
    lights: list[LightTable] = Field([], description="absent: the renderer's own")
    renderer: RendererTable = RendererTable()
    target: TargetTable | None = Field(None, description="absent in a file that is only simulated")
    truth: dict[str, Any] = Field({}, description="true values: the target is synthesised with them, or judged by them")
    unknowns: dict[str, UnknownTable] = Field({}, description="what is sought, by name")
    policy: PolicyTable | None = Field(None, description="a network that drives a control")
    guess: Named | None = Field(
        None, description="starts of unknowns that give none, from the video's tracks: pendulum, throw or bounces"
    )
    control: ControlTable = ControlTable()
    loss: Named = Field(Named(name="mse"), description="a registered loss and its settings")
    prior: PriorTable = PriorTable()
    assumed: dict[str, Number] = Field(
        {}, description="by name: standard deviation of what is taken as known and is not quite, which ± counts"
    )
    uncertainty: Literal["laplace", "blocks", "posterior"] = Field(
        "laplace",
        description="how ± is found: from the loss's curvature, at least the jackknife over time windows, or by draws",
    )
    stages: list[StageTable] = Field(
        [StageTable(optimiser=Named(name="gauss_newton"), iterations=30, stop=StopTable(change=1e-9, patience=3))],
        min_length=1,
        description="one optimiser's turn after another",
    )
    starts: StartsTable = StartsTable()
