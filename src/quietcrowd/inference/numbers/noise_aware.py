"""Truths that are numbers, by a model that knows the noise in the reports."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.domains import check_numeric
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference.further_report import EVERY_TASK, FurtherNumber
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.crowd import (
    MANY,
    NumberState,
    NumberTally,
    find_range,
    table_rows,
)
from quietcrowd.inference.numbers.learning import (
    first_number_state,
    learn,
    lower_bound,
    sigma_quantiles,
    try_laws,
)
from quietcrowd.inference.numbers.model import NumericMethod
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    LOG_FLOOR,
)
from quietcrowd.inference.numbers.sweep import (
    LEVELS,
    count_cells,
    error_laws,
    fills_in,
    pass_over,
    report_precisions,
)
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, Scatter
from quietcrowd.mechanisms.channels.base import Channel, known_grid
from quietcrowd.validation import at_least, plain, whole_number

__all__ = ["LEVELS", "NoiseAwareNumbers"]

MOST_CELLS = 2**27
"""Most distances of all workers in a tally: 1 GiB, and half as much for a table."""

MOST_GROWTH = 1.1
"""An extension may widen the range of all plain numbers so many times."""

MOST_NOISE = 0.5
"""The noise hides the truths where it is more than this part of their variance."""

MOST_UNSURE = 0.8
"""An interval that covers this part of all that sigma may be tells nothing of it."""


@frozen(kw_only=True, slots=False)
class NoiseAwareNumbers(
    NumericMethod[NumberState, NumberTally], IterativeInference[NumberState, NumberTally]
):
    """Truths on bins, each worker's own error of unknown size, and noise of a known law.

    ::

        report_uj = truth_j + normal(0, sigma_u^2) + Laplace(b)
        truth_j ~ p,   sigma_u ~ rho

    Or a report has the weights of a bounded law, given ``truth_j + normal(0, sigma_u^2)``.
    The range is cut into 192 bins: the public one of reports with noise, that of most answers of
    those without. The posterior of a truth is a probability of each bin, that of sigma_u one of
    each of 20 sizes; what varies over the crowd, rho, is learnt. So is p, a histogram that is drawn
    towards a normal law, where there is noise; without noise p is even, and errors may have heavy
    tails, too. A truth is the median of its posterior, its standard error the deviation of that.
    Where unanswered tasks are reported, too, a report is an answer with a probability that is
    learnt for each worker, or else what the mechanism fills in; a noisy participation bit counts.

    The objective of a fit is a lower bound of the log posterior, per answer; it cannot fall, but
    for what rounding of tables takes, less than 2^-22. That of an extension can: the earlier
    reports' part of it is as the earlier estimate left it.

    No report holds more than half of a task's precision, of two or three more than 2 / n, unless
    others bear it out: the truths as the reports of others have them say with a probability of .8
    that the worker's sigma is not larger.

    Parameters
    ----------
    max_iterations : int
        As of every method.
    tolerance : float
        As of every method.

    Raises
    ------
    ParameterError
        By `fit`, where there are too many workers.

    References
    ----------
    ``docs/theory/noise-aware-numbers.md``, ``docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> mechanism = qc.LaplacePerturbation(domain=crowd.answers.domain, epsilon=5.0, fill=None)
    >>> reports = mechanism.randomize(crowd.answers, rng=np.random.default_rng(1))
    >>> aware, moon = NoiseAwareNumbers().fit(reports), qc.MOON().fit(reports)
    >>> qc.mean_absolute_error(aware, crowd.truths) < qc.mean_absolute_error(moon, crowd.truths)
    True
    """

    name: ClassVar[str] = "noise-aware"
    errors_from_model: ClassVar[bool] = True
    max_iterations: int = field(default=100, converter=plain, validator=whole_number(1))
    tolerance: float = field(default=1e-7, converter=plain, validator=at_least(0))

    @override
    def reads_reports(self, channel: Channel) -> bool:
        """Return whether the law of a report is known: Laplace noise, or bounded reports."""
        return known_grid(channel) is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return known_grid(mechanism.worker_channel) is not None

    @override
    def bounds(self, channel: Channel | None) -> tuple[float, float] | None:
        """Return the ends of the public grid."""
        grid = known_grid(channel)
        return None if grid is None else grid.ends

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports whose law is not known."""
        check_numeric(mechanism.domain, "NoiseAware")
        if not self.reads_reports(mechanism.channel):
            bits = mechanism.channel.participation is not None
            other, name = ("RatioMean", "ratio-mean") if bits else ("Mean", "mean")
            raise AnswerError(
                "NoiseAware needs reports with Laplace noise of known scale, or bounded ones, as "
                "those of LaplacePerturbation or PiecewiseMechanism; got those of "
                f"{type(mechanism).__name__}. For them take {other} (on the command line: "
                f"--method {name})."
            )

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        found = super().summarize(summary, known)
        columns = len(error_laws(found, first_number_state(found)).logs)
        many = int(table_rows(found).max()) + 1
        if many * columns > MOST_CELLS:
            raise ParameterError(
                f"{many:,} workers with {MANY} reports and more, and {columns:,} distances make a "
                f"tally of {many * columns:,} numbers, more than {MOST_CELLS:,}. Take MOON with "
                "truth_prior='normal' (on the command line: --method "
                "moon:truth_prior=normal), one number per worker."
            )
        return found

    @override
    def start_from(self, state: NumberState, earlier: Any, summary: Summary) -> NumberState:
        """Return the earlier state, fitted to the reports; of plain numbers a new one.

        Their range is looked for anew, and what is known of errors is in parts of it.
        """
        fresh = first_number_state(summary)
        if fresh.looks >= 0:
            return fresh
        if fresh.answering is None:
            return evolve(state, answering=None)
        if state.answering is None:
            return evolve(state, answering=fresh.answering, trial=fresh.trial)
        return state

    @override
    def extend_tally(self, tally: NumberTally, extension: Extension) -> NumberTally:
        """Return the tally among all workers.

        Raises
        ------
        ParameterError
            Where new plain numbers lie far beyond the earlier ones.
        """
        if extension.stretch < 1.0 / MOST_GROWTH:
            new = extension.new
            raise ParameterError(
                f"the new numbers, with the earlier ones from {new.low:g} to {new.high:g}, lie far "
                "beyond the range that the earlier estimate is of. Fit all answers anew."
            )
        return super().extend_tally(tally, extension)

    @override
    def weights(self, summary: Summary, state: NumberState | None) -> npt.NDArray[np.float64]:
        """Return the expected precisions of reports, the greatest being 1."""
        if state is None:
            return np.ones(summary.workers)
        precisions = report_precisions(summary, state)
        weights: npt.NDArray[np.float64] = precisions / precisions.max()
        return weights

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: NumberState | None,
        estimates: NumericEstimates | None,
    ) -> NumberTally:
        """Find the posteriors of the truths; before that, the range of plain numbers."""
        state = state or first_number_state(summary)
        if state.looks >= 0:
            return count_cells(partition, summary, state)
        return pass_over(partition, summary, state, estimates, np.zeros((0, 0)))

    def posterior(
        self, partition: Partition, summary: Summary, state: NumberState
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return quantiles of the truths' posteriors, by one more pass.

        Parameters
        ----------
        partition, summary, state
            As of `sweep`; the state is that of the last pass.

        Returns
        -------
        levels : ndarray of float64, shape (5,)
            .05, .25, .5, .75 and .95.
        quantiles : ndarray of float64, shape (tasks, 5)
            In the unit of the answers; a known truth is all of its quantiles.
        """
        quantiles = np.zeros((partition.tasks, len(LEVELS)))
        pass_over(partition, summary, state, None, quantiles)
        return np.array(LEVELS), quantiles * summary.extent + summary.middle

    @override
    def further_report(
        self, summary: Summary, state: NumberState | None, worker: int | None
    ) -> FurtherNumber:
        """Return the expected precision of a report, in the unit of the answers.

        Raises
        ------
        ParameterError
            Where unanswered tasks are filled in: every worker reports every task then.
        """
        assert state is not None
        if fills_in(summary):
            raise ParameterError(EVERY_TASK)
        own = slice(worker, None if worker is None else worker + 1)
        beliefs = state.crowd[np.newaxis] if worker is None else state.beliefs[own]
        precision = report_precisions(summary, evolve(state, beliefs=beliefs))[0]
        return FurtherNumber(precision=float(precision / (state.high - state.low) ** 2))

    @override
    def beliefs(
        self, partition: Partition, summary: Summary, state: NumberState
    ) -> npt.NDArray[np.float64]:
        """Return the standard deviation of each truth, in the unit of the answers."""
        room = self.room(partition.tasks, summary)
        pass_over(partition, summary, state, room, np.zeros((0, 0)))
        spread: npt.NDArray[np.float64] = room.standard_error * summary.extent
        return spread

    @override
    def update(
        self, summary: Summary, tally: NumberTally, state: NumberState | None
    ) -> tuple[NumberState, float]:
        """Learn of workers and truths.

        The objective is that of the state of the pass; of a pass that looked for the range, or for
        the law of the truths to begin with, less than any other.
        """
        state = state or first_number_state(summary)
        if state.looks >= 0:
            low, high, enough = find_range(tally.cells, state.low, state.high, state.looks)
            looks = -1 if enough else state.looks + 1
            return evolve(state, low=low, high=high, looks=looks), state.looks - 4.0 * LOG_FLOOR
        if state.trial is not None:
            return try_laws(summary, tally, state), state.trial.number - 4.0 * LOG_FLOOR
        objective = float(lower_bound(summary, tally, state) / summary.answers)
        return learn(summary, tally, state), objective

    @override
    def update_partly(
        self, summary: Summary, tally: NumberTally, state: NumberState | None
    ) -> tuple[NumberState, float]:
        """Learn as by `update`, but keep what is borne out: few reports are looked at."""
        learned, objective = self.update(summary, tally, state)
        return (learned if state is None else evolve(learned, borne=state.borne)), objective

    @override
    def qualities(
        self, summary: Summary, tally: NumberTally, state: NumberState | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        assert state is not None
        laws = error_laws(summary, state)
        levels = np.array([0.05, 0.5, 0.95])
        low, middle, high = sigma_quantiles(state.beliefs, laws, levels).T * (
            state.high - state.low
        )
        silent = summary.answers_per_worker == 0
        with np.errstate(divide="ignore"):
            whole = math.log(laws.sigma.max() / laws.sigma.min())
            unsure = silent | (np.log(high / low) > MOST_UNSURE * whole)
        return {
            **super().qualities(summary, tally, state),
            "sigma": np.where(unsure, np.nan, middle),
            "sigma_low": np.where(unsure, np.nan, low),
            "sigma_high": np.where(unsure, np.nan, high),
        }

    @override
    def signal_warnings(
        self, summary: Summary, tally: NumberTally, state: NumberState | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn where the reports tell less of the truths than their law does."""
        assert state is not None
        if state.truths is None or scatter.inferred < 2:
            return []
        bins, width = np.linspace(0.0, 1.0, BINS), state.high - state.low
        middle = float(np.sum(state.law * bins))
        mean = state.low + middle * width
        spread = math.sqrt(float(np.sum(state.law * (bins - middle) ** 2))) * width
        noise = scatter.noise * summary.extent
        if noise <= math.sqrt(MOST_NOISE) * spread:
            return []
        return [
            NoSignalWarning(
                "the noise hides much of how the truths differ: a standard error is about "
                f"{noise:.3g}, and the truths spread by about {spread:.3g}. It takes more workers, "
                f"or a larger epsilon. All truths are drawn towards {mean:.4g}."
            )
        ]
