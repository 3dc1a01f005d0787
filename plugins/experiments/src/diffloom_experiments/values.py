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
    """Whether a value of a file asks for a draw, such as {uniform = [2, 12]}."""
    return isinstance(value, Mapping) and len([k for k in DRAWS if k in value]) == 1 and set(value) <= {
        *DRAWS, "each", "of_truth",
    }  # fmt: skip


class Table(BaseModel):
    """A table of a file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: Any) -> Any:
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
    """A thing by name, with its settings beside the name; a string alone is the name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="which one, by its registered name")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler.resolve_ref_schema(handler(core))]}

    @property
    def settings(self) -> dict[str, Any]:
        """All keys but the name."""
        return dict(self.model_extra or {})


class ScheduleTable(Table):
    """A value that changes over a stage."""

    first: Number = Field(description="value at the stage's first iteration")
    last: Number = Field(description="value at the end of the change")
    shape: Literal["linear", "exponential", "steps"] = Field("linear", description="how it changes")
    over: float = Field(1.0, gt=0.0, le=1.0, description="part of the stage in which it changes")
    count: int = Field(4, ge=2, description="stairs, for shape steps")


class StopTable(Table):
    """When a stage ends before its iterations are used up."""

    loss: float | None = Field(None, description="the loss is at most this")
    change: float | None = Field(None, description="over `patience` iterations the loss fell by less than this part")
    gradient: float | None = Field(None, description="the gradient's norm is at most this")
    patience: int | None = Field(None, ge=1, description="iterations, for change; absent: the optimiser's own, 5 to 20")
    seconds: float | None = Field(None, description="the stage has run this long [s]")


class StartsTable(Table):
    """Several starts."""

    count: int = Field(1, ge=1, description="how many; draws are drawn anew for each, numbers are scattered")
    opposite: bool = Field(
        False, description="the second start lies across the middle of each draw's range from the first"
    )
    scatter: float = Field(0.5, ge=0.0, description="standard deviation of the start values, in the searched space")
    probe: int = Field(0, ge=0, description="iterations each start gets before only the best goes on; 0: all finish")
    enough: float | None = Field(None, description="a start that ends with a loss below this makes the others needless")


class FramesTable(Table):
    """Which of the target's frames the loss sees, and which are kept aside to judge the result."""

    every: int = Field(1, ge=1, description="each n-th frame")
    first: int = Field(0, ge=0, description="the first frame used, counted from 0")
    until: float | None = Field(None, gt=0.0, description="only frames up to this time [s] of the part that is read")
    share: float = Field(1.0, gt=0.0, le=1.0, description="and up to this share of the time that the target spans")
    use: list[int] | None = Field(None, description="these frames instead; negative ones count from the end")
    holdout: Literal["rest", "later", "none"] | list[int] = Field(
        "rest", description="frames kept aside: the rest of them, those of the rest that are later, none, or these"
    )
    holdout_limit: int = Field(60, ge=1, description="at most so many frames are kept aside, spread evenly")
