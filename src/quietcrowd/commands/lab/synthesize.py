"""``quietcrowd synthesize``: synthetic claims from claims, by a trusted collector."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import names, options
from quietcrowd.commands.choices import choose
from quietcrowd.commands.files import read_plain
from quietcrowd.commands.lab.release_report import (
    print_plans,
    print_release,
    show_plans_as_json,
    show_release_as_json,
)
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import AnswerError, ParameterError, QuietcrowdWarning
from quietcrowd.formats import check_target, read_truths, write_table
from quietcrowd.formats.files import check_folder, refuse_overwriting
from quietcrowd.frames import positions_by_text
from quietcrowd.gold import KnownTruthError, number_per_task
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss
from quietcrowd.validation import did_you_mean

if TYPE_CHECKING:
    from quietcrowd.synthesis import CrowdDensity
    from quietcrowd.synthesis.planner import Budget

__all__ = ["app", "synthesize"]

app = typer.Typer(rich_markup_mode=None)

LONGEST_NAME = 100
"""Maximum characters of a task id in the name of a picture."""

LEAST_WORTH = 0.5
"""Minimum expected number of synthetic claims per task."""

BUDGETS: dict[str, Budget] = {budget: budget for budget in names.BUDGETS}


def _words(*choices: str, text: str) -> Any:
    return typer.Option(metavar="|".join(choices), help=text, autocompletion=lambda: list(choices))


def _number(text: str, *flags: str) -> Any:
    return typer.Option(*flags, metavar="NUMBER", help=text)


Source = Annotated[
    Path, typer.Argument(metavar="CLAIMS", help="File of claims, or dataset folder.")
]
Bandwidth = Annotated[
    str | None,
    _number("Of the kernel, public, in the unit of the claims; about spread * users^-0.2."),
]
Epsilon = Annotated[
    float | None,
    _number("Of one claim, at --delta; finds k, gamma, epsilon0.", "--epsilon", "-e"),
]
Per = Annotated[str, _words(*BUDGETS, text="What --epsilon bounds: a claim, or all of a user.")]
Delta = Annotated[float, _number("Of the pair (epsilon, delta) of the bound.")]
Claims = Annotated[int, _number("Synthetic claims wanted per task.")]
K = Annotated[
    int | None, _number("Users a task must have, and claims that a candidate must resemble.")
]
Gamma = Annotated[float | None, _number("How alike likelihoods must be; above 1.")]
Epsilon0 = Annotated[
    float | None, _number("Noise of the test is 1/epsilon0; instead of --epsilon.")
]
Weights = Annotated[str | None, _words(*names.WEIGHTS, text="Of the claims. Default: uniform.")]
Kernel = Annotated[str, _words(*names.KERNELS, text="Of the densities.")]
Release = Annotated[str, _words(*names.RELEASES, text="paper: as printed; has no finite loss.")]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite what is at --output, and pictures.")
]
Plan = Annotated[
    bool, typer.Option("--plan", help="Print the releases that --epsilon allows; write nothing.")
]
Plot = Annotated[
    list[str] | None,
    typer.Option(metavar="TASK", help="Draw a task's densities, not private; repeatable."),
]
PlotFolder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Of the pictures. Default: collector-only."),
]
Truths = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Known truths for --plot, columns task and label."),
]


@app.command()
def synthesize(
    source: Source,
    output: options.Output = None,
    between: options.Between = None,
    bandwidth: Bandwidth = None,
    epsilon: Epsilon = None,
    per: Per = "claim",
    delta: Delta = 1e-6,
    claims: Claims = 30,
    k: K = None,
    gamma: Gamma = None,
    epsilon0: Epsilon0 = None,
    weights: Weights = None,
    kernel: Kernel = "gaussian",
    release: Release = "attempts",
    plan: Plan = False,
    columns: options.Columns = options.COLUMNS,
    duplicates: options.Duplicates = options.DUPLICATES,
    plot: Plot = None,
    plot_folder: PlotFolder = None,
    truths: Truths = None,
    simulate: options.Simulate = None,
    force: Force = False,
    as_json: options.Json = False,
) -> None:
    """Make synthetic claims from real ones (trusted collector).

    Overwrites nothing without --force: another release reveals more of the claims.

    Example: quietcrowd synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --epsilon 8 -o synthetic.csv

    Example: quietcrowd synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --epsilon 8 --plan

    Example: quietcrowd synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --k 28 --gamma 4 --epsilon0 0.568 -o synthetic.csv --plot "drug A"
    """
    from quietcrowd.synthesis import PrisCrowd, plan_for_claims

    budget = choose(per, BUDGETS, "--per")
    _check_budget(epsilon, epsilon0, release, plan=plan, plot=bool(plot))
    parameters = _parameters(
        bandwidth=bandwidth or ("silverman" if release == "paper" else None),
        claims=claims,
        k=k,
        gamma=gamma,
        weights=weights,
        kernel=kernel,
        release=release,
    )
    target = Path() if plan else _check_output(output)
    pictures = _name_pictures(plot or [], plot_folder or target.parent / "collector-only")
    if not plan:
        _check_files((source, truths), target, pictures, force=force)
    answers = _read_claims(source, between, columns, duplicates)
    _check_bandwidth(parameters["bandwidth"], answers)
    drawn = _truths_of(pictures, truths, answers)
    progress, expected = sys.stderr.isatty(), None
    if epsilon is None:
        method = PrisCrowd(epsilon0=epsilon0, **parameters)
    else:
        plans = plan_for_claims(
            answers, epsilon, per=budget, delta=delta, progress=progress, **parameters
        )
        if plan:
            (show_plans_as_json if as_json else print_plans)(plans, answers, epsilon, budget)
            return
        method, expected = plans[0].method, plans[0].expected
        _check_worth(expected, claims, epsilon, budget)
    density = method.fit(answers)
    _check_loss(density.guarantee(delta), epsilon, budget, method.release, simulate)
    if pictures:
        _draw(density, pictures, drawn, truths)
    rng = None if simulate is None else np.random.default_rng(simulate)
    synthetic = density.release(rng, delta=delta, progress=progress)
    write_table(synthetic.claims_as("pyarrow"), target)
    told = (synthetic, answers, method, target, expected)
    if as_json:
        show_release_as_json(*told, list(pictures.values()))
    else:
        print_release(*told)
    for path in pictures.values():
        note(f"{path} is made from raw claims: for the collector's eyes only.")


def _draw(
    density: CrowdDensity,
    pictures: Mapping[str, Path],
    drawn: Mapping[str, float | None],
    truths: Path | None,
) -> None:
    """Draw the densities of tasks, with their known truths `drawn`; `truths` is for messages."""
    from quietcrowd.evaluation.task_plots import plot_task_densities

    for task, path in pictures.items():
        if truths is not None and drawn[task] is None:
            note(f"{truths}: no truth is known of the task {task!r}")
        path.parent.mkdir(exist_ok=True)
        plot_task_densities(density, task, path, drawn[task])


def _check_budget(
    epsilon: float | None, epsilon0: float | None, release: str, *, plan: bool, plot: bool
) -> None:
    """Raise ParameterError unless exactly one option limits the privacy loss."""
    if release == "paper" and epsilon0 is None:
        raise ParameterError(
            "--release paper has no finite loss, whatever its parameters: give --epsilon0, "
            "the noise of its test, and not --epsilon"
        )
    if (epsilon is None) == (epsilon0 is None):
        raise ParameterError(
            "give one of --epsilon, what may be lost, and --epsilon0, the noise of the test"
            + (", not both" if epsilon is not None else "")
        )
    if plan and plot:
        raise ParameterError("--plan writes nothing: leave out --plot")
    if plan and epsilon is None:
        raise ParameterError("--plan goes with --epsilon: it finds what that affords")
    if release == "paper":
        warnings.warn(
            "the paper's loop has no finite loss: what it writes must not be shared",
            QuietcrowdWarning,
            stacklevel=2,
        )


def _parameters(**given: Any) -> dict[str, Any]:
    parameters = {name: value for name, value in given.items() if value is not None}
    if "bandwidth" not in parameters:
        raise ParameterError(
            "give the width of the kernel with --bandwidth NUMBER, in the unit of the claims: "
            "it is public, and is not learnt from private claims"
        )
    with suppress(ValueError):
        parameters["bandwidth"] = float(parameters["bandwidth"])
    return parameters


def _check_output(output: Path | None) -> Path:
    if output is None:
        raise ParameterError("say where the synthetic claims go: --output synthetic.csv")
    check_target(output)
    return output


def _name_pictures(tasks: list[str], folder: Path) -> dict[str, Path]:
    """Return the path of each task's picture, safe for any id."""
    return {task: folder / f"density-{_file_name(task)}.png" for task in tasks}


