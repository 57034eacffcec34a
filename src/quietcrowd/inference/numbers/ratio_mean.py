"""The ratio mean: sums of noisy answers over sums of noisy participation bits."""

import math
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd._core import sum_per_task
from quietcrowd.exceptions import AnswerError, NoSignalWarning
from quietcrowd.inference.model import Extension, LearningModel, State, Tally
from quietcrowd.inference.numbers.model import NumericMethod, NumericModel
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates, Scatter
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.noise import Shift

SCALES = 64.0
"""Noisy bits are clipped at this many scales of their noise, which affects one in 10^27."""

LEAST_SHARE = 0.1
"""Least fraction of participants of a task, relative to the mean."""

FARTHEST = 16.0
"""Limit of means, fractions and ratios in moments."""


@frozen(kw_only=True, eq=False)
class TaskMoments(Tally):
    """Sums over tasks, in units of 2^-24.

    Each task's mean bit, its square, the variance of its noise; mean value, shrunk fraction, ratio
    of these two, its square, the variance of its noise.
    """

    sums: npt.NDArray[np.int64]

    @override
    def extended(self, extension: Extension) -> Self:
        """Return the tally itself, which has no entries of workers."""
        return self

    @classmethod
    def of(cls, *columns: npt.NDArray[np.float64]) -> Self:
        """Sum columns with one entry per task."""
        scaled = np.rint(np.stack(columns) * 2.0**24).astype(np.int64)
        return cls(sums=scaled.sum(axis=1))

    def means(self, tasks: int) -> list[float]:
        """Return means over tasks."""
        return [float(total) / 2.0**24 / tasks for total in self.sums]


