"""Types of the members of requests and responses."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from quietcrowd.campaign.terms.canonical import LARGEST_WHOLE
from quietcrowd.campaign.terms.promises import MAX_AT_LEAST, MAX_RETENTION_DAYS, AllotmentKind
from quietcrowd.campaign.terms.settings import MAX_COMPLETION_CODE
from quietcrowd.campaign.terms.tokens import PSEUDONYM
from quietcrowd.mechanisms.channels.reading import MAX_LABELS

_ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"

Id: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{32}$"), Field(description="16 bytes in hex.")
]
Hash: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(description="SHA-256 in hex.")
]
Title: TypeAlias = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=_ONE_LINE),
    Field(description="One line, without control characters."),
]
Description: TypeAlias = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[^\x00]*$")]
Words: TypeAlias = Annotated[str, StringConstraints(pattern=_ONE_LINE)]
Retention: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_RETENTION_DAYS,
        description="Days after closing until all data of workers is deleted.",
    ),
]
AtLeast: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_AT_LEAST,
        description="Fewest new workers whose reports are shown at a time; 1: each immediately.",
    ),
]
CompletionCode: TypeAlias = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_COMPLETION_CODE, pattern=_ONE_LINE),
    Field(
        description="One line, the same for all workers. A worker receives it when reports are "
        "stored, and can present it to be paid."
    ),
]
Day: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    Field(
        json_schema_extra={"format": "date"},
        description="The last day, in UTC, to join and to send reports; null: until closing.",
    ),
]
AsOf: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"),
    Field(
        json_schema_extra={"format": "date"},
        description="The day that all questions refer to. The same text for another day is "
        "another question, with fresh noise; null: no day.",
    ),
]
Worker: TypeAlias = Annotated[
    str, StringConstraints(pattern=PSEUDONYM), Field(description="A worker's pseudonym.")
]
InviteToken: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^qci_[A-Za-z0-9_-]{43}$"), Field(description="An invite.")
]
ColumnName: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
JsonObject: TypeAlias = dict[str, Any]
Whole: TypeAlias = Annotated[int, Field(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=10**7)]
OptionCounts: TypeAlias = Annotated[
    list[Annotated[int, Field(ge=2, le=MAX_LABELS)]], Field(min_length=1, max_length=MAX_LABELS)
]
Number: TypeAlias = Whole | Annotated[float, Field(allow_inf_nan=False)]
State: TypeAlias = Literal["draft", "open", "closed"]
JoinMode: TypeAlias = Literal["invite", "open"]
Goal: TypeAlias = Literal["truths", "shares"]
MechanismName: TypeAlias = Literal[
    "one-layer",
    "subset-selection",
    "optimal",
    "two-layer",
    "laplace:fill=none",
    "laplace",
    "duchi",
    "hybrid",
    "piecewise",
]
Allotted: TypeAlias = Annotated[
    AllotmentKind | None,
    Field(
        description="How a joining worker is assigned answers_per_participant of the tasks; null: "
        "workers may answer any task. random: the tasks assigned least often until then, ties at "
        "random. suggested: the tasks for which further reports are expected to help most, by the "
        "results shown at that time, ties at random; random until there are results. This requires "
        "a method that estimates the value of further reports, such as noise-aware."
    ),
]


class Request(BaseModel):
    """A request body: types are not converted, and unknown members are rejected."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_no_crowd_of_members(cls, value: Any) -> Any:
        """Reject an object with too many members: reporting each of them takes long."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields):
            raise PydanticCustomError("too_many_members", "There are unknown members")
        return value


class PageQuery(BaseModel):
    """The requested page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cursor: Annotated[str | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
