"""``quietcrowd lab synthesize``: synthetic claims from claims, by a trusted collector."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.choices import choose
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import PlainAnswers, gold_error
from quietcrowd.commands.lab.release_report import (
    print_plans,
    print_release,
    show_plans_as_json,
    show_release_as_json,
)
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import AnswerError, ParameterError, QuietcrowdWarning
from quietcrowd.formats import check_target, read_truths, write_table
from quietcrowd.formats.files import check_folder, require_no_overwriting
from quietcrowd.frames import positions_by_text
from quietcrowd.gold import KnownTruthError, number_per_task
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss
from quietcrowd.validation import did_you_mean

if TYPE_CHECKING:
    from quietcrowd.synthesis import CrowdDensity
    from quietcrowd.synthesis.planner import Budget

LONGEST_NAME = 100
"""Maximum characters of a task id in the name of a picture."""

LEAST_WORTH = 0.5
"""Minimum expected number of synthetic claims per task."""

BUDGETS: dict[str, Budget] = {"claim": "claim", "user": "user"}
KERNELS = ("gaussian", "epanechnikov")
RELEASES = ("attempts", "paper")
WEIGHTS = ("uniform", "local", "global", "combined", "printed")
"""Choices of `PrisCrowd`; tests compare them with its modules, which are slow to import."""


def _words(*choices: str, text: str, default: Any) -> Any:
    return option(
        metavar="|".join(choices),
        help=text,
        autocompletion=lambda: list(choices),
        default=default,
    )


def _number(text: str, *flags: str, default: Any = None) -> Any:
    return option(*flags, metavar="NUMBER", help=text, default=default)


@command()
class Synthesize:
    """Create synthetic claims, as a trusted collector.

    It overwrites nothing without --force, because another release reveals more of the claims.

    Example: quietcrowd lab synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --epsilon 8 -o synthetic.csv

    Example: quietcrowd lab synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --epsilon 8 --plan

    Example: quietcrowd lab synthesize claims.csv --between 0,10 --bandwidth 0.4
    --claims 5 --k 28 --gamma 4 --epsilon0 0.568 -o synthetic.csv --plot "drug A"
    """

    source: Path = argument(metavar="CLAIMS", help="File of claims, or dataset directory.")
    output: Path | None = options.OUTPUT
    between: str | None = options.BETWEEN
    bandwidth: str | None = _number(
        "Public bandwidth of the kernel, in the unit of the claims; about their standard "
        "deviation * users^-0.2.",
        default=None,
    )
    epsilon: float | None = _number(
        "Privacy loss at --delta, which determines k, gamma and epsilon0.",
        "--epsilon",
        "-e",
        default=None,
    )
    epsilon_per: str = _words(
        *BUDGETS, text="Whether --epsilon bounds one claim, or all of a user.", default="claim"
    )
    delta: float = _number("Delta of the bound (epsilon, delta).", default=1e-6)
    claims: int = _number("Requested synthetic claims per task.", default=30)
    k: int | None = _number(
        "Minimum users per task, and minimum claims similar to a candidate.", default=None
    )
    gamma: float | None = _number("Ratio of similar likelihoods; above 1.", default=None)
    epsilon0: float | None = _number(
        "Noise of the test is 1/epsilon0; instead of --epsilon.", default=None
    )
    weights: str | None = _words(
        *WEIGHTS, text="Weights of the claims. Default: uniform.", default=None
    )
    kernel: str = _words(*KERNELS, text="Kernel of the densities.", default="gaussian")
    release: str = _words(
        *RELEASES, text="paper: as published; its loss is unbounded.", default="attempts"
    )
    plan: bool = option(
        help="Print the releases that --epsilon allows; write nothing.", default=False
    )
    columns: str = options.COLUMNS
    duplicates: str = options.DUPLICATES
    plot: list[str] | None = option(
        metavar="TASK", help="Plot a task's densities, not private; repeatable.", default=None
    )
    plot_folder: Path | None = option(
        metavar="FOLDER", help="Directory of the plots. Default: collector-only.", default=None
    )
    gold: Path | None = option(
        metavar="FILE", help="Known truths for --plot, in columns task and label.", default=None
    )
    simulate: int | None = options.SIMULATE
    force: bool = option(help="Overwrite existing output and plots.", default=False)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Make a release, or print those that are possible."""
        from quietcrowd.synthesis import PrisCrowd, plan_for_claims

        budget = choose(self.epsilon_per, BUDGETS, "--epsilon-per")
        _check_budget(
            self.epsilon, self.epsilon0, self.release, plan=self.plan, plot=bool(self.plot)
        )
        parameters = _parameters(
            bandwidth=self.bandwidth or ("silverman" if self.release == "paper" else None),
            claims=self.claims,
            k=self.k,
            gamma=self.gamma,
            weights=self.weights,
            kernel=self.kernel,
            release=self.release,
        )
        target = Path() if self.plan else _check_output(self.output)
        pictures = _name_pictures(
            self.plot or [], self.plot_folder or target.parent / "collector-only"
        )
        if not self.plan:
            _check_files((self.source, self.gold), target, pictures, force=self.force)
        answers = self._read_claims()
        _check_bandwidth(parameters["bandwidth"], answers)
        drawn = _truths_of(pictures, self.gold, answers)
        progress, expected = sys.stderr.isatty(), None
        if self.epsilon is None:
            method = PrisCrowd(epsilon0=self.epsilon0, **parameters)
        else:
            plans = plan_for_claims(
                answers, self.epsilon, per=budget, delta=self.delta, progress=progress, **parameters
            )
            if self.plan:
                (show_plans_as_json if self.as_json else print_plans)(
                    plans, answers, self.epsilon, budget
                )
                return
            method, expected = plans[0].method, plans[0].expected
            _check_worth(expected, self.claims, self.epsilon, budget)
        density = method.fit(answers)
        _check_loss(
            density.guarantee(self.delta), self.epsilon, budget, method.release, self.simulate
        )
        if pictures:
            _draw(density, pictures, drawn, self.gold)
        rng = None if self.simulate is None else np.random.default_rng(self.simulate)
        synthetic = density.release(random_state=rng, delta=self.delta, progress=progress)
        write_table(synthetic.claims_as("pyarrow"), target)
        results = (synthetic, answers, method, target, expected)
        if self.as_json:
            show_release_as_json(*results, list(pictures.values()))
        else:
            print_release(*results)
        for path in pictures.values():
            note(f"{path} shows raw claims. Only the collector may see it.")

    def _read_claims(self) -> Answers:
        if self.between is None and not self.source.is_dir():
            raise ParameterError("commands.range-missing")
        claims = PlainAnswers(
            between=self.between, columns=self.columns, duplicates=self.duplicates
        )
        return claims.read(self.source, advice="claims")