@frozen(kw_only=True, eq=False)
class Prior(State):
    """Distribution over tasks of truths, and of fractions of participants.

    `share` is the fraction of workers who answered a task, `truth` the truths' distance from the
    middle of the domain, in widths.
    """

    share: float
    share_variance: float
    truth: float
    truth_variance: float

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state itself, which has no entries of workers."""
        return self


@frozen(kw_only=True, eq=False)
class _Ratios:
    """Means over each task's workers, and the noise in them, in widths of the domain."""

    mean_bit: npt.NDArray[np.float64]
    bit_variance: npt.NDArray[np.float64]
    mean_value: npt.NDArray[np.float64]
    value_variance: npt.NDArray[np.float64]
    known: npt.NDArray[np.float64]

    def shares(self, prior: Prior | None) -> npt.NDArray[np.float64]:
        """Return fractions of participants, shrunk towards their mean."""
        if prior is None:
            return np.maximum(self.mean_bit, np.sqrt(self.bit_variance))
        shrunk = prior.share + _kept(prior.share_variance, self.bit_variance) * (
            self.mean_bit - prior.share
        )
        return np.maximum(shrunk, LEAST_SHARE * prior.share)

    def truths(
        self, shares: npt.NDArray[np.float64], prior: Prior | None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return truths' distances from the middle, shrunk towards their mean, and their errors."""
        ratios, noise = self.mean_value / shares, self.value_variance / shares**2
        if prior is not None:
            kept = _kept(prior.truth_variance, noise)
            ratios = prior.truth + kept * (ratios - prior.truth)
            noise = kept * noise
        return self._or_known(np.clip(ratios, -0.5, 0.5)), self._or_known(np.sqrt(noise), 0.0)

    def _or_known(
        self,
        inferred: npt.NDArray[np.float64],
        given: npt.NDArray[np.float64] | float | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return inferred values; for a known truth `given`, or the truth itself."""
        return np.where(np.isnan(self.known), inferred, self.known if given is None else given)

    def moments(self, shares: npt.NDArray[np.float64]) -> TaskMoments:
        """Return the moments from which the prior is estimated."""
        ratios = np.clip(self._or_known(self.mean_value / shares), -FARTHEST, FARTHEST)
        noise = np.minimum(self._or_known(self.value_variance / shares**2, 0.0), FARTHEST**2)
        bit = np.clip(self.mean_bit, -FARTHEST, FARTHEST)
        bit_noise = np.minimum(self.bit_variance, FARTHEST**2)
        value = np.clip(self._or_known(self.mean_value, self.known * shares), -FARTHEST, FARTHEST)
        share = np.minimum(shares, FARTHEST)
        return TaskMoments.of(bit, bit**2, bit_noise, value, share, ratios, ratios**2, noise)


def _plausible(variance: float) -> float:
    """Limit a variance to that of numbers within a range of 1, at most 1/4."""
    return min(max(variance, 0.0), 0.25)


def _kept(signal: float, noise: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return signal / (signal + noise)


@frozen(kw_only=True, eq=False, slots=False)
class RatioMeanModel(
    NumericModel["RatioMean", Prior, TaskMoments], LearningModel["RatioMean", Prior, TaskMoments]
):
    """`RatioMean` bound to data."""

    @cached_property
    def _shifts(self) -> tuple[Shift, Shift]:
        """Noise of the values, and that of the bits."""
        channel = self.summary.channel
        assert channel is not None
        assert channel.shift is not None
        assert channel.participation is not None
        return channel.shift, channel.participation

    @override
    def sweep(
        self, partition: Partition, state: Prior | None, estimates: NumericEstimates | None
    ) -> TaskMoments:
        """Form the ratios."""
        ratios = self._ratios(partition)
        shares = ratios.shares(state)
        if estimates is not None:
            summary, grid = self.summary, self._shifts[0].grid
            distances, errors = ratios.truths(shares, state)
            truths = distances * grid.width + grid.number(grid.middle)
            truths = (np.clip(truths, grid.low, grid.high) - summary.middle) / summary.extent
            known = partition.known_truths
            estimates.truths[:] = np.where(np.isnan(known), truths, known)
            estimates.standard_error[:] = errors * grid.width / summary.extent
            estimates.spread[:] = np.nan
        return ratios.moments(shares)

    def _ratios(self, partition: Partition) -> _Ratios:
        summary, (of_values, of_bits), unit = self.summary, self._shifts, self.task_unit
        grid = of_values.grid
        assert partition.participation is not None
        counts = np.maximum(np.diff(partition.offsets), 1)
        largest = 1.0 + SCALES * of_bits.scale
        bits = np.clip(partition.participation / largest, -1.0, 1.0)
        sums = np.zeros((2, partition.tasks), np.int64)
        sum_per_task(partition.offsets, partition.values, unit, sums[0])
        sum_per_task(partition.offsets, bits, unit, sums[1])
        centre = grid.number(grid.middle) - summary.middle
        return _Ratios(
            mean_bit=sums[1] / unit * largest / counts,
            bit_variance=of_bits.variance / counts,
            mean_value=(sums[0] / unit / counts * summary.extent - centre) / grid.width,
            value_variance=of_values.variance / grid.width**2 / counts,
            known=(partition.known_truths * summary.extent - centre) / grid.width,
        )

    @override
    def update(self, tally: TaskMoments, state: Prior | None) -> tuple[Prior, float]:
        """Estimate the prior; the objective is the mean truth."""
        tasks = self.summary.tasks
        bit, bit_square, bit_noise, value, share, ratio, ratio_square, noise = tally.means(tasks)
        truth = value / share
        between = ratio_square - 2 * truth * ratio + truth**2
        prior = Prior(
            share=max(bit, math.sqrt(bit_noise / tasks)),
            share_variance=_plausible(bit_square - bit**2 - bit_noise),
            truth=min(max(truth, -0.5), 0.5),
            truth_variance=_plausible(between - noise),
        )
        return prior, prior.truth

    @override
    def error(self, tally: TaskMoments) -> npt.NDArray[np.float64]:
        """Return NaN for each worker, since a single worker's reports are almost only noise."""
        return np.full(self.summary.workers, np.nan)

    @override
    def warnings(self, tally: TaskMoments, state: Prior | None, scatter: Scatter) -> list[Warning]:
        """Warn if all truths are equal."""
        if state is None or state.truth_variance > 0 or self.summary.tasks == 1:
            return []
        return [NoSignalWarning("inference.ratios-without-signal")]


@frozen(kw_only=True, slots=False)
class RatioMean(NumericMethod):
    """Truths from noisy answers and noisy participation bits, without the bias of filled values.

    With g the noisy distances of answers from the middle c of the domain, 0 without an answer, and
    h the noisy bits, ``truth_j = c + sum_i g_ij / sum_i h_ij``: the noise averages out over workers
    at any sparsity. If few workers answered, the sum of bits is mostly noise. So the fraction of
    participants of each task, and then its truth, are shrunk towards their mean over tasks, by the
    known variance of the noise and the estimated variance between tasks. The shrinkage vanishes for
    many workers. Standard errors are those of the shrunk truths for known fractions.

    Warns
    -----
    NoSignalWarning
        If the noise hides how the truths differ; they are then all equal.

    References
    ----------
    ``research/docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> import warnings
    >>> import quietcrowd as qc
    >>> from quietcrowd.exceptions import SimulatedNoiseWarning
    >>> warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=50, workers=2000, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> domain = crowd.answers.domain
    >>> released = qc.LaplaceMechanism(domain=domain, epsilon=1.0, participation="released")
    >>> estimate = RatioMean().fit(released.simulate(crowd.answers, random_state=0))
    >>> qc.mean_absolute_error(estimate, crowd.truths) < 1.0
    True
    """

    name: ClassVar[str] = "ratio-mean"
    errors_from_model: ClassVar[bool] = True
    reads_answers: ClassVar[bool] = False

    @override
    def reads_reports(self, channel: Channel) -> bool:
        return channel.shift is not None and channel.participation is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return True

    @override
    def model_for(self, summary: Summary) -> RatioMeanModel:
        channel = summary.channel
        if not summary.participation or channel is None or channel.participation is None:
            raise AnswerError("inference.participation-bits-needed")
        return RatioMeanModel(method=self, summary=summary)
