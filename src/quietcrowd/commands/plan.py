"""``quietcrowd plan`` and ``best-mechanism``: what to expect before the first answer."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import choose_mechanism, mechanism_option
from quietcrowd.commands.declare import command, option, option_group, option_names, typer_app
from quietcrowd.commands.files import check_targets
from quietcrowd.commands.makers import BestMechanism, ranking_of, ranking_rows, sized_maker
from quietcrowd.commands.options import PossibleAnswers
from quietcrowd.commands.printing import tell
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import write_table


def _assumption(text: str) -> Any:
    return option(metavar="NUMBER", help=text, default=None)


@option_group("Assumed crowd")
class AssumedCrowd:
    """Assumptions about workers."""

    guessers: float | None = _assumption("Share of the workers who guess: 0.1.")


@option_group("Assumed crowd")
class LabelCrowdOptions:
    """Assumptions about a crowd that answers with labels."""

    accuracy: float | None = _assumption("Labels: how often the other workers are right: 0.75.")
    accuracy_sd: float | None = _assumption("Labels: its standard deviation over workers: 0.1.")
    truths: str | None = option(
        metavar="NUMBERS", help="Labels: how frequent each is, by commas: even.", default=None
    )
    misled: float | None = _assumption(
        "Labels: share of the tasks where workers err together: 0.1."
    )
    pull: float | None = _assumption("Labels: share of the answers there that are one error: 0.6.")


@option_group("Assumed crowd")
class NumberCrowdOptions:
    """Assumptions about a crowd that answers with numbers."""

    error: float | None = _assumption(
        "Numbers: deviation of a worker's own errors, above 0: a tenth of the range."
    )
    error_factor: float | None = _assumption(
        "Numbers: by which factor that varies over workers: 1.5."
    )
    spread: float | None = _assumption("Numbers: deviation of the truths: a fifth of the range.")
    middle: float | None = _assumption("Numbers: mean of the truths: the middle of the range.")
    shared: float | None = _assumption("Numbers: error that all share, as a part of --error: 0.25.")


@command("plan")
class Plan(PossibleAnswers, AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions):
    """Predict the error of a campaign before the first answer.

    Crowds are drawn by what is assumed of them, randomised by the mechanism, and inferred. No
    answer of anybody is needed. The interval holds the error of nine campaigns in ten.

    Example: quietcrowd plan --tasks 1000 --workers 50,100,200 --answers 100 --labels no,yes

    Example: quietcrowd plan --tasks 500 --workers 100 --answers 1,5 --between 0,10 --per worker
    -e 5 --target 0.5

    Example: quietcrowd plan --tasks 500 --workers 100 --answers 20 --labels no,yes --least epsilon
    --target 0.1
    """

    tasks: int = option(min=1, metavar="NUMBER", help="How many questions.")
    workers: list[str] | None = option(
        metavar="NUMBERS", help="How many are asked, by commas.", default=None
    )
    answers: list[str] | None = option(
        metavar="NUMBERS", help="Answers of each worker. Default: all questions.", default=None
    )
    budget: int | None = option(
        min=1, metavar="NUMBER", help="Answers in total, divided evenly.", default=None
    )
    mechanism: list[str] | None = mechanism_option(several=True)
    epsilon: list[str] = option(
        "--epsilon", "-e", metavar="NUMBERS", help="Exact losses, by commas.", default=["0.5,1,2,4"]
    )
    per: str = option(
        metavar="answer|worker",
        help="Whether epsilon is the loss of one answer, or of all of a worker together.",
        autocompletion=lambda: ["answer", "worker"],
        default="answer",
    )
    target: float | None = _assumption("The target error: an error rate, or an MAE.")
    pilot: Path | None = option(
        metavar="FILE",
        help="Reports of some questions, in place of what is assumed; with --plain, answers.",
        default=None,
    )
    plain: bool = options.PLAIN
    least: str | None = option(
        metavar="workers|epsilon",
        help="Print the least number that reaches --target, instead of a table.",
        autocompletion=lambda: ["workers", "epsilon"],
        default=None,
    )
    draws: int | None = option(
        min=3,
        metavar="NUMBER",
        help="Crowds to simulate for each size; with --least, at most for each point.",
        default=None,
    )
    seed: int = option(min=0, metavar="NUMBER", help="Of crowds and noise.", default=0)
    output: Path | None = options.OUTPUT
    plot: Path | None = option(metavar="FILE.png", help="A picture of the plan.", default=None)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print a plan, or the least number that reaches a target."""
        check_targets(self.output, self.plot)
        if not self.workers and self.least != "workers":
            raise ParameterError("commands.workers-missing")
        asked = self._asked()
        if self.least is None:
            self._tell_plan(asked)
            return
        from quietcrowd.commands.plan_table import tell_least

        tell_least(self.least, as_json=self.as_json, **asked)

    def _asked(self) -> dict[str, Any]:
        domain = self.domain()
        quality = self._quality(domain)
        makers = map(choose_mechanism, options.split_all(self.mechanism or []))
        return {
            "tasks": self.tasks,
            "workers": _whole(self.workers or [], "--workers"),
            "answers": None if self.answers is None else _whole(self.answers, "--answers"),
            "budget": self.budget,
            "domain": domain,
            "quality": quality or None,
            "pilot": None if self.pilot is None else _pilot(self.pilot, domain, self.plain),
            "mechanisms": {name: sized_maker(maker) for name, maker in makers} or None,
            "epsilon": options.parse_numbers(self.epsilon, "--epsilon"),
            "per": self.per,
            "target": self.target,
            "draws": self.draws,
            "random_state": self.seed,
        }

    def _quality(self, domain: Domain) -> dict[str, Any]:
        """Return the assumptions about the crowd; raise ParameterError if the domain is another."""
        labels = isinstance(domain, FiniteDomain)
        groups = (AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions)
        given = {name: getattr(self, name) for group in groups for name in option_names(group)}
        chosen = {name: value for name, value in given.items() if value is not None}
        if self.truths is not None:
            chosen["truths"] = options.parse_numbers([self.truths], "--truths")
        for name in option_names(NumberCrowdOptions if labels else LabelCrowdOptions):
            if name in chosen:
                raise ParameterError(
                    "commands.replacement-of-another-kind",
                    replace=name.replace("_", "-"),
                    kind="numbers" if labels else "labels",
                )
        return chosen

    def _tell_plan(self, asked: dict[str, Any]) -> None:
        from quietcrowd.commands.plan_table import print_plan
        from quietcrowd.planning import plan

        with _Bar() as bar:
            found = plan(progress=bar.show, **asked)
        for sentence in found.skipped:
            tell(f"note: {sentence}")
        if self.output is not None:
            write_table(found.frame, self.output)
        if self.plot is not None:
            found.plot(self.plot)
        if self.as_json:
            typer.echo(json.dumps(found.to_dict(), allow_nan=False))
        else:
            print_plan(found)