def _draw(
    density: CrowdDensity,
    pictures: Mapping[str, Path],
    drawn: Mapping[str, float | None],
    truths: Path | None,
) -> None:
    from quietcrowd.evaluation.plots import plot_task_densities

    for task, path in pictures.items():
        if truths is not None and drawn[task] is None:
            note(f"{truths}: the truth of task {task!r} is missing")
        path.parent.mkdir(exist_ok=True)
        plot_task_densities(density, task, path, drawn[task])


def _check_budget(
    epsilon: float | None, epsilon0: float | None, release: str, *, plan: bool, plot: bool
) -> None:
    if release == "paper" and epsilon0 is None:
        raise ParameterError("commands.paper-release-needs-epsilon0")
    if epsilon is None and epsilon0 is None:
        raise ParameterError("commands.epsilon-missing")
    if epsilon is not None and epsilon0 is not None:
        raise ParameterError("commands.epsilon-twice")
    if plan and plot:
        raise ParameterError("commands.plan-without-plot")
    if plan and epsilon is None:
        raise ParameterError("commands.plan-needs-epsilon")
    if release == "paper":
        warnings.warn(
            QuietcrowdWarning("commands.paper-release-unbounded"),
            stacklevel=2,
        )


def _parameters(**given: Any) -> dict[str, Any]:
    parameters = {name: value for name, value in given.items() if value is not None}
    if "bandwidth" not in parameters:
        raise ParameterError("commands.bandwidth-missing")
    with suppress(ValueError):
        parameters["bandwidth"] = float(parameters["bandwidth"])
    return parameters