def _file_name(task: str) -> str:
    """Return an id as part of a file name; a hash makes a truncated one unique."""
    name = quote(task, safe=" ()+,;=@'")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{sha256(task.encode()).hexdigest()[:16]}"


def _check_files(
    sources: tuple[Path, Path | None], output: Path, pictures: dict[str, Path], *, force: bool
) -> None:
    if sources[1] is not None and not pictures:
        raise ParameterError("--truths goes with --plot TASK")
    for picture in pictures.values():
        if not picture.parent.is_dir():
            check_folder(picture.parent)
    if pictures:
        from quietcrowd.evaluation.plots import new_figure

        new_figure()
    for source in filter(None, sources):
        refuse_overwriting(source, output, *pictures.values())
    there = [path for path in (output, *pictures.values()) if path.exists()]
    if there and not force:
        raise ParameterError(f"{there[0]} is there already: name a new file, or say --force")


def _read_claims(source: Path, between: str | None, columns: str, duplicates: str) -> Answers:
    if between is None and not source.is_dir():
        raise ParameterError(
            "give the range of the claims with --between LOW,HIGH: it is public, and is not read "
            "off private claims"
        )
    return read_plain(source, (None, None, between), columns, duplicates, advice="claims")


def _truths_of(
    names: Iterable[str], truths: Path | None, answers: Answers
) -> dict[str, float | None]:
    """Return the known truths of tasks to draw, or None where unknown.

    Raises AnswerError if no claim is about a task, or a known truth is invalid.
    """
    try:
        known = number_per_task(answers.tasks, None if truths is None else read_truths(truths))
    except KnownTruthError as error:
        raise AnswerError(error.in_file(truths)) from None
    found = {name: _position(name, answers) for name in names}
    return {
        name: None if math.isnan(known[place]) else float(known[place])
        for name, place in found.items()
    }


