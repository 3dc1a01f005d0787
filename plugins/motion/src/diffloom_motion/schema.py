"""Tables of an experiment file about measured motion, which has a [recording]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from diffloom_experiments.kinds import ExperimentKind
from diffloom_experiments.values import Named, Number, ScheduleTable, StartsTable, StopTable, Table

if TYPE_CHECKING:
    from diffloom_motion.experiment import MotionExperiment
    from diffloom_motion.files import LoadedMotion


class RecordingTable(Table):
    """The recording."""

    file: str | list[str] = Field(
        description="NPZ, CSV or Parquet, beside this file or in the folder that DIFFLOOM_REAL_DATA names; or several",
        examples=['file = "motion.csv"'],
    )
    rate: Number | None = Field(
        None, gt=0.0, description="frames per second; absent: by the column of times; with both, clips are resampled"
    )
    columns: dict[str, list[int | str]] = Field(
        description="by kind (position, orientation, velocity, angular_velocity, joint_position, joint_velocity, "
        "joint_torque, weight): numbers or names of columns",
        examples=['columns = { position = ["x", "y", "z"] } or columns = { joint_position = ["q1", "q2"] }'],
    )
    base: Literal["fixed", "floating"] | None = Field(
        None, description="of a tree: fixed to the world, or flying; absent: fixed if no position was recorded"
    )
    time: int | str | None = Field(None, description="the column with the time of each frame")
    units: dict[str, str] = Field({}, description="by kind of column: its unit, such as deg or cm; absent: SI")
    unit: Number = Field(1.0, gt=0.0, description="metres per recorded unit of length")
    axes: Literal["world", "body"] = Field("world", description="of the angular velocity")
    rows: str = Field("rows", description="the array of rows in an NPZ")
    lengths: str | None = Field("lengths", description="the array of the clips' lengths in an NPZ")
    clip: str | None = Field(None, description="the column with the name of the clip")
    level: tuple[Number, Number, Number] | None = Field(
        None, description="the upright direction in the recording's axes, if it is not z"
    )


class ClipsTable(Table):
    """Selection of clips for the fit and the holdout."""

    pieces: int | None = Field(
        None, ge=4, description="frames of the pieces that every clip is cut into first; pieces then are the clips"
    )
    fit: str = Field(":", description="clips of the fit, as first:end or first:end:step")
    share: Number = Field(
        1.0, gt=0.0, le=1.0, description="at most this share of all clips is fitted: the first of those that fit names"
    )
    holdout: str | None = Field(
        None,
        description='clips that are scored and not fitted, named in the same way, or "rest": all that are not fitted',
    )
    holdout_limit: int | None = Field(None, ge=1, description="largest number of holdout clips, chosen evenly")
    grounded: bool = Field(
        False, description="whether each clip is moved along the ground's normal so that it ends on the ground (trees)"
    )
    windows: tuple[int, int] | None = Field(
        None, description="multiple shooting: frames of a window, and from one to the next"
    )


class StartTable(Table):
    """Starts of the rollouts."""

    rule: Literal["flight", "sample", "fitted"] = Field(
        "flight", description="a fit of the flight, the first sample, or a simulation that follows the flight"
    )
    frames: int = Field(8, ge=2, description="frames of a clip on a fixed base from which its start is taken")
    tolerance: Number = Field(2e-4, gt=0.0, description="largest error [m] of a parabola that counts as flight")
    free: dict[str, Number] = Field(
        {},
        description="parts of each clip's start that are sought, with the deviation [m, rad, m/s, rad/s] expected; "
        "absent: joint_position and joint_velocity on a fixed base, none otherwise",
    )
    noise: Number = Field(
        1e-3, gt=0.0, description="deviation of a frame's error [m] that those of start.free are weighed against"
    )


class MotionLossTable(Table):
    """The loss that is minimised."""

    name: Literal["squares", "huber", "cauchy"] = Field("squares", description="of a frame's error")
    threshold: Number = Field(1.0, gt=0.0, description="the error [m] from which huber and cauchy count less")
    rotation_length: Number = Field(
        0.1, gt=0.0, description="position error [m] that weighs as much as one radian, such as half the body's width"
    )
    joint_length: Number | None = Field(None, gt=0.0, description="same for joints; rotation_length if not given")


class MotionUnknownTable(Table):
    """One parameter that is sought, the same in all clips."""

    start: Any = Field(description="where to begin: a number, a list, or a draw", examples=["start = 0.1"])
    space: Literal["free", "log", "bounded"] | None = Field(None, description="absent: by the parameter's bounds")
    bounds: tuple[Number | None, Number | None] | None = Field(None, description="narrower bounds")
    scale: Number = Field(
        1.0, gt=0.0, description="size of a natural change, in the unit, or as a logarithm in the log space"
    )
    along: list[Number] | list[list[Number]] | None = Field(
        None, description="pattern that one number is multiplied with, to make a row; one each for several numbers"
    )


class MotionStageTable(Table):
    """One optimiser's turn."""

    optimiser: Named = Field(
        Named(name="gauss_newton"),
        description="a registered optimiser, such as gauss_newton, adam or lbfgs, and its settings",
    )
    frames: int | None = Field(None, ge=2, description="frames of each clip that count; absent: all")
    iterations: int = Field(20, ge=1, description="how many, unless it stops before")
    rate: ScheduleTable | None = Field(None, description="factor on the optimiser's own rate")
    horizon: ScheduleTable | Number | None = Field(None, description="part of the longest clip that is seen, 0..1")
    only: list[str] | None = Field(None, description="unknowns that move in this stage")
    fixed: tuple[str, ...] = Field((), description="unknowns that stay as they are")
    threshold: ScheduleTable | Number | None = Field(
        None, description="of the loss [m], in place of that of [loss]; may change as the stage goes on"
    )
    flight: bool = Field(False, description="whether only the frames before a clip's first contact count")
    stop: StopTable = Field(StopTable(change=1e-3), description="when the stage ends before its iterations are used up")


