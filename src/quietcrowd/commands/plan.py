"""``quietcrowd plan``: the expected error of a campaign before the first answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from quietcrowd.commands import options, plan_options
from quietcrowd.commands.choices import MechanismNames, choose_mechanism
from quietcrowd.commands.printing import tell
from quietcrowd.commands.two_layer_choice import sized_maker
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import check_target, write_table
from quietcrowd.formats.files import check_new

__all__ = ["app", "plan"]

app = typer.Typer(rich_markup_mode=None)

_LABELS = ("accuracy", "accuracy_sd", "truths", "misled", "pull")
_NUMBERS = ("error", "error_factor", "spread", "middle", "shared")


@app.command()
def plan(
    tasks: plan_options.Tasks,
    workers: plan_options.Workers = None,
    answers: plan_options.Answers = None,
    budget: plan_options.Budget = None,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    mechanism: MechanismNames = None,
    epsilon: plan_options.Epsilon = ["0.5,1,2,4"],  # noqa: B006
    per: plan_options.Per = "answer",
    target: plan_options.Target = None,
    guessers: plan_options.Guessers = None,
    accuracy: plan_options.Accuracy = None,
    accuracy_sd: plan_options.AccuracySd = None,
    truths: plan_options.Truths = None,
    misled: plan_options.Misled = None,
    pull: plan_options.Pull = None,
    error: plan_options.Error = None,
    error_factor: plan_options.ErrorFactor = None,
    spread: plan_options.Spread = None,
    middle: plan_options.Middle = None,
    shared: plan_options.Shared = None,
    pilot: plan_options.Pilot = None,
    plain: options.Plain = False,
    least: plan_options.Least = None,
    draws: plan_options.Draws = None,
    seed: plan_options.Seed = 0,
    output: options.Output = None,
    plot: plan_options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Predict the error of a campaign before the first answer.

    Crowds are drawn by what is assumed of them, randomised by the mechanism, and inferred. No
    answer of anybody is needed. The interval holds the error of nine campaigns in ten.

    Example: quietcrowd plan --tasks 1000 --workers 50,100,200 --answers 100 --labels no,yes

    Example: quietcrowd plan --tasks 500 --workers 100 --answers 1,5 --between 0,10 --per worker
    -e 5 --target 0.5

    Example: quietcrowd plan --tasks 500 --workers 100 --answers 20 --labels no,yes --least epsilon
    --target 0.1
    """
    said = locals()
    _check_targets(output, plot)
    if not workers and least != "workers":
        raise ParameterError("say how many are asked: --workers 50,100")
    asked = _asked(said)
    if least is None:
        _tell_plan(asked, budget, output, plot, as_json=as_json)
        return
    from quietcrowd.commands.plan_inverse import tell_least

    tell_least(least, budget=budget, as_json=as_json, **asked)


def _asked(said: dict[str, Any]) -> dict[str, Any]:
    domain = options.build_domain(said["labels"], said["levels"], said["between"])
    quality = _quality(domain, said)
    makers = map(choose_mechanism, options.split_all(said["mechanism"] or []))
    answers, pilot = said["answers"], said["pilot"]
    return {
        "tasks": said["tasks"],
        "workers": _whole(said["workers"] or [], "--workers"),
        "answers": None if answers is None else _whole(answers, "--answers"),
        "domain": domain,
        "quality": quality or None,
        "pilot": None if pilot is None else _pilot(pilot, domain, said["plain"]),
        "mechanisms": {name: sized_maker(maker) for name, maker in makers} or None,
        "epsilon": options.parse_numbers(said["epsilon"], "--epsilon"),
        **{name: said[name] for name in ("per", "target", "draws", "seed")},
    }


def _tell_plan(
    asked: dict[str, Any],
    budget: int | None,
    output: Path | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    from quietcrowd.commands.plan_table import print_plan
    from quietcrowd.planning import plan as make_plan

    with _Bar() as bar:
        found = make_plan(budget=budget, progress=bar.show, **asked)
    for sentence in found.skipped:
        tell(f"note: {sentence}")
    if output is not None:
        write_table(found.frame, output)
    if plot is not None:
        found.plot(plot)
    if as_json:
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
            f"{path}: the pilot's answers are in {reports.mechanism.domain.example()}, those of "
            f"the plan in {domain.example()}"
        )
    return reports


def _check_targets(output: Path | None, plot: Path | None) -> None:
    """Raise unless the results can be written, before a long computation."""
    if output is not None:
        check_target(output)
        check_new(output)
    if plot is not None:
        from quietcrowd.evaluation.plots import check_picture

        check_picture(plot)
        check_new(plot)


def _whole(texts: list[str], option: str) -> list[int]:
    numbers = options.parse_numbers(texts, option)
    for number in numbers:
        if not number.is_integer():
            raise ParameterError(f"{option} must be whole numbers, by commas; got {number:g}")
    return [int(number) for number in numbers]


def _quality(domain: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Return the assumptions about the crowd; raise ParameterError if the domain is another."""
    assumed = ("guessers", *_LABELS, *_NUMBERS)
    chosen = {name: said[name] for name in assumed if said[name] is not None}
    if "truths" in chosen:
        chosen["truths"] = options.parse_numbers([chosen["truths"]], "--truths")
    labels = isinstance(domain, FiniteDomain)
    for name in chosen:
        if name in (_NUMBERS if labels else _LABELS):
            raise ParameterError(
                f"--{name.replace('_', '-')} is about {'numbers' if labels else 'labels'}, and "
                f"these answers are {'labels' if labels else 'numbers'}"
            )
    return chosen


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