def _position(name: str, answers: Answers) -> int:
    place = int(positions_by_text(pa.array([name]), answers.tasks)[0])
    if place < 0 or not answers.answers_per_task[place]:
        known = map(str, answers.tasks.to_pylist())
        raise AnswerError(f"--plot: no claim is about the task {name!r}{did_you_mean(name, known)}")
    return place


def _check_worth(expected: float, claims: int, epsilon: float, per: Budget) -> None:
    """Raise ParameterError if a release would cost the loss for almost no claims."""
    if expected < LEAST_WORTH:
        raise ParameterError(
            f"epsilon = {epsilon:g} per {per} affords about {expected:.2g} synthetic claims per "
            f"task where {claims} are wanted, since all attempts cost, passed or not. Ask for "
            "fewer with --claims, and see what that affords with --plan"
        )


def _check_loss(
    guarantee: PrivacyGuarantee,
    epsilon: float | None,
    per: Budget,
    release: str,
    simulate: int | None,
) -> None:
    """Raise ParameterError if a release would lose more than allowed, or without a bound."""
    loss = guarantee.epsilon if per == "claim" else guarantee.worker_epsilon
    if epsilon is not None and loss > epsilon:
        raise ParameterError(
            f"the release would lose {show_loss(loss)} per {per}, more than --epsilon {epsilon:g}"
        )
    if release == "attempts" and simulate is None and not math.isfinite(guarantee.epsilon):
        raise ParameterError(
            f"within delta = {guarantee.delta:g} nothing bounds what this release would lose: "
            "take a larger --epsilon0, --k or --delta, or let --epsilon find them; "
            "--simulate SEED writes it for a look"
        )


def _check_bandwidth(bandwidth: float | str, answers: Answers) -> None:
    """Warn of an implausible bandwidth, from public numbers only."""
    from quietcrowd.synthesis.claim_arrays import public_range

    width = public_range(answers).width
    if not isinstance(bandwidth, float) or not 0 < bandwidth < math.inf:
        return
    if not width / 1000 < bandwidth < width / 4:
        warnings.warn(
            f"--bandwidth {bandwidth:g} is {'wide' if bandwidth * 4 >= width else 'narrow'} for a "
            f"range of {width:g}: it should be about 1.06 * spread * users^-0.2, spread being the "
            "standard deviation of honest claims about one task",
            QuietcrowdWarning,
            stacklevel=2,
        )