class MotionFile(Table):
    """A whole file."""

    title: str = Field("A fit of measured motion", description="heading")
    text: str = Field("", description="a sentence or two")
    seed: int = Field(0, description="seed of every draw, such as {uniform = [0.1, 0.5]} for a start")
    model: Named = Field(
        description="the model's registered name, and the arguments it is made with",
        examples=['[model] name = "articulated", trees = [{ builder = "double_pendulum", lengths = [0.2, 0.3] }]'],
    )
    params: dict[str, Any] = Field({}, description="known values of the parameters, in their units")
    substeps: int = Field(16, ge=1, description="steps of physics a frame")
    recording: RecordingTable = Field(examples=['[recording] file = "motion.csv"'])
    clips: ClipsTable = ClipsTable()
    start: StartTable = StartTable()
    loss: MotionLossTable = MotionLossTable()
    unknowns: dict[str, MotionUnknownTable] = Field(
        min_length=1,
        description="by name: a parameter of the model, or scale, the recorded length per metre",
        examples=["[unknowns.damping] start = 0.01"],
    )
    stages: list[MotionStageTable] = Field([MotionStageTable()], min_length=1)
    starts: StartsTable = Field(StartsTable(), description="several starts, of which the best is kept")
    truth: dict[str, Any] = Field({}, description="true values of unknowns, where a recording was made up")
    documented: dict[str, Any] = Field({}, description="what others say of the unknowns; shown beside what is found")
    width: Number | None = Field(
        None, gt=0.0, description="size of the body [m] that position errors are shown in % of"
    )


class MotionKind(ExperimentKind):
    """Files about measured motion: a model fitted to the poses and markers of a [recording]."""

    noun = "a file about measured motion"
    tables = ("recording",)
    actions: ClassVar = dict.fromkeys(("run", "check-gradient", "landscape", "sweep"))
    refused: ClassVar = {
        "run": ("renderer", "target_renderer", "view"),
        "check-gradient": ("renderer", "target_renderer"),
        "landscape": ("renderer", "target_renderer", "profiled"),
        "sweep": ("pairs", "baselines"),
    }

    def schema(self) -> type[MotionFile]:
        """Return the model of the file's tables.

        Returns:
            A pydantic model.
        """
        return MotionFile

    def load(
        self, raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
        changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
    ) -> LoadedMotion:  # fmt: skip
        """Check the data of a file.

        Args:
            raw: Data of the file.
            folder: Folder that relative paths start from.
            name: Name of the file, for errors.
            settings: Changes as texts.
            changes: Changes as values, by dotted place.
            quick: True to put in [variants.quick].
            variants: Names of further variants to put in.

        Returns:
            The checked file.
        """
        from diffloom_motion.files import load_motion_data

        return load_motion_data(raw, folder, name, settings=settings, changes=changes, quick=quick, variants=variants)

    def build(self, loaded: LoadedMotion) -> MotionExperiment:
        """Build the experiment of a checked file.

        Args:
            loaded: The checked file.

        Returns:
            The experiment.
        """
        from diffloom_motion.files import build_loaded

        return build_loaded(loaded)
