"""Options of ``quietcrowd plan``: the campaign, and assumptions about the crowd."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Accuracy",
    "AccuracySd",
    "Answers",
    "Budget",
    "Draws",
    "Epsilon",
    "Error",
    "ErrorFactor",
    "Guessers",
    "Least",
    "Middle",
    "Misled",
    "Per",
    "Pilot",
    "Plot",
    "Pull",
    "Seed",
    "Shared",
    "Spread",
    "Target",
    "Tasks",
    "Truths",
    "Workers",
]


def _assumption(text: str) -> Any:
    return typer.Option(metavar="NUMBER", help=text)


Tasks = Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many questions.")]
Workers = Annotated[
    list[str] | None, typer.Option(metavar="NUMBERS", help="How many are asked, by commas.")
]
Answers = Annotated[
    list[str] | None,
    typer.Option(metavar="NUMBERS", help="Answers of each worker. Default: all questions."),
]
Budget = Annotated[
    int | None, typer.Option(min=1, metavar="NUMBER", help="Answers in total, divided evenly.")
]
Epsilon = Annotated[
    list[str],
    typer.Option("--epsilon", "-e", metavar="NUMBERS", help="Exact losses, by commas."),
]
Per = Annotated[
    str,
    typer.Option(
        metavar="answer|worker",
        help="Whether epsilon is the loss of one answer, or of all of a worker together.",
        autocompletion=lambda: ["answer", "worker"],
    ),
]
Target = Annotated[float | None, _assumption("The target error: an error rate, or an MAE.")]
Guessers = Annotated[float | None, _assumption("Share of the workers who guess: 0.1.")]
Accuracy = Annotated[
    float | None, _assumption("Labels: how often the other workers are right: 0.75.")
]
AccuracySd = Annotated[
    float | None, _assumption("Labels: its standard deviation over workers: 0.1.")
]
Truths = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="Labels: how frequent each is, by commas: even."),
]
Misled = Annotated[
    float | None, _assumption("Labels: share of the tasks where workers err together: 0.1.")
]
Pull = Annotated[
    float | None, _assumption("Labels: share of the answers there that are one error: 0.6.")
]
Error = Annotated[
    float | None,
    _assumption("Numbers: deviation of a worker's own errors, above 0: a tenth of the range."),
]
ErrorFactor = Annotated[
    float | None, _assumption("Numbers: by which factor that varies over workers: 1.5.")
]
Spread = Annotated[
    float | None, _assumption("Numbers: deviation of the truths: a fifth of the range.")
]
Middle = Annotated[
    float | None, _assumption("Numbers: mean of the truths: the middle of the range.")
]
Shared = Annotated[
    float | None, _assumption("Numbers: error that all share, as a part of --error: 0.25.")
]
Pilot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Reports of some questions, in place of what is assumed; with --plain, answers.",
    ),
]
Least = Annotated[
    str | None,
    typer.Option(
        metavar="workers|epsilon",
        help="Print the least number that reaches --target, instead of a table.",
        autocompletion=lambda: ["workers", "epsilon"],
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=3,
        metavar="NUMBER",
        help="Crowds to simulate for each size; with --least, at most for each point.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of crowds and noise.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE.png", help="A picture of the plan.")]