def _pilot(path: Path, domain: Any, plain: bool) -> Any:
    from quietcrowd.formats import read_answers, read_reports

    if plain:
        return read_answers(path, domain)
    reports = read_reports(path)
    if reports.mechanism.domain != domain:
        raise ParameterError(
            "commands.pilot-of-another-domain",
            path=path,
            domain=reports.mechanism.domain.example(),
            other_domain=domain.example(),
        )
    return reports


def _whole(texts: list[str], option: str) -> list[int]:
    numbers = options.parse_numbers(texts, option)
    for number in numbers:
        if not number.is_integer():
            raise ParameterError("commands.whole-numbers-needed", option=option, number=number)
    return [int(number) for number in numbers]


class _Bar:
    """Progress bar on standard error, if it is a terminal."""

    def __enter__(self) -> _Bar:
        from rich.console import Console
        from rich.progress import Progress

        shown = sys.stderr.isatty()
        self.bar = Progress(console=Console(stderr=True), disable=not shown, transient=True)
        self.bar.start()
        self.steps = self.bar.add_task("simulated crowds", total=None)
        return self

    def show(self, done: int, total: int) -> None:
        self.bar.update(self.steps, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


@command("best-mechanism")
class RankMechanisms(PossibleAnswers):
    """Tell which mechanism errs least, by public facts.

    The same facts give the same choice. -m best of other commands takes the first one.

    Example: quietcrowd best-mechanism --labels no,yes,unclear -e 1
    --facts workers=50:answers_per_task=20:prior=no=0.8

    Example: quietcrowd best-mechanism --between 0,10 -e 2 --facts error=1:spread=3 --json
    """

    epsilon: float = options.EPSILON
    facts: str = option(
        metavar="NAME=VALUE",
        help="By colons: tasks=1000, workers=100, answers_per_task=10, prior=no=0.9, and what "
        "is assumed of the crowd, as accuracy=0.8 or error=2 (see quietcrowd plan --help).",
        default="",
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Rank the mechanisms, and print them."""
        domain = self.domain()
        _, maker = choose_mechanism(f"best:{self.facts}" if self.facts else "best", "--facts")
        assert isinstance(maker, BestMechanism)
        ranking = ranking_of(maker.facts, domain, self.epsilon)
        if self.as_json:
            typer.echo(json.dumps(ranking.to_dict(), allow_nan=False))
            return
        for line in ranking_rows(ranking):
            typer.echo(line)
        for one in ranking.left_out:
            typer.echo(
                textwrap.fill(
                    f"Left out: {one}", 80, subsequent_indent="  ", break_on_hyphens=False
                )
            )


app = typer_app(Plan, RankMechanisms)
