"""`NoiseAware` for numbers: truths on bins, and workers' errors, from reports with known noise."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.domains import check_numeric
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference.further_report import FurtherNumber
from quietcrowd.inference.model import Extension, LearningModel
from quietcrowd.inference.numbers.crowd import (
    MANY,
    NumberState,
    NumberTally,
    cells_of_tables,
    find_range,
)
from quietcrowd.inference.numbers.learning import (
    first_number_state,
    learn,
    log_evidence,
    lower_bound,
    sigma_quantiles,
    try_distributions,
    with_map,
)
from quietcrowd.inference.numbers.report_bins import BINS, LOG_FLOOR
from quietcrowd.inference.numbers.sweep import BinModel
from quietcrowd.inference.numbers.truth_map import LEVELS
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.rounds.transitions import Transitions
from quietcrowd.inference.shared_errors import SharedErrors
from quietcrowd.inference.task_estimates import NumericEstimates, Scatter
from quietcrowd.mechanisms.channels.base import known_grid

MOST_CELLS = 2**27
"""Largest number of cells of a tally: 1 GiB, and half as much for a table."""

MOST_GROWTH = 1.1
"""Largest factor by which an extension may widen the range of all non-private numbers."""

MOST_NOISE = 0.5
"""The noise hides the truths above this fraction of their variance."""

MOST_UNSURE = 0.8
"""An interval that covers this fraction of all sigmas is uninformative."""


@frozen(kw_only=True, eq=False, slots=False)
class NumberModel(BinModel, LearningModel[Any, NumberState, NumberTally]):
    """`NoiseAware` bound to numbers.

    ::

        report_uj = truth_j + normal(0, sigma_u^2) + Laplace(b)
        truth_j ~ p,   sigma_u ~ rho

    Or a bounded report has its distribution for ``truth_j + normal(0, sigma_u^2)``. The range is
    divided into 192 bins: the public range of reports with noise, or that of most non-private
    answers. The posterior of a truth is a probability of each bin, that of sigma_u one of each of
    20 sizes; their distribution in the crowd, rho, is learned. So is p, a histogram that is shrunk
    towards a normal distribution; with little or no noise p is uniform, and without noise errors
    may have heavy tails. The reports agree on an apparent truth, and a `TruthMap` leads to the
    truth, with the median and the standard deviation of its posterior. If unanswered tasks are
    reported, too, a report is an answer with a probability that is learned for each worker, or else
    the number that the mechanism fills in; a noisy participation bit is used.

    The objective of a fit is a lower bound of the log posterior, per answer. With Laplace noise it
    cannot fall, except by the rounding of tables, less than 2^-22. Without Laplace noise the
    evidence on a worker includes pseudo-answers of the crowd's size of errors, and distances of
    reports from the others, so the objective may fall. That of an extension can, too.

    No report has more than half of a task's precision, or of two or three more than 2 / n, unless
    others confirm it: given the reports of others, the worker's sigma is not larger with a
    probability of .8.

    Derivation: ``research/docs/theory/noise-aware-numbers.md`` and
    ``research/docs/theory/bounded-number-mechanisms.md``.
    """

    def check_size(self) -> None:
        """Raise ParameterError if there are too many workers."""
        columns = self.error_distributions(first_number_state(self)).columns
        cells = math.prod(cells_of_tables(self.table_workers, columns))
        if cells > MOST_CELLS:
            raise ParameterError(
                "inference.tally-too-large",
                many=sum(map(len, self.table_workers)),
                other_many=MANY,
                columns=max(one.stop - one.start for one in columns),
                cells=cells,
                most_cells=MOST_CELLS,
            )

    @override
    def start_from(self, state: NumberState, earlier: Any) -> NumberState:
        """Return the earlier state, adapted to the reports; a new one for non-private numbers."""
        fresh = first_number_state(self)
        if fresh.looks >= 0:
            return fresh
        if fresh.answering is None:
            return evolve(state, answering=None)
        if state.answering is None:
            return evolve(state, answering=fresh.answering, trial=fresh.trial)
        return state

    @override
    def extend_tally(self, tally: NumberTally, extension: Extension) -> NumberTally:
        """Return the tally for all workers.

        New non-private numbers must not be far beyond the earlier ones. Others may be, since the
        range of the bins is public.
        """
        if self.public_range is None and extension.stretch < 1.0 / MOST_GROWTH:
            new = self.summary
            raise ParameterError("inference.numbers-beyond-range", low=new.low, high=new.high)
        return super().extend_tally(tally, extension)

    @override
    def weights(self, state: NumberState | None) -> npt.NDArray[np.float64]:
        """Return the expected precisions of reports, the greatest being 1."""
        if state is None:
            return np.ones(self.summary.workers)
        precisions = self._worker_precisions(state)
        weights: npt.NDArray[np.float64] = precisions / precisions.max()
        return weights

    @override
    def sweep(
        self, partition: Partition, state: NumberState | None, estimates: NumericEstimates | None
    ) -> NumberTally:
        """Find the posteriors of the truths; before that, the range of non-private numbers."""
        state = state or first_number_state(self)
        if state.looks >= 0:
            return self.count_cells(partition, state)
        tally = self.sweep_bins(partition, state, estimates)
        if estimates is not None and not state.truth_map.changes_nothing:
            unknown = estimates.standard_error > 0
            errors, truths = estimates.standard_error[unknown], estimates.truths[unknown]
            width, start = self._width_and_start(state)
            estimates.standard_error[unknown] = width * state.truth_map.standard_error(
                errors / width, (truths - start) / width
            )
        return tally

    def transitions(self, tally: NumberTally, state: NumberState) -> Transitions:  # noqa: ARG002
        """Return candidates of the change of the apparent truths."""
        return Transitions.of_numbers(state.distribution)

    def next_round(self, partition: Partition, priors: npt.NDArray[np.float64]) -> Self:
        """Return the model of a round, with log-priors of the truths and tables for it."""
        shape, codes = (self.summary.workers, len(self.parts)), partition.worker_codes
        if partition.parts is not None:
            codes = codes * np.int64(shape[1]) + partition.parts
        reports = np.bincount(codes, minlength=math.prod(shape)).reshape(shape)
        model = evolve(self, task_priors=priors, round_reports=reports)
        model.check_size()
        return model

    def at_rest(self, tally: NumberTally, state: NumberState) -> tuple[NumberTally, NumberState]:
        """Return all evidence of the workers' errors by distribution, and none by column."""
        total = tally.evidence / self.likely_unit + log_evidence(self, tally, state)
        evidence = np.rint(total * self.likely_unit).astype(np.int64)
        moved = evolve(tally, evidence=evidence, residuals=np.zeros_like(tally.residuals))
        return moved, evolve(state, passes=-1)

    def messages(self, partition: Partition, state: NumberState) -> npt.NDArray[np.float64]:
        """Return log-likelihoods of each task's reports, without prior and known truth."""
        messages = np.zeros((partition.tasks, BINS))
        self.sweep_bins(partition, state, messages=messages)
        return messages

    def predicted(self, partition: Partition, state: NumberState) -> NumericEstimates:
        """Return estimates of tasks by the prior of each, and by known truths."""
        estimates = self.empty(partition.tasks)
        self.sweep(partition.without_answers(), state, estimates)
        return estimates

    def posterior(
        self, partition: Partition, state: NumberState
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return levels, shape (5,), and quantiles of the truths, in the unit of the answers."""
        quantiles = np.zeros((partition.tasks, len(LEVELS)))
        self.sweep_bins(partition, state, quantiles=quantiles)
        unknown = np.isnan(partition.known_truths)
        if not state.truth_map.changes_nothing:
            width, start = self._width_and_start(state)
            found = state.truth_map.quantiles((quantiles[unknown] - start) / width)
            quantiles[unknown] = found * width + start
        return np.array(LEVELS), quantiles * self.summary.extent + self.summary.middle

    def _width_and_start(self, state: NumberState) -> tuple[float, float]:
        """Return the length and the lower end of the range, scaled."""
        extent = self.summary.extent
        return (state.high - state.low) / extent, (state.low - self.summary.middle) / extent

    def further_report(self, state: NumberState, worker: int | None) -> FurtherNumber:
        """Return the expected precision of a report; not if every worker reports every task."""
        if self.fills_in:
            raise ParameterError("inference.every-task-reported")
        if worker is None:
            own = self.report_precisions(evolve(state, beliefs=state.crowd[np.newaxis]))
            counts = self.summary.answers_per_part
            shares = np.ones(1) if counts is None else counts.sum(axis=0) / counts.sum()
            precision = float(own[0] @ shares)
        else:
            precision = float(self._worker_precisions(state)[worker])
        width = state.high - state.low
        return FurtherNumber(
            precision=float(precision / width**2),
            scale=state.truth_map.line[1],
            shared=math.sqrt(state.truth_map.variance) * width,
        )

    def _worker_precisions(self, state: NumberState) -> npt.NDArray[np.float64]:
        """Return the mean expected precision of each worker's reports."""
        precisions, counts = self.report_precisions(state), self.summary.answers_per_part
        if counts is None:
            return precisions[:, 0]
        used = np.maximum(counts, counts.sum(axis=1, keepdims=True) == 0)  # silent: any mechanism
        means: npt.NDArray[np.float64] = (precisions * used).sum(axis=1) / used.sum(axis=1)
        return means

    def beliefs(self, partition: Partition, state: NumberState) -> npt.NDArray[np.float64]:
        """Return the standard deviation of each apparent truth, in the unit of the answers."""
        estimates = self.empty(partition.tasks)
        self.sweep_bins(partition, state, estimates)
        errors: npt.NDArray[np.float64] = estimates.standard_error * self.summary.extent
        return errors

    @override
    def update(self, tally: NumberTally, state: NumberState | None) -> tuple[NumberState, float]:
        """Learn workers and truths; the objective is that of the state of the sweep.

        A sweep that searched the range, or the first distribution of the truths, has a lower
        objective than any other.
        """
        state = state or first_number_state(self)
        if state.looks >= 0:
            low, high, enough = find_range(tally.cells, state.low, state.high, state.looks)
            looks = -1 if enough else state.looks + 1
            learned = evolve(state, low=low, high=high, looks=looks)
            objective = state.looks - 4.0 * LOG_FLOOR
        elif state.trial is not None:
            learned = try_distributions(self, tally, state)
            objective = state.trial.number - 4.0 * LOG_FLOOR
        else:
            learned = learn(self, tally, state)
            objective = float(lower_bound(self, tally, state) / self.summary.answers)
        return with_map(self, tally, learned), objective

    @override
    def update_partly(
        self, tally: NumberTally, state: NumberState | None
    ) -> tuple[NumberState, float]:
        """Learn like `update`, but keep `NumberState.borne`, since few reports are swept."""
        learned, objective = self.update(tally, state)
        return (learned if state is None else evolve(learned, borne=state.borne)), objective

    @override
    def workers(
        self, tally: NumberTally, state: NumberState | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        assert state is not None
        distributions = self.error_distributions(state)
        levels = np.array([0.05, 0.5, 0.95])
        low, middle, high = sigma_quantiles(state.beliefs, distributions, levels).T * (
            state.high - state.low
        )
        silent = self.summary.answers_per_worker == 0
        with np.errstate(divide="ignore"):
            whole = math.log(distributions.sigma.max() / distributions.sigma.min())
            unsure = silent | (np.log(high / low) > MOST_UNSURE * whole)
        return {
            **super().workers(tally, state),
            "error_sd": np.where(unsure, np.nan, middle),
            "error_sd_low": np.where(unsure, np.nan, low),
            "error_sd_high": np.where(unsure, np.nan, high),
        }

    @override
    def shared_errors(self, state: NumberState | None) -> SharedErrors | None:
        """Return the standard deviation of shared errors, in the unit of the answers."""
        return None if state is None else state.truth_map.summary(state.high - state.low)

    @override
    def notes(self, tally: NumberTally, state: NumberState | None) -> tuple[str, ...]:
        assert state is not None
        return (*super().notes(tally, state), state.truth_map.note(state.high - state.low))

    @override
    def warnings(
        self, tally: NumberTally, state: NumberState | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn if standard errors exceed a fraction of the truths' standard deviation."""
        assert state is not None
        if state.truths is None or scatter.inferred < 2:
            return []
        bins, width = np.linspace(0.0, 1.0, BINS), state.high - state.low
        middle = float(np.sum(state.distribution * bins))
        mean = state.low + middle * width
        spread = math.sqrt(float(np.sum(state.distribution * (bins - middle) ** 2))) * width
        noise = scatter.noise * self.summary.extent / width
        noise = math.sqrt(max(noise**2 - state.truth_map.variance, 0.0)) * width
        if noise <= math.sqrt(MOST_NOISE) * spread:
            return []
        return [
            NoSignalWarning("inference.noise-draws-to-mean", noise=noise, spread=spread, mean=mean)
        ]


def check_has_grid(mechanism: Any) -> None:
    """Raise AnswerError if the distribution of a mechanism's numbers is not known."""
    check_numeric(mechanism.domain, "NoiseAware")
    if known_grid(mechanism.channel) is None:
        bits = mechanism.channel.participation is not None
        other, name = ("RatioMean", "ratio-mean") if bits else ("Mean", "mean")
        raise AnswerError(
            "inference.noise-of-known-scale-needed",
            type_name=type(mechanism).__name__,
            other=other,
            name=name,
        )