def _check_output(output: Path | None) -> Path:
    if output is None:
        raise ParameterError("commands.synthetic-output-missing")
    check_target(output)
    return output


def _name_pictures(tasks: list[str], folder: Path) -> dict[str, Path]:
    return {task: folder / f"density-{_file_name(task)}.png" for task in tasks}


def _file_name(task: str) -> str:
    name = quote(task, safe=" ()+,;=@'")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{sha256(task.encode()).hexdigest()[:16]}"


def _check_files(
    sources: tuple[Path, Path | None], output: Path, pictures: dict[str, Path], *, force: bool
) -> None:
    if sources[1] is not None and not pictures:
        raise ParameterError("commands.gold-needs-plot")
    for picture in pictures.values():
        if not picture.parent.is_dir():
            check_folder(picture.parent)
    if pictures:
        from quietcrowd.figures import new_figure

        new_figure()
    for source in filter(None, sources):
        require_no_overwriting(source, output, *pictures.values())
    there = [path for path in (output, *pictures.values()) if path.exists()]
    if there and not force:
        raise ParameterError("commands.output-exists", there=there[0])


def _truths_of(
    names: Iterable[str], truths: Path | None, answers: Answers
) -> dict[str, float | None]:
    """Return the known truths of tasks to draw, or None where unknown."""
    try:
        known = number_per_task(answers.tasks, None if truths is None else read_truths(truths))
    except KnownTruthError as error:
        raise gold_error(error, truths) from None
    found = {name: _position(name, answers) for name in names}
    return {
        name: None if math.isnan(known[place]) else float(known[place])
        for name, place in found.items()
    }


def _position(name: str, answers: Answers) -> int:
    place = int(positions_by_text(pa.array([name]), answers.tasks)[0])
    if place < 0 or not answers.answers_per_task[place]:
        known = map(str, answers.tasks.to_pylist())
        raise AnswerError(
            "commands.plot-task-unknown", name=name, suggestion=did_you_mean(name, known)
        )
    return place


def _check_worth(expected: float, claims: int, epsilon: float, per: Budget) -> None:
    """Raise ParameterError if a release would cost the loss for almost no claims."""
    if expected < LEAST_WORTH:
        raise ParameterError(
            "commands.too-few-claims-affordable",
            epsilon=epsilon,
            per=per,
            expected=expected,
            claims=claims,
        )


def _check_loss(
    guarantee: PrivacyGuarantee,
    epsilon: float | None,
    per: Budget,
    release: str,
    simulate: int | None,
) -> None:
    """Raise ParameterError if a release would lose more than allowed, or without a bound."""
    loss = guarantee.epsilon if per == "claim" else guarantee.total_epsilon
    if epsilon is not None and loss > epsilon:
        raise ParameterError(
            "commands.release-exceeds-epsilon", loss=show_loss(loss), per=per, epsilon=epsilon
        )
    if release == "attempts" and simulate is None and not math.isfinite(guarantee.epsilon):
        raise ParameterError("commands.release-unbounded", delta=guarantee.delta)


def _check_bandwidth(bandwidth: float | str, answers: Answers) -> None:
    """Warn of an implausible bandwidth, from public numbers only."""
    from quietcrowd.synthesis.claim_arrays import public_range

    width = public_range(answers).width
    if not isinstance(bandwidth, float) or not 0 < bandwidth < math.inf:
        return
    if not width / 1000 < bandwidth < width / 4:
        warnings.warn(
            QuietcrowdWarning(
                "commands.bandwidth-implausible",
                bandwidth=bandwidth,
                width=width,
            ),
            stacklevel=2,
        )
