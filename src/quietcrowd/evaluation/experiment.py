"""What privacy costs: the same crowd, randomised many times, inferred by several methods."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from attrs import field, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import FiniteDomain, check_finite
from quietcrowd.evaluation.metrics import KnownTruths
from quietcrowd.evaluation.plots import EQUAL_EXACT, plot_error_rates
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.inference.noise_warning import noise_ignored
from quietcrowd.mechanisms.channel import MAX_EPSILON
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.validation import check_real, check_whole

__all__ = ["Experiment", "ExperimentResult"]


@frozen(kw_only=True)
class _Cell:
    """One mechanism at one claimed epsilon."""

    label: str
    claimed_epsilon: float
    mechanism: Mechanism


@frozen(kw_only=True, eq=False)
class ExperimentResult:
    """What an experiment measured.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per mechanism, claimed epsilon and method: ``claimed_epsilon``, ``mechanism``,
        ``method``, ``exact_epsilon_mean`` and ``exact_epsilon_busiest`` (what one answer loses
        for a worker with the mean and with the largest number of answers), ``error_rate``,
        ``error_rate_se``, ``change`` (from the same method on the plain answers), ``change_se``,
        ``trials``. Rows of the mechanism ``none`` are the non-private result and the best
        constant guess.
    dataset : str
        Name of the data set.
    mean_answers, most_answers : int
        Answers of the mean and of the busiest worker.
    skipped : tuple of str
        Why a mechanism was not run at a claimed epsilon, one sentence each.
    """

    frame: pd.DataFrame
    dataset: str
    mean_answers: int
    most_answers: int
    skipped: tuple[str, ...] = ()

    def plot(self, path: str | Path) -> None:
        """Draw the error rates against the claimed epsilon into a PNG file.

        Raises
        ------
        ParameterError
            Where the name does not end in ``.png``.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        plot_error_rates(self, Path(path))


def _check_trials(_: object, __: object, trials: Any) -> None:
    check_whole("trials", trials, 2)


def _as_tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


def _check_dataset(_: object, __: object, dataset: Any) -> None:
    if not isinstance(dataset, Dataset):
        raise ParameterError(f"dataset must be a Dataset, as load_dataset gives; got {dataset!r}")


def _check_epsilons(_: object, __: object, epsilons: Sequence[Any]) -> None:
    for epsilon in epsilons:
        check_real("an epsilon", epsilon, 0)


def _check_seed(_: object, __: object, seed: Any) -> None:
    check_whole("seed", seed, 0)


def _check_mechanisms(_: object, __: object, kinds: Sequence[Any]) -> None:
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
            raise ParameterError(
                f"mechanisms must be classes, such as RandomizedResponse; got {kind!r}. "
                "The epsilons say with which parameters they run."
            )


def _check_methods(_: object, __: object, methods: Any) -> None:
    if not isinstance(methods, Mapping) or not all(
        isinstance(method, CategoricalMethod) for method in methods.values()
    ):
        raise ParameterError(
            f'methods must be methods by name, as {{"majority": MajorityVote()}}; got {methods!r}'
        )


def _not_empty(_: object, attribute: Any, values: Sequence[Any] | Mapping[str, Any]) -> None:
    if not values:
        raise ParameterError(f"{attribute.name} must not be empty")


