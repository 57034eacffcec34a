"""``quietcrowd plan``: the expected error, and the best mechanism, before the first answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from quietcrowd.accounting.equal_loss import usual_total
from quietcrowd.campaign.terms.promises import USUAL_AT_LEAST
from quietcrowd.commands import options
from quietcrowd.commands.choices import choose_mechanism, mechanism_option
from quietcrowd.commands.declare import (
    command,
    command_line,
    given_options,
    option,
    option_group,
    option_names,
)
from quietcrowd.commands.files import check_targets
from quietcrowd.commands.makers import ranking_of, ranking_rows, sized_maker
from quietcrowd.commands.options import Goal, PossibleAnswers
from quietcrowd.commands.printing import Working, print_message, print_wrapped
from quietcrowd.commands.ways_out import LEAST, find_least, values_of, ways_out
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import write_table

if TYPE_CHECKING:
    from quietcrowd.planning import CampaignPlan
    from quietcrowd.planning.case import Case

N = TypeVar("N")

_NOT_RANKED = (
    *("total_answers", "mechanism", "target_error", "pilot", "non_private"),
    *("least", "seed", "output", "plot", "goal"),
)
"""Options without a meaning for a ranking."""

_NOT_OF_SURVEYS = ("pilot", "non_private", "simulations", "seed", "plot")
_OF_CAMPAIGNS = ("quality", "pilot", "draws", "random_state")
"""Options without a meaning for surveys, and parameters of a plan that a survey does not have."""


_SINGLE = {
    "workers": "--people",
    "answers": "--answers-per-worker",
    "total_epsilon": "--total-epsilon",
    "epsilon": "--epsilon",
    "mechanisms": "--mechanism",
}
"""Options that accept one value in a search, by parameter of a plan."""


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


_CROWD = (AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions)


@command()
class Plan(PossibleAnswers, AssumedCrowd, LabelCrowdOptions, NumberCrowdOptions):
    """Predict the result of a campaign before the first answer.

    It simulates crowds with assumed workers, the mechanism and the inference; it needs no answers.
    The interval contains the error with probability 0.9. If the result is not much better than
    guessing, it prints three ways to a better one. For --goal shares it computes how precise the
    estimated shares, or means, will be.

    Example: quietcrowd plan --tasks 200 --labels no,yes --total-epsilon 5 --people 50

    Example: quietcrowd plan --goal shares --tasks 12 --labels no,yes --people 300
    --answers-per-worker 2

    Example: quietcrowd plan --tasks 1000 --labels no,yes --people 50,100,200
    --answers-per-worker 5,20 --total-epsilon 5,10

    Example: quietcrowd plan --tasks 200 --labels no,yes --answers-per-worker 3 --least people

    Example: quietcrowd plan --rank-mechanisms --tasks 500 --labels a,b,c --total-epsilon 20
    --people 100 --answers-per-worker 20
    """

    tasks: int = option(min=1, metavar="NUMBER", help="Number of questions.")
    goal: Goal = options.GOAL
    people: list[str] | None = option(
        "--people",
        "--workers",
        metavar="NUMBERS",
        help="Numbers of workers, comma-separated.",
        default=None,
    )
    answers_per_worker: list[str] | None = option(
        metavar="NUMBERS",
        help="Questions per person, comma-separated. Default: all.",
        default=None,
    )
    total_epsilon: list[str] | None = option(
        metavar="NUMBERS",
        help="Privacy losses of all answers of a person, comma-separated. Default: 5, or 2.2 per "
        "answer for one or two.",
        default=None,
    )
    total_answers: int | None = option(
        min=1, metavar="NUMBER", help="Total number of answers, divided evenly.", default=None
    )
    mechanism: list[str] | None = mechanism_option(several=True)
    epsilon: list[str] | None = option(
        "--epsilon",
        "-e",
        metavar="NUMBERS",
        help="For experts: losses of one answer, instead of --total-epsilon.",
        default=None,
    )
    target_error: float | None = _number(text="Target: an error rate, or an MAE.")
    pilot: Path | None = option(
        metavar="FILE",
        help="Reports of some tasks instead of assumptions; answers with --non-private.",
        default=None,
    )
    non_private: bool = options.NON_PRIVATE
    rank_mechanisms: bool = option(
        help="Rank all mechanisms for one size and one privacy loss.", default=False
    )
    least: str | None = option(
        metavar="people|questions|total",
        help="Find the fewest people, or the least total, with a good result or within "
        "--target-error; or the number of questions per person with the least error.",
        autocompletion=lambda: [*LEAST],
        default=None,
    )
    simulations: int | None = option(
        min=3, metavar="NUMBER", help="Number of crowds per size.", default=None
    )
    seed: int = option(min=0, metavar="NUMBER", help="Seed of the simulation.", default=0)
    output: Path | None = options.OUTPUT
    plot: Path | None = option(
        metavar="FILE.png", help="File for a plot of the plan.", default=None
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print a plan, or the least number that suffices."""
        if self.rank_mechanisms:
            self._rank_mechanisms()
            return
        crowd = [name for group in _CROWD for name in option_names(group)]
        others = given_options(self, (*_NOT_OF_SURVEYS, *crowd)) if self._is_survey else []
        if others:
            raise ParameterError(
                "commands.option-does-not-apply", option=others[0], subject="--goal shares"
            )
        check_targets(self.output, self.plot)
        if not self.people and self.least != "people":
            raise ParameterError("commands.people-missing")
        asked = self._asked()
        if self.least is None:
            self._print_plan(asked)
        else:
            self._print_least(asked, self.least)

    def _asked(self) -> dict[str, Any]:
        domain = self.domain()
        quality = self._quality(domain)
        makers = map(choose_mechanism, options.split_all(self.mechanism or []))
        asked = {
            "tasks": self.tasks,
            "workers": _whole(self.people or [], "--people"),
            "answers": None
            if self.answers_per_worker is None
            else _whole(self.answers_per_worker, "--answers-per-worker"),
            "budget": self.total_answers,
            "domain": domain,
            "quality": quality or None,
            "pilot": None if self.pilot is None else _pilot(self.pilot, domain, self.non_private),
            "mechanisms": {name: sized_maker(maker) for name, maker in makers} or None,
            "total_epsilon": _losses(self.total_epsilon, "--total-epsilon"),
            "epsilon": _losses(self.epsilon, "--epsilon"),
            "target": self.target_error,
            "draws": self.simulations,
            "random_state": self.seed,
        }
        left = _OF_CAMPAIGNS if self._is_survey else ()
        return {name: value for name, value in asked.items() if name not in left}

    @property
    def _is_survey(self) -> bool:
        return self.goal is Goal.SHARES

    def _case(self, asked: dict[str, Any]) -> Case:
        from quietcrowd.planning.case import case_of
        from quietcrowd.planning.survey_case import survey_cases

        return survey_cases(**asked)[0] if self._is_survey else case_of(**asked)

    def _plan(self, asked: dict[str, Any]) -> CampaignPlan:
        from quietcrowd.planning import plan
        from quietcrowd.planning.survey_case import survey_cases, survey_plan

        if self._is_survey:
            return survey_plan(survey_cases(**asked))
        with Working("simulated crowds") as working:
            return plan(progress=working.count, **asked)

    def _quality(self, domain: Domain) -> dict[str, Any]:
        labels = isinstance(domain, FiniteDomain)
        given = {name: getattr(self, name) for group in _CROWD for name in option_names(group)}
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
        from quietcrowd.commands.plan_table import print_plan, print_survey
        from quietcrowd.evaluation.plots import save_picture

        found = self._plan(asked)
        for sentence in found.skipped:
            print_message(f"note: {sentence}")
        if self.output is not None:
            write_table(found.frame, self.output)
        if self.plot is not None:
            save_picture(found.plot(), self.plot)
        if self.as_json:
            typer.echo(json.dumps(found.to_dict(), allow_nan=False))
            return
        if len(found.private) == 1:
            [row] = found.private
            print_wrapped(row.verdict)
            if row.standing != "good":
                print_wrapped("Ways to a better result:")
                for way, line in ways_out(self._case({**asked, "target": None}), self._line):
                    print_wrapped(f"- {way}", indent="  ")
                    if line is not None:
                        typer.echo(f"  {line}")
            typer.echo()
        if self._is_survey:
            print_survey(found)
        else:
            print_plan(found)
        _print_batch(row.workers for row in found.private)

    def _line(self, **changed: Any) -> str:
        fixed: dict[str, Any] = {"epsilon": None} if "total_epsilon" in changed else {}
        if "answers_per_worker" in changed:
            fixed = {"epsilon": None, "total_answers": None}
        return command_line(self, "plan", **fixed, least=None, **changed)

    def _print_least(self, asked: dict[str, Any], what: str) -> None:
        for name, flag in _SINGLE.items():
            if len(asked[name] or ()) > 1:
                raise ParameterError("commands.one-number-for-least", option=flag)
        case = self._case({**asked, "workers": asked["workers"] or [1]})
        found = find_least(case, what)
        if self.as_json:
            document = {"least": what, "suffices": found.suffices, **found.row.to_dict()}
            typer.echo(json.dumps(document, allow_nan=False))
            return
        print_wrapped(found.row.verdict)
        if not found.suffices:
            print_wrapped("No other number of questions per person has a clearly smaller error.")
        _print_batch([found.row.workers])
        name = {"questions": "answers_per_worker", "total": "total_epsilon"}.get(what, what)
        typer.echo(f"  {self._line(**values_of(found, name))}")

    def _rank_mechanisms(self) -> None:
        if others := given_options(self, _NOT_RANKED):
            raise ParameterError(
                "commands.option-does-not-apply", option=others[0], subject="--rank-mechanisms"
            )
        domain = self.domain()
        workers = _one(_whole(self.people or [], "--people"), "--people")
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
        ranking = ranking_of(facts, domain, self._loss_of_answer(each))
        if self.as_json:
            typer.echo(json.dumps(ranking.to_dict(), allow_nan=False))
            return
        for line in ranking_rows(ranking):
            typer.echo(line)
        for one in ranking.left_out:
            print_wrapped(f"Left out: {one}", indent="  ")

    def _loss_of_answer(self, answers: int) -> float:
        """Return the loss of each of independent answers."""
        if self.epsilon is not None:
            if self.total_epsilon is not None:
                raise ParameterError("planning.total-and-answer")
            return _one(options.parse_numbers(self.epsilon, "--epsilon"), "--epsilon")
        total = _losses(self.total_epsilon, "--total-epsilon")
        return (usual_total(answers) if total is None else _one(total, "--total-epsilon")) / answers


def _print_batch(people: Iterable[int]) -> None:
    if min(people) < USUAL_AT_LEAST:
        print_wrapped(
            f"With fewer than {USUAL_AT_LEAST} people, a campaign shows no result, unless it has a "
            "smaller --min-batch."
        )


def _losses(texts: list[str] | None, option: str) -> list[float] | None:
    return None if texts is None else options.parse_numbers(texts, option)


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
