"""Options of ``quietcrowd campaign create``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.campaign.terms.allotment import AllotmentKind
from quietcrowd.campaign.terms.promises import MAX_AT_LEAST, MAX_RETENTION_DAYS

__all__ = [
    "Answers",
    "AnswersEach",
    "AsOf",
    "AtLeast",
    "Closes",
    "CompletionCode",
    "Contact",
    "Description",
    "ForAll",
    "HandOut",
    "HandingOut",
    "IdColumn",
    "KeepDays",
    "LabelConfig",
    "Linked",
    "Participants",
    "Planned",
    "Purpose",
    "Requester",
    "Show",
    "Tasks",
    "Title",
]


class HandingOut(StrEnum):
    """Assignment of tasks, as on the command line."""

    EVENLY = "evenly"
    SUGGESTED = "suggested"

    @property
    def allotment(self) -> AllotmentKind:
        """Value in the configuration of a campaign."""
        return "random" if self is HandingOut.EVENLY else "suggested"


Title = Annotated[str, typer.Argument(metavar="TITLE", help="What workers see first.")]
Tasks = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="Ends in .csv, .tsv, .jsonl or .json, also Label Studio's: id and gold where "
        "there are such, all else is shown; a column image names files beside it.",
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="The columns of that file that workers see, by commas. Default: all but id and gold; "
        "a file that looks like answers is refused then.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="The column that names a task. Default: the first of task, external_id and id that "
        "is there; without one, tasks are numbered.",
    ),
]
LabelConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Of Label Studio: its choices, rating or number instead of labels, levels or bounds.",
    ),
]
Description = Annotated[str, typer.Option(metavar="TEXT", help="What workers see below the title.")]
Answers = Annotated[
    int | None, typer.Option(min=1, metavar="NUMBER", help="Most answers of a worker.")
]
AnswersEach = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Instead of --answers: each worker is asked so many of the tasks, drawn as they "
        "join, so that all are asked equally often.",
    ),
]
HandOut = Annotated[
    HandingOut | None,
    typer.Option(
        help="With --answers-each: evenly, or those where further reports are expected to help "
        "most, by the results that you are shown. Default: evenly.",
    ),
]
Linked = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Most answers of a worker that share one fact, if more than there are copies and "
        "near-copies of one question.",
    ),
]
Participants = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Full from the release on that shows so many workers. Default with --for-all: 10,000.",
    ),
]
Requester = Annotated[
    str, typer.Option(metavar="TEXT", help="Who asks. Workers are told before they join.")
]
Contact = Annotated[str, typer.Option(metavar="TEXT", help="How workers reach whoever asks.")]
Purpose = Annotated[str, typer.Option(metavar="TEXT", help="What the answers are for.")]
KeepDays = Annotated[
    int,
    typer.Option(
        min=1,
        max=MAX_RETENTION_DAYS,
        metavar="NUMBER",
        help="Days after closing until the server deletes all that it holds of workers.",
    ),
]
AtLeast = Annotated[
    int,
    typer.Option(
        min=1,
        max=MAX_AT_LEAST,
        metavar="NUMBER",
        help="You are shown reports of so many new workers at a time, or more; fewer that are "
        "left at closing are never shown. 1: each worker's at once.",
    ),
]
CompletionCode = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="One code for all workers, shown to each once the reports are stored: for a "
        "platform that pays.",
    ),
]
Closes = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="Last day on which anything is taken in, in UTC, as 2026-12-31: the server closes "
        "it then. Default: it closes when you close it.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="The day that all questions are about, as 2026-12-01. Workers who answered the same "
        "words about another day, or no day, get fresh noise.",
    ),
]
ForAll = Annotated[
    bool,
    typer.Option(
        "--for-all", help="Nobody needs an invite: anyone who has the link can invent workers."
    ),
]
Planned = Annotated[
    bool,
    typer.Option(
        "--plan", help="First print the expected error with --participants: quietcrowd plan."
    ),
]