@frozen(kw_only=True)
class Experiment:
    """A data set, mechanisms, claimed epsilons, methods, and a number of trials.

    Parameters
    ----------
    dataset : Dataset
        Answers in a finite domain, and truths.
    mechanisms : sequence of Mechanism classes
        Each is built with ``from_claimed_epsilon``. Where that is impossible at one of the
        epsilons, the pair is left out and the result says why.
    epsilons : sequence of float
        What the papers' theorems claim.
    methods : mapping of str to method
        Truth-inference methods by the names that the result gives them.
    trials : int
        At least 2. In each trial all methods see the same reports.
    seed : int
        Each cell and trial has a stream of its own, so that neither the order of the cells nor
        what else is run changes a figure.
    equal_exact : bool
        Whether to run, beside every mechanism that loses more than it claims, the one-layer
        mechanism at that exact epsilon (of the mean worker).

    Examples
    --------
    >>> import quietcrowd as qc
    >>> experiment = Experiment(
    ...     dataset=qc.synthetic_crowd(tasks=50, workers=20),
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

    dataset: Dataset = field(validator=_check_dataset)
    mechanisms: Sequence[type[Mechanism]] = field(
        converter=_as_tuple, validator=[_not_empty, _check_mechanisms]
    )
    epsilons: Sequence[float] = field(converter=_as_tuple, validator=[_not_empty, _check_epsilons])
    methods: Mapping[str, CategoricalMethod[Any, Any]] = field(
        validator=[_check_methods, _not_empty]
    )
    trials: int = field(default=100, validator=_check_trials)
    seed: int = field(default=0, validator=_check_seed)
    equal_exact: bool = True

    def run(self, *, progress: bool = False) -> ExperimentResult:
        """Run all trials.

        Parameters
        ----------
        progress : bool
            Whether to show a bar on standard error.

        Raises
        ------
        AnswerError
            Where the domain is not finite or the truths do not fit the answers.
        ParameterError
            Where no mechanism can have any of the claimed epsilons.
        """
        answers = self.dataset.answers.canonical  # the order that reports are in
        domain = check_finite(answers.domain, "an experiment on error rates")
        known = KnownTruths(answers, self.dataset.truths)
        counts = answers.answers_per_worker
        mean_answers = max(1, round(float(counts[counts > 0].mean())))
        skipped: list[str] = []
        cells = list(self._cells(domain, mean_answers, skipped))
        if not cells:
            raise ParameterError(" ".join(skipped))
        plain = {
            name: known.error_rate(method.fit(answers, threads=1))
            for name, method in self.methods.items()
        }
        rows = self._reference_rows(known, plain)
        with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
            steps = bar.add_task("trials", total=len(cells) * self.trials)
            for cell in cells:
                rates = np.empty((self.trials, len(self.methods)))
                for trial in range(self.trials):
                    rates[trial] = self._trial(cell, trial, known)
                    bar.advance(steps)
                rows += _cell_rows(cell, rates, plain, (mean_answers, int(counts.max())))
        return ExperimentResult(
            frame=pd.DataFrame(rows),
            dataset=self.dataset.name,
            mean_answers=mean_answers,
            most_answers=int(counts.max()),
            skipped=tuple(skipped),
        )

    def _cells(
        self, domain: FiniteDomain, mean_answers: int, skipped: list[str]
    ) -> Iterator[_Cell]:
        for epsilon in self.epsilons:
            seen = set()
            for kind in self.mechanisms:
                try:
                    mechanism = kind.from_claimed_epsilon(domain=domain, epsilon=epsilon)
                except ParameterError as error:
                    skipped.append(f"{kind.name} was left out at epsilon {epsilon:g}: {error}")
                    continue
                yield _Cell(label=kind.name, claimed_epsilon=epsilon, mechanism=mechanism)
                exact = mechanism.guarantee(answers=mean_answers).epsilon
                if not self.equal_exact or exact <= epsilon + 1e-6 or exact in seen:
                    continue
                seen.add(exact)
                if exact > MAX_EPSILON:
                    skipped.append(f"{EQUAL_EXACT} was left out at an exact epsilon of {exact:.4g}")
                    continue
                honest = RandomizedResponse(domain=domain, epsilon=exact)
                yield _Cell(label=EQUAL_EXACT, claimed_epsilon=epsilon, mechanism=honest)

    def _trial(self, cell: _Cell, trial: int, known: KnownTruths) -> list[float]:
        key = zlib.crc32(repr(cell.mechanism).encode())
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, key, trial)))
        reports = cell.mechanism.randomize(self.dataset.answers, rng=rng)
        with noise_ignored():
            return [
                known.error_rate(method.fit(reports, threads=1)) for method in self.methods.values()
            ]

    def _reference_rows(
        self, known: KnownTruths, plain: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        guess = known.constant_error_rate()
        nothing_told = _row("none", "constant", (0.0, 0.0, 0.0), guess, float("nan"))
        everything = (float("inf"),) * 3
        return [
            nothing_told,
            *(_row("none", name, everything, rate, 0.0) for name, rate in plain.items()),
        ]


def _row(
    mechanism: str,
    method: str,
    epsilons: tuple[float, float, float],
    error_rate: float,
    change: float,
    standard_error: float = 0.0,
    trials: int = 1,
) -> dict[str, Any]:
    claimed, exact_mean, exact_busiest = epsilons
    return {
        "claimed_epsilon": claimed,
        "mechanism": mechanism,
        "exact_epsilon_mean": exact_mean,
        "exact_epsilon_busiest": exact_busiest,
        "method": method,
        "error_rate": error_rate,
        "error_rate_se": standard_error,
        "change": change,
        "change_se": standard_error,  # the plain answers' error rate is no random number
        "trials": trials,
    }


def _cell_rows(
    cell: _Cell,
    rates: npt.NDArray[np.float64],
    plain: Mapping[str, float],
    answers: tuple[int, int],
) -> list[dict[str, Any]]:
    means = rates.mean(axis=0).tolist()
    errors = (rates.std(axis=0, ddof=1) / np.sqrt(len(rates))).tolist()
    exact_mean, exact_busiest = (cell.mechanism.guarantee(answers=n).epsilon for n in answers)
    epsilons = (cell.claimed_epsilon, exact_mean, exact_busiest)
    return [
        _row(cell.label, name, epsilons, mean, mean - rate, error, len(rates))
        for (name, rate), mean, error in zip(plain.items(), means, errors, strict=True)
    ]
