"""Experiments: randomize the same crowd many times, and score several methods on the reports."""

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from attrs import field, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.evaluation.metrics import Score, score_for
from quietcrowd.evaluation.plots import EQUAL_EXACT, plot_scores
from quietcrowd.exceptions import ParameterError, QuietcrowdWarning
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.mechanisms.channels.base import MAX_EPSILON
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.randomness import seed_of
from quietcrowd.validation import check_real, whole_number

Maker: TypeAlias = Callable[..., Mechanism]
"""A function of ``domain=`` and ``epsilon=`` that returns a mechanism."""


_SEEDED_AS = {
    "LaplaceMechanism(": "LaplacePerturbation(",
    "OptimalMechanism(": "OptimalChannel(",
    " distribution=": " law=",
    " missing=": " null=",
}
"""Former texts of mechanisms, which seed the noise, so that published measurements repeat."""


@frozen(kw_only=True)
class _Cell:
    label: str
    claimed_epsilon: float
    mechanism: Mechanism


@frozen(kw_only=True, eq=False)
class _Crowd:
    dataset: Dataset
    score: Score
    plain: Mapping[str, TruthEstimate[Any]]

    def score_of(self, name: str, estimate: TruthEstimate[Any]) -> tuple[float, ...]:
        return self.score.of(estimate, self.plain.get(name))


