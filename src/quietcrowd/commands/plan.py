"""``quietcrowd plan``: the expected error, and the best mechanism, before the first answer."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, TypeVar

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import choose_mechanism, mechanism_option
from quietcrowd.commands.declare import (
    command,
    given_options,
    option,
    option_group,
    option_names,
)
from quietcrowd.commands.files import check_targets
from quietcrowd.commands.makers import ranking_of, ranking_rows, sized_maker
from quietcrowd.commands.options import PossibleAnswers
from quietcrowd.commands.printing import print_message
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import write_table

N = TypeVar("N")

_NOT_RANKED = (
    *("total_answers", "mechanism", "epsilon_per", "target_error", "pilot", "non_private"),
    *("find", "seed", "output", "plot"),
)
"""Options without a meaning for a ranking."""


def _number(*flags: str, text: str) -> Any:
    return option(*flags, metavar="NUMBER", help=text, default=None)


@option_group("Assumed crowd")
class AssumedCrowd:
    """Assumptions about workers; the names of the fields are those of `quality` of `plan`."""

    guessers: float | None = _number(
        "--guessing-share", text="Fraction of guessing workers. Default: 0.1."
    )


@option_group("Assumed crowd")
class LabelCrowdOptions:
    """Assumptions about a crowd that answers with labels."""

    accuracy: float | None = _number(text="Labels: mean accuracy of the others. Default: 0.75.")
    accuracy_sd: float | None = _number(text="Labels: its standard deviation. Default: 0.1.")
    truths: str | None = option(
        "--label-frequencies",
        metavar="NUMBERS",
        help="Labels: frequency of each, comma-separated. Default: equal.",
        default=None,
    )
    misled: float | None = _number(
        "--hard-share", text="Labels: fraction of tasks with a common error. Default: 0.1."
    )
    pull: float | None = _number(
        "--hard-error", text="Labels: fraction of their answers with this error. Default: 0.6."
    )


@option_group("Assumed crowd")
class NumberCrowdOptions:
    """Assumptions about a crowd that answers with numbers."""

    error: float | None = _number(
        "--worker-sd",
        text="Numbers: standard deviation of a worker's errors. Default: 0.1 of the range.",
    )
    error_factor: float | None = _number(
        "--worker-sd-factor", text="Numbers: factor by which it varies. Default: 1.5."
    )
    spread: float | None = _number(
        "--truth-sd", text="Numbers: standard deviation of truths. Default: 0.2 of the range."
    )
    middle: float | None = _number(
        "--truth-mean", text="Numbers: mean of truths. Default: middle of the range."
    )
    shared: float | None = _number(
        "--shared-error", text="Numbers: common error of a task, times --worker-sd. Default: 0.25."
    )


@command()
class Plan(PossibleAnswers, AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions):
    """Predict the error of a campaign before the first answer.

    It simulates crowds with assumed workers, the mechanism and the inference; it needs no answers.
    The interval contains the error with probability 0.9.

    Example: quietcrowd plan --tasks 1000 --labels no,yes --workers 50,100,200
    --answers-per-worker 100

    Example: quietcrowd plan --tasks 500 --between 0,10 --workers 100 -e 5
    --answers-per-worker 1,5 --epsilon-per worker --target-error 0.5

    Example: quietcrowd plan --tasks 500 --labels no,yes --workers 100
    --answers-per-worker 20 --find epsilon --target-error 0.1

    Example: quietcrowd plan --rank-mechanisms --tasks 500 --labels a,b,c -e 1
    --workers 100 --answers-per-worker 20
    """

    tasks: int = option(min=1, metavar="NUMBER", help="Number of tasks.")
    workers: list[str] | None = option(
        metavar="NUMBERS", help="Numbers of workers, comma-separated.", default=None
    )
    answers_per_worker: list[str] | None = option(
        metavar="NUMBERS",
        help="Answers per worker, comma-separated. Default: all tasks.",
        default=None,
    )
    total_answers: int | None = option(
        min=1, metavar="NUMBER", help="Total number of answers, divided evenly.", default=None
    )
    mechanism: list[str] | None = mechanism_option(several=True)
    epsilon: list[str] = option(
        "--epsilon",
        "-e",
        metavar="NUMBERS",
        help="Exact losses, comma-separated.",
        default=["0.5,1,2,4"],
    )
    epsilon_per: str = option(
        metavar="answer|worker",
        help="Scope of epsilon: one answer, or all answers of a worker.",
        autocompletion=lambda: ["answer", "worker"],
        default="answer",
    )
    target_error: float | None = _number(text="Target: an error rate, or an MAE.")
    pilot: Path | None = option(
        metavar="FILE",
        help="Reports of some tasks instead of assumptions; answers with --non-private.",
        default=None,
    )
    non_private: bool = options.NON_PRIVATE
    rank_mechanisms: bool = option(
        help="Rank all mechanisms for one size and one epsilon.", default=False
    )
    find: str | None = option(
        metavar="workers|epsilon",
        help="Find the least workers or epsilon for --target-error.",
        autocompletion=lambda: ["workers", "epsilon"],
        default=None,
    )
    simulations: int | None = option(
        min=3,
        metavar="NUMBER",
        help="Number of crowds per size; with --find, maximum per point.",
        default=None,
    )
    seed: int = option(min=0, metavar="NUMBER", help="Seed of the simulation.", default=0)
    output: Path | None = options.OUTPUT
    plot: Path | None = option(
        metavar="FILE.png", help="File for a plot of the plan.", default=None
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print a plan, or the least number that reaches a target."""
        if self.rank_mechanisms:
            self._rank_mechanisms()
            return
        check_targets(self.output, self.plot)
        if not self.workers and self.find != "workers":
            raise ParameterError("commands.workers-missing")
        asked = self._asked()
        if self.find is None:
            self._print_plan(asked)
            return
        from quietcrowd.commands.plan_table import print_minimum

        print_minimum(self.find, as_json=self.as_json, **asked)

    def _asked(self) -> dict[str, Any]:
        domain = self.domain()
        quality = self._quality(domain)
        makers = map(choose_mechanism, options.split_all(self.mechanism or []))
        return {
            "tasks": self.tasks,
            "workers": _whole(self.workers or [], "--workers"),
            "answers": None
            if self.answers_per_worker is None
            else _whole(self.answers_per_worker, "--answers-per-worker"),
            "budget": self.total_answers,
            "domain": domain,
            "quality": quality or None,
            "pilot": None if self.pilot is None else _pilot(self.pilot, domain, self.non_private),
            "mechanisms": {name: sized_maker(maker) for name, maker in makers} or None,
            "epsilon": options.parse_numbers(self.epsilon, "--epsilon"),
            "per": self.epsilon_per,
            "target": self.target_error,
            "draws": self.simulations,
            "random_state": self.seed,
        }

    def _quality(self, domain: Domain) -> dict[str, Any]:
        labels = isinstance(domain, FiniteDomain)
        groups = (AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions)
        given = {name: getattr(self, name) for group in groups for name in option_names(group)}
        chosen = {name: value for name, value in given.items() if value is not None}
        if self.truths is not None:
            chosen["truths"] = options.parse_numbers([self.truths], "--label-frequencies")
        others = option_names(NumberCrowdOptions if labels else LabelCrowdOptions)
        for name, flag in others.items():
            if name in chosen:
                raise ParameterError(
                    "commands.option-of-another-kind",
                    flag=flag,
                    kind="numbers" if labels else "labels",
                )
        return chosen

    def _print_plan(self, asked: dict[str, Any]) -> None:
        from quietcrowd.commands.plan_table import print_plan
        from quietcrowd.planning import plan

        with _Bar() as bar:
            found = plan(progress=bar.show, **asked)
        for sentence in found.skipped:
            print_message(f"note: {sentence}")
        if self.output is not None:
            write_table(found.frame, self.output)
        if self.plot is not None:
            found.plot(self.plot)
        if self.as_json:
            typer.echo(json.dumps(found.to_dict(), allow_nan=False))
        else:
            print_plan(found)

    def _rank_mechanisms(self) -> None:
        if others := given_options(self, _NOT_RANKED):
            raise ParameterError(
                "commands.option-does-not-apply", option=others[0], subject="--rank-mechanisms"
            )
        domain = self.domain()
        workers = _one(_whole(self.workers or [], "--workers"), "--workers")
        each = self.tasks
        if self.answers_per_worker is not None:
            flag = "--answers-per-worker"
            each = _one(_whole(self.answers_per_worker, flag), flag)
        facts: dict[str, Any] = {
            "tasks": self.tasks,
            "workers": workers,
            "answers_per_task": workers * each / self.tasks,
            **self._quality(domain),
        }
        if self.simulations is not None:
            facts["draws"] = self.simulations
        epsilon = _one(options.parse_numbers(self.epsilon, "--epsilon"), "--epsilon")
        ranking = ranking_of(facts, domain, epsilon)
        if self.as_json:
            typer.echo(json.dumps(ranking.to_dict(), allow_nan=False))
            return
        for line in ranking_rows(ranking):
            typer.echo(line)
        for one in ranking.left_out:
            line = f"Left out: {one}"
            typer.echo(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))


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


def _one(numbers: list[N], option: str) -> N:
    if len(numbers) != 1:
        raise ParameterError("commands.one-number-needed", option=option, count=len(numbers))
    return numbers[0]


class _Bar:
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
