"""Kinds of values in a file: fractions, named things with settings, draws, schedules."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

__all__ = ["DRAWS", "FramesTable", "Named", "Number", "ScheduleTable", "StartsTable", "StopTable", "Table", "is_draw"]

#: Kinds of draws: values that the seed decides, such as {uniform = [2, 12]}.
DRAWS = ("uniform", "log_uniform", "normal", "choice")


def is_draw(value: Any) -> bool:
    """Return whether a value of a file asks for a draw, such as {uniform = [2, 12]}.

    Args:
        value: Value from the file.

    Returns:
        True for a draw.
    """
    return isinstance(value, Mapping) and len([k for k in DRAWS if k in value]) == 1 and set(value) <= {
        *DRAWS, "each", "of_truth",
    }  # fmt: skip


class Table(BaseModel):
    """Table of a file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: Any) -> Any:
    """Return the value of a fraction such as "1/960"; any other value unchanged."""
    if isinstance(value, str) and "/" in value:
        try:
            return float(Fraction(value.replace(" ", "")))
        except (ValueError, ZeroDivisionError):
            return value
    return value


Number = Annotated[
    float,
    BeforeValidator(_number),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^ *[-+0-9.eE]+ */ *[-+0-9.eE]+ *$"}]}),
]
"""A number, or a fraction in quotes such as "1/960"."""


class Named(BaseModel):
    """Registered name with settings beside it; a string alone is the name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="registered name")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        """Accept a string as the name."""
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema: a string or a table."""
        return {"anyOf": [{"type": "string"}, handler.resolve_ref_schema(handler(core))]}

    @property
    def settings(self) -> dict[str, Any]:
        """All keys but the name."""
        return dict(self.model_extra or {})


class ScheduleTable(Table):
    """Value that changes over a stage."""

    first: Number = Field(description="value at the stage's first iteration")
    last: Number = Field(description="value at the end of the change")
    shape: Literal["linear", "exponential", "steps"] = Field("linear", description="shape of the change")
    over: float = Field(1.0, gt=0.0, le=1.0, description="part of the stage in which the value changes, 0..1")
    count: int = Field(4, ge=2, description='number of steps, for shape = "steps"')


class StopTable(Table):
    """Conditions that end a stage before its iterations are used up."""

    loss: float | None = Field(None, description="stop when the loss is at most this")
    change: float | None = Field(
        None, description="stop when the loss fell by less than this part over `patience` iterations"
    )
    gradient: float | None = Field(None, description="stop when the norm of the gradient is at most this")
    patience: int | None = Field(None, ge=1, description="iterations, for change; absent: the optimiser's own, 5 to 20")
    seconds: float | None = Field(None, description="stop when the stage has run this long [s]")


class StartsTable(Table):
    """Several starts of the search."""

    count: int = Field(1, ge=1, description="number of starts; draws are repeated for each, numbers are scattered")
    opposite: bool = Field(False, description="mirror the second start: opposite the first in the range of each draw")
    scatter: float = Field(
        0.5, ge=0.0, description="standard deviation of scattered starts, in the space of the unknown"
    )
    probe: int = Field(0, ge=0, description="iterations of each start before only the best continues; 0: all finish")
    accept_loss: float | None = Field(
        None, description="loss below which a start's result is accepted and the remaining starts are skipped"
    )


class FramesTable(Table):
    """Frames of the target that the loss sees, and frames kept aside to judge the result."""

    every: int = Field(1, ge=1, description="use each n-th frame")
    first: int = Field(0, ge=0, description="first frame used, counted from 0")
    until: float | None = Field(None, gt=0.0, description="last time used [s] of the part that is read")
    share: float = Field(1.0, gt=0.0, le=1.0, description="part of the target's time span that is used, 0..1")
    use: list[int] | None = Field(None, description="numbers of the frames used; negative ones count from the end")
    holdout: Literal["rest", "later", "none"] | list[int] = Field(
        "rest",
        description="frames kept aside: all remaining ones, the remaining ones after the last used, none, or a list",
    )
    holdout_limit: int = Field(60, ge=1, description="largest number of frames kept aside, evenly spaced")
