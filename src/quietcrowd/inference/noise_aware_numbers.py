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
from quietcrowd.inference.binned_laws import (
    BINS,
    CENTRE,
    DISTANCES,
    LOG_FLOOR,
    ErrorLaws,
    answer_laws,
    filling_law,
    first_truths,
    truth_candidates,
)
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.kernels.binned_numbers import binned_kernel, blend_kernel, weigh_kernel
from quietcrowd.inference.method import IterativeInference, NumericEstimates, Scatter
from quietcrowd.inference.number_state import (
    CELLS,
    NumberState,
    NumberTally,
    find_range,
    likely_unit,
    residual_unit,
    truth_unit,
)
from quietcrowd.inference.numeric import NumericMethod, error_unit, unit_for
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.mechanisms.channel import Channel, laplace_shift
from quietcrowd.validation import at_least, plain, whole_number

__all__ = ["LEVELS", "NoiseAwareNumbers"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the quantiles of a truth's posterior."""

MOST_CELLS = 2**27
"""Most distances of all workers in a tally: 1 GiB, and half as much for a table."""

CROWD_TRUST = 5.0
"""Each law of errors counts as if so many workers had followed it."""

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

    The range is cut into 192 bins: the public one of reports with noise, that of most answers of
    those without. The posterior of a truth is a probability of each bin, that of sigma_u one of
    each of 20 sizes; what varies over the crowd, rho, is learnt. So is p, a histogram that is drawn
    towards a normal law, where there is noise; without noise p is even, and errors may have heavy
    tails, too. A truth is the median of its posterior, its standard error the deviation of that.
    Where unanswered tasks are reported, too, a report is an answer with a probability that is
    learnt for each worker, or else what the mechanism fills in; a noisy participation bit counts.

    The objective is a lower bound of the log posterior, per answer; it cannot fall, but for what
    rounding of tables takes, less than 2^-22.

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
    ``docs/theory/noise-aware-numbers.md``.

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
        """Return whether the noise is Laplace noise of known scale."""
        return laplace_shift(channel) is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return laplace_shift(mechanism.worker_channel) is not None

    @override
    def bounds(self, channel: Channel | None) -> tuple[float, float] | None:
        """Return the ends of the public grid."""
        shift = laplace_shift(channel)
        return None if shift is None else shift.grid.ends

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports without Laplace noise of known scale."""
        check_numeric(mechanism.domain, type(self).__name__)
        if not self.reads_reports(mechanism.channel):
            bits = mechanism.channel.participation is not None
            other, name = ("RatioMean", "ratio-mean") if bits else ("Mean", "mean")
            raise AnswerError(
                f"{type(self).__name__} needs reports with Laplace noise of known scale, as those "
                f"of LaplacePerturbation; got those of {type(mechanism).__name__}. For them take "
                f"{other} (on the command line: --method {name})."
            )

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        if summary.workers * DISTANCES > MOST_CELLS:
            raise ParameterError(
                f"{summary.workers:,} workers and {DISTANCES:,} distances make a tally of "
                f"{summary.workers * DISTANCES:,} numbers, more than {MOST_CELLS:,}. Take MOON "
                "with truth_prior='normal' (on the command line: --method "
                "moon:truth_prior=normal), one number per worker."
            )
        return super().summarize(summary, known)

    @override
    def weights(self, summary: Summary, state: NumberState | None) -> npt.NDArray[np.float64]:
        """Return the expected precisions of reports, the greatest being 1."""
        if state is None:
            return np.ones(summary.workers)
        laws = answer_laws(_scale(summary, state))
        precisions = np.sum(state.beliefs / laws.variance, axis=1)
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
        state = state or _first_state(summary)
        if state.looks >= 0:
            return _count_cells(partition, summary, state)
        room = estimates or NumericEstimates.empty(0)
        return self._pass(partition, summary, state, room, np.zeros((0, 0)))

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
        self._pass(partition, summary, state, NumericEstimates.empty(0), quantiles)
        return np.array(LEVELS), quantiles * summary.extent + summary.middle

    def _pass(
        self,
        partition: Partition,
        summary: Summary,
        state: NumberState,
        room: NumericEstimates,
        quantiles: npt.NDArray[np.float64],
    ) -> NumberTally:
        laws = answer_laws(_scale(summary, state))
        table = np.empty((summary.workers, DISTANCES), np.int32)
        blend_kernel(state.beliefs, laws.logs, table)
        rows = slice(int(partition.offsets[0]), int(partition.offsets[-1]))
        values, codes = partition.values[rows], partition.worker_codes[rows].view(np.uint32)
        to_bins = (BINS - 1) * summary.extent / (state.high - state.low)
        start = (state.low - summary.middle) / summary.extent
        placed = (values - start) * to_bins
        places = np.clip(np.rint(placed), -BINS, 2 * BINS - 1)
        missing = _missing(partition, summary, state, places.astype(np.int64), rows)
        tally = NumberTally.empty(
            summary.workers,
            answered=_filled(summary),
            tried=len(truth_candidates()) if state.fresh else 0,
        )
        binned_kernel(
            partition.offsets - rows.start,
            codes,
            values,
            partition.known_truths,
            CENTRE - places.astype(np.int64),
            np.clip(placed - places, -0.5, 0.5),
            missing,
            (partition.known_truths - start) * to_bins,
            table,
            np.log(state.law),
            _candidates() if state.fresh else np.zeros((0, BINS)),
            self.weights(summary, state),
            np.array(LEVELS),
            np.array([start, start + (BINS - 1) / to_bins]),
            residual_unit(summary),
            truth_unit(summary),
            likely_unit(summary),
            unit_for(summary.longest_task),
            error_unit(summary),
            tally.residuals,
            tally.truths,
            tally.answered,
            tally.likely,
            tally.tried,
            tally.errors.squared,
            quantiles,
            *room.arrays,
        )
        return tally

    @override
    def update(
        self, summary: Summary, tally: NumberTally, state: NumberState | None
    ) -> tuple[NumberState, float]:
        """Learn of workers and truths.

        The objective is that of the state of the pass; of a pass that looked for the range, or for
        the law of the truths to begin with, less than any other.
        """
        state = state or _first_state(summary)
        if state.looks >= 0:
            low, high, enough = find_range(tally.cells, state.low, state.high, state.looks)
            looks = -1 if enough else state.looks + 1
            return evolve(state, low=low, high=high, looks=looks), state.looks - 4.0 * LOG_FLOOR
        if state.fresh:
            return _choose_truths(summary, tally, state), -4.0 * LOG_FLOOR
        objective = float(_objective(summary, tally, state) / summary.answers)
        return _learn(summary, tally, state), objective

    @override
    def qualities(
        self, summary: Summary, tally: NumberTally, state: NumberState | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        assert state is not None
        laws = answer_laws(_scale(summary, state))
        levels = np.array([0.05, 0.5, 0.95])
        low, middle, high = _sigma_quantiles(state.beliefs, laws, levels).T * (
            state.high - state.low
        )
        silent = summary.answers_per_worker == 0
        with np.errstate(divide="ignore"):
            whole = math.log(laws.sigma.max() / laws.sigma.min())
            unsure = silent | (np.log(high / low) > MOST_UNSURE * whole)
        return {
            **super().qualities(summary, tally, state),
            "sigma": np.where(silent, np.nan, middle),
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
        bins = np.linspace(state.low, state.high, BINS)
        mean = float(np.sum(state.law * bins))
        spread = math.sqrt(float(np.sum(state.law * (bins - mean) ** 2)))
        noise = scatter.noise * summary.extent
        if noise**2 <= MOST_NOISE * spread**2:
            return []
        return [
            NoSignalWarning(
                "the noise hides much of how the truths differ: a standard error is about "
                f"{noise:.3g}, and the truths spread by about {spread:.3g}. It takes more workers, "
                f"or a larger epsilon. All truths are drawn towards {mean:.4g}."
            )
        ]


def _filled(summary: Summary) -> bool:
    """Return whether unanswered tasks are reported, too."""
    return summary.channel is not None and summary.channel.fillings is not None


def _scale(summary: Summary, state: NumberState) -> float:
    """Return the scale of the noise in widths of the range; 0 without noise."""
    shift = laplace_shift(summary.channel)
    return 0.0 if shift is None else shift.scale / (state.high - state.low)


def _candidates() -> npt.NDArray[np.float64]:
    return np.array([law.shares for law in truth_candidates()])


def _first_state(summary: Summary) -> NumberState:
    """Return what is believed before the first pass."""
    shift = laplace_shift(summary.channel)
    low, high = (summary.low, summary.high) if shift is None else shift.grid.ends
    if low == high:
        low, high = low - 0.5, high + 0.5
    truths = None if shift is None else first_truths()
    laws = answer_laws(0.0 if shift is None else shift.scale / (high - low))
    return NumberState(
        low=low,
        high=high,
        beliefs=np.tile(laws.share, (summary.workers, 1)),
        crowd=laws.share,
        truths=truths,
        law=np.full(BINS, 1.0 / BINS) if truths is None else truths.shares,
        answering=np.full(summary.workers, 0.5),
        looks=-1 if shift else 0,
        fresh=shift is not None,
    )


def _count_cells(partition: Partition, summary: Summary, state: NumberState) -> NumberTally:
    """Count the numbers in each cell of the range."""
    rows = partition.values[int(partition.offsets[0]) : int(partition.offsets[-1])]
    numbers = rows * summary.extent + summary.middle
    cells = np.clip((numbers - state.low) * (CELLS / (state.high - state.low)), 0, CELLS - 1)
    tally = NumberTally.empty(summary.workers, cells=CELLS)
    return evolve(tally, cells=np.bincount(cells.astype(np.int64), minlength=CELLS))


def _missing(
    partition: Partition,
    summary: Summary,
    state: NumberState,
    places: npt.NDArray[np.int64],
    rows: slice,
) -> npt.NDArray[np.float64]:
    """Return each report's log density where there is no answer, with the odds of that.

    Empty where all reports are of answers.
    """
    channel = summary.channel
    if channel is None or channel.fillings is None:
        return np.zeros(0)
    fillings = (channel.fillings - state.low) / (state.high - state.low)
    of_places = filling_law(fillings, _scale(summary, state))
    odds = np.log1p(-state.answering) - np.log(state.answering)
    missing: npt.NDArray[np.float64] = of_places[places + BINS] + odds[partition.worker_codes[rows]]
    bits = channel.participation
    if bits is not None and partition.participation is not None:
        bit = partition.participation[rows]
        missing += (np.abs(bit - 1.0) - np.abs(bit)) / bits.scale
    return missing


def _objective(summary: Summary, tally: NumberTally, state: NumberState) -> float:
    """Return the lower bound of the log posterior at the state of a pass, up to a constant."""
    heard = summary.answers_per_worker > 0
    laws = answer_laws(_scale(summary, state))
    trust = CROWD_TRUST * len(laws.share)
    total = float(tally.likely[0]) / likely_unit(summary) - state.distance(heard)
    total += trust * float(np.sum(laws.share * np.log(state.crowd / laws.share)))
    if state.truths is not None:
        total += state.truths.penalty(state.law)
    if _filled(summary):
        rate, count = state.answering, summary.answers_per_worker
        terms = (count + 1.0) * np.log(rate) + np.log1p(-rate)
        total += integer_sums.exact_sum(np.where(heard, terms, 0.0), summary.workers)
    return total


def _choose_truths(summary: Summary, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with the candidate for the law of the truths that the reports favour."""
    candidates = truth_candidates()
    unit = likely_unit(summary)
    values = [
        float(tried) / unit + law.log_prior
        for tried, law in zip(tally.tried, candidates, strict=True)
    ]
    best = candidates[int(np.argmax(values))]
    return evolve(state, truths=best, law=best.shares, fresh=False)


def _learn(summary: Summary, tally: NumberTally, state: NumberState) -> NumberState:
    """Return what the tally tells of workers and truths."""
    laws = answer_laws(_scale(summary, state))
    heard = summary.answers_per_worker > 0
    logs = np.empty(state.beliefs.shape)
    weigh_kernel(tally.residuals, residual_unit(summary), laws.logs, logs)
    logs += np.log(state.crowd)
    beliefs = np.exp(logs - logs.max(axis=1, keepdims=True))
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    followed = integer_sums.to_fixed(beliefs[heard]).sum(axis=0) / integer_sums.ONE
    crowd = followed + CROWD_TRUST * len(laws.share) * laws.share
    crowd /= crowd.sum()
    beliefs[~heard] = crowd
    learned = evolve(state, beliefs=beliefs, crowd=crowd)
    if state.truths is not None:
        counts = tally.truths / truth_unit(summary)
        truths = state.truths.climbed(counts)
        learned = evolve(learned, truths=truths, law=truths.with_counts(counts))
    if _filled(summary):
        answered = tally.answered / residual_unit(summary)
        rate = (answered + 1.0) / (summary.answers_per_worker + 2.0)
        learned = evolve(learned, answering=np.clip(rate, 1e-9, 1.0 - 1e-9))
    return learned


def _sigma_quantiles(
    beliefs: npt.NDArray[np.float64], laws: ErrorLaws, levels: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return quantiles of each worker's sigma, shape (workers, levels).

    A size stands for all between it and the middles to its neighbours, in logarithms.
    """
    order = np.argsort(laws.sigma)
    logs = np.log(laws.sigma[order])
    ends = np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2.0, logs[-1:]])
    below = np.cumsum(beliefs[:, order], axis=1)
    place = np.minimum((below[:, :, np.newaxis] < levels).sum(axis=1), len(order) - 1)
    share = np.take_along_axis(beliefs[:, order], place, axis=1)
    before = np.take_along_axis(below, place, axis=1) - share
    part = np.clip((levels - before) / np.maximum(share, 1e-300), 0.0, 1.0)
    quantiles: npt.NDArray[np.float64] = np.exp(
        ends[place] + part * (ends[place + 1] - ends[place])
    )
    return quantiles