@frozen(kw_only=True, eq=False)
class ExperimentResult:
    """The results of an experiment.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per mechanism, claimed epsilon and method. Columns: ``claimed_epsilon``,
        ``mechanism``, ``method``, ``exact_epsilon_mean`` and ``exact_epsilon_busiest`` (epsilon of
        one answer, for a worker with the mean and with the largest number of answers),
        ``participation_protected``, the score and its standard error (``error_rate``,
        ``error_rate_se``, or ``mae``, ``mae_se``), ``change`` (from the same method on non-private
        answers), ``change_se``, further scores with their standard errors (``rmse``,
        ``centred_error``, ``correlation``, ``weight_distance``), ``trials``.
        Rows of the mechanism ``none`` are the non-private result and the best constant guess.
    dataset : str
        Name of the data set.
    score : str
        Column of the score: ``error_rate`` or ``mae``.
    mean_answers, most_answers : int
        Mean and largest number of answers of a worker.
    skipped : tuple of str
        Reasons why mechanisms were not run, one sentence each.
    """

    frame: pd.DataFrame
    dataset: str
    score: str
    mean_answers: int
    most_answers: int
    skipped: tuple[str, ...] = ()

    def plot(self) -> Any:
        """Return a Matplotlib figure of the scores against the claimed epsilon.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        return plot_scores(self.frame, title=self.dataset, score=self.score)


def _as_tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


def _as_datasets(dataset: Any) -> tuple[Any, ...]:
    return (dataset,) if isinstance(dataset, Dataset) else tuple(dataset)


def _check_datasets(_: object, __: object, datasets: Sequence[Any]) -> None:
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise ParameterError("evaluation.not-a-dataset", dataset=dataset)


def _check_epsilons(_: object, __: object, epsilons: Sequence[Any]) -> None:
    for epsilon in epsilons:
        check_real("an epsilon", epsilon, 0)


def _as_makers(mechanisms: Any) -> dict[str, Maker]:
    if isinstance(mechanisms, Mapping):
        return dict(mechanisms)
    makers = {}
    for kind in mechanisms:
        if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
            raise ParameterError("evaluation.mechanism-not-a-class", kind=kind)
        makers[kind.name] = kind.from_claimed_epsilon
    return makers


def _check_makers(_: object, __: object, makers: Mapping[str, Any]) -> None:
    for name, maker in makers.items():
        if not callable(maker):
            raise ParameterError("evaluation.mechanism-not-a-function", name=name)


def _check_methods(_: object, __: object, methods: Any) -> None:
    if not isinstance(methods, Mapping) or not all(
        isinstance(method, FittingMethod) for method in methods.values()
    ):
        raise ParameterError("evaluation.methods-not-by-name", methods=methods)


def _not_empty(_: object, attribute: Any, values: Sequence[Any] | Mapping[str, Any]) -> None:
    if not values:
        raise ParameterError("evaluation.empty", name=attribute.name)


@frozen(kw_only=True)
class Experiment:
    """A comparison of mechanisms and methods on a data set, at several claimed epsilons.

    The score is the error rate if all methods infer labels, otherwise the mean absolute error.

    Parameters
    ----------
    dataset : Dataset, or sequence of Dataset
        Answers and truths. Several data sets must be sampled alike; trials use them in turn.
    mechanisms : sequence of Mechanism classes, or mapping of str to function
        A class is built with ``from_claimed_epsilon``, a function called with ``domain=`` and
        ``epsilon=``. Impossible combinations are skipped, and listed in the result.
    epsilons : sequence of float
        Epsilons that the papers' theorems claim.
    methods : mapping of str to method
        Truth-inference methods by name.
    trials : int
        At least 2. In each trial, all methods use the same reports.
    random_state : int or numpy.random.Generator
        Each mechanism and trial has a separate random stream, so that results do not depend on what
        else is run.
    equal_exact : bool
        Whether to add the one-layer mechanism at the exact epsilon of every mechanism that exceeds
        its claim, for a worker with the mean number of answers.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> experiment = Experiment(
    ...     dataset=qc.make_crowd(tasks=50, workers=20),
    ...     mechanisms=[qc.RandomizedResponse],
    ...     epsilons=[1.0],
    ...     methods={"majority": qc.MajorityVote()},
    ...     trials=5,
    ... )
    >>> experiment.run().frame[["mechanism", "method", "trials"]]
       mechanism    method  trials
    0       none  constant       1
    1       none  majority       1
    2  one-layer  majority       5
    """

    dataset: Any = field(converter=_as_datasets, validator=[_not_empty, _check_datasets])
    mechanisms: Mapping[str, Maker] = field(
        converter=_as_makers, validator=[_not_empty, _check_makers]
    )
    epsilons: Sequence[float] = field(converter=_as_tuple, validator=[_not_empty, _check_epsilons])
    methods: Mapping[str, FittingMethod] = field(validator=[_check_methods, _not_empty])
    trials: int = field(default=100, validator=whole_number(2))
    random_state: int = field(default=0, converter=seed_of)
    equal_exact: bool = True

    def run(self, *, progress: bool = False) -> ExperimentResult:
        """Run all trials.

        Parameters
        ----------
        progress : bool
            Whether to show a progress bar on standard error.

        Raises
        ------
        AnswerError
            If a method cannot read answers of the domain, or the truths do not match the answers.
        ParameterError
            If no mechanism can be run at any of the claimed epsilons.
        """
        self._check_methods_suit()
        first = self.dataset[0].answers
        counts = first.answers_per_worker
        sizes = _Sizes(
            mean=max(1, round(float(counts[counts > 0].mean()))),
            most=int(counts.max()),
            tasks=len(first.tasks),
        )
        skipped: list[str] = []
        cells = [
            cell
            for cell in self._cells(first.domain, sizes, skipped)
            if self._read_by_a_method(cell, skipped)
        ]
        if not cells:
            raise ParameterError("evaluation.all-skipped", reasons="; ".join(skipped))
        crowds = [self._crowd(dataset) for dataset in self.dataset]
        rows = _reference_rows(crowds)
        with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
            steps = bar.add_task("trials", total=len(cells) * self.trials)
            for cell in cells:
                trials = []
                for trial in range(self.trials):
                    trials.append(self._trial(cell, trial, crowds[trial % len(crowds)]))
                    bar.advance(steps)
                rows += _cell_rows(cell, trials, crowds, sizes)
        return ExperimentResult(
            frame=pd.DataFrame(rows),
            dataset=self.dataset[0].name,
            score=crowds[0].score.names[0],
            mean_answers=sizes.mean,
            most_answers=sizes.most,
            skipped=tuple(skipped),
        )

    def _check_methods_suit(self) -> None:
        for dataset in self.dataset:
            for method in self.methods.values():
                method.known(dataset.answers.tasks, dataset.answers.domain, None)

    def _crowd(self, dataset: Dataset) -> _Crowd:
        answers = dataset.answers.canonical  # the order that reports are in
        score = score_for(answers, dataset.truths, self.methods.values())
        plain = {}
        for name, method in self.methods.items():
            if method.reads_answers:
                plain[name] = method.fit(answers, n_jobs=1)
        return _Crowd(dataset=dataset, score=score, plain=plain)

    def _read_by_a_method(self, cell: _Cell, skipped: list[str]) -> bool:
        """Record methods that cannot read a mechanism's reports; return whether any can."""
        channel = cell.mechanism.channel
        unable = [n for n, method in self.methods.items() if not method.reads_reports(channel)]
        for name in unable:
            sentence = f"{name} cannot read the reports of {cell.label}"
            if sentence not in skipped:
                skipped.append(sentence)
        return len(unable) < len(self.methods)

    def _cells(self, domain: Domain, sizes: "_Sizes", skipped: list[str]) -> Iterator[_Cell]:
        for epsilon in self.epsilons:
            seen = set()
            for name, maker in self.mechanisms.items():
                try:
                    mechanism = maker(domain=domain, epsilon=epsilon)
                except ParameterError as error:
                    skipped.append(f"{name} was dropped at epsilon {epsilon:g}: {error}")
                    continue
                yield _Cell(label=name, claimed_epsilon=epsilon, mechanism=mechanism)
                exact = mechanism.guarantee(answers=sizes.mean, tasks=sizes.tasks).epsilon
                if not self.equal_exact or exact <= epsilon + 1e-6 or exact in seen:
                    continue
                seen.add(exact)
                if exact > MAX_EPSILON or not isinstance(domain, FiniteDomain):
                    skipped.append(f"{EQUAL_EXACT} was dropped at an exact epsilon of {exact:.4g}")
                    continue
                honest = RandomizedResponse(
                    domain=domain,
                    epsilon=exact,
                    missing="category" if mechanism.every_task else None,
                )
                yield _Cell(label=EQUAL_EXACT, claimed_epsilon=epsilon, mechanism=honest)

    def _trial(self, cell: _Cell, trial: int, crowd: _Crowd) -> dict[str, tuple[float, ...]]:
        text = repr(cell.mechanism)
        for name, first in _SEEDED_AS.items():
            text = text.replace(name, first)
        key = zlib.crc32(text.encode())
        rng = np.random.default_rng(np.random.SeedSequence((self.random_state, key, trial)))
        # Dropped rows are not part of the data set, so which ones were dropped may be public.
        answers = crowd.dataset.answers
        reports = cell.mechanism.simulate(answers, random_state=rng, participation_is_public=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            return {
                name: crowd.score_of(name, method.fit(reports, n_jobs=1))
                for name, method in self.methods.items()
                if method.reads_reports(cell.mechanism.channel)
            }


@frozen(kw_only=True)
class _Sizes:
    """Mean and largest number of answers per worker, and the number of tasks."""

    mean: int
    most: int
    tasks: int


def _reference_rows(crowds: Sequence[_Crowd]) -> list[dict[str, Any]]:
    everything = (float("inf"),) * 3
    score = crowds[0].score
    guesses = np.array([crowd.score.of_constant() for crowd in crowds])
    rows = [
        _row("none", "constant", (0.0, 0.0, 0.0), score, guesses, np.full(len(guesses), np.nan))
    ]
    for name in crowds[0].plain:
        scores = np.array([crowd.score_of(name, crowd.plain[name]) for crowd in crowds])
        rows.append(_row("none", name, everything, score, scores, np.zeros(len(scores))))
    rows[0]["participation_protected"] = True
    return rows


def _cell_rows(
    cell: _Cell,
    trials: Sequence[Mapping[str, tuple[float, ...]]],
    crowds: Sequence[_Crowd],
    sizes: _Sizes,
) -> list[dict[str, Any]]:
    exact = [
        cell.mechanism.guarantee(answers=count, tasks=sizes.tasks)
        for count in (sizes.mean, sizes.most)
    ]
    epsilons = (cell.claimed_epsilon, exact[0].epsilon, exact[1].epsilon)
    rows = []
    for name in trials[0]:
        scores = np.array([trial[name] for trial in trials])
        plain = [
            crowd.score_of(name, crowd.plain[name])[0] if name in crowd.plain else np.nan
            for crowd in (crowds[trial % len(crowds)] for trial in range(len(trials)))
        ]
        row = _row(cell.label, name, epsilons, crowds[0].score, scores, scores[:, 0] - plain)
        rows.append(row | {"participation_protected": exact[0].participation_protected})
    return rows


def _row(
    mechanism: str,
    method: str,
    epsilons: tuple[float, float, float],
    score: Score,
    scores: Any,
    changes: Any,
) -> dict[str, Any]:
    """Return a row; `scores` has shape (trials, scores), `changes` (trials,)."""
    claimed, exact_mean, exact_busiest = epsilons
    main, *others = score.names
    further = {}
    for place, name in enumerate(others, start=1):
        known = scores[~np.isnan(scores[:, place]), place]
        further[name] = float(known.mean()) if len(known) else float("nan")
        further[f"{name}_se"] = _standard_error(scores[:, place])
    return {
        "claimed_epsilon": claimed,
        "mechanism": mechanism,
        "exact_epsilon_mean": exact_mean,
        "exact_epsilon_busiest": exact_busiest,
        "participation_protected": False,
        "method": method,
        main: float(scores[:, 0].mean()),
        f"{main}_se": _standard_error(scores[:, 0]),
        "change": float(changes.mean()),
        "change_se": _standard_error(changes),
        **further,
        "trials": len(scores),
    }


def _standard_error(values: Any) -> float:
    if len(values) < 2 or np.isnan(values).any():
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values)))
