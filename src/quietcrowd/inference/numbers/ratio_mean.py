"""The ratio mean: sums of noisy answers over sums of noisy participation bits."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd._core import sum_per_task
from quietcrowd.exceptions import AnswerError, NoSignalWarning
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.model import NumericMethod, unit_for
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, Scatter, State, Tally
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.noise import Shift

__all__ = ["Prior", "RatioMean", "TaskMoments"]

SCALES = 64.0
"""Noisy bits are cut at so many scales of their noise: one in 10^27 is."""

LEAST_SHARE = 0.1
"""A task's share of participants is not taken to be below this part of the mean share."""

FARTHEST = 16.0
"""Means, shares and ratios are cut at this before their moments are added."""


@frozen(kw_only=True, eq=False)
class TaskMoments(Tally):
    """Sums over tasks, in units of 2^-24.

    Attributes
    ----------
    sums : ndarray of int64, shape (8,)
        Of each task's mean bit, its square, the variance of its noise; mean value, shrunk share,
        ratio of these two, its square, the variance of its noise.
    """

    sums: npt.NDArray[np.int64]

    @override
    def extended(self, extension: Extension) -> Self:
        """Return the same tally: it is about no worker, in units of its own."""
        return self

    @classmethod
    def of(cls, *columns: npt.NDArray[np.float64]) -> Self:
        """Add up columns, one entry per task each."""
        scaled = np.rint(np.stack(columns) * 2.0**24).astype(np.int64)
        return cls(sums=scaled.sum(axis=1))

    def means(self, tasks: int) -> list[float]:
        """Return the means over tasks."""
        return [float(total) / 2.0**24 / tasks for total in self.sums]


@frozen(kw_only=True, eq=False)
class Prior(State):
    """How shares of participants and truths vary from task to task.

    Attributes
    ----------
    share, share_variance : float
        Mean and variance of the share of workers who answered a task.
    truth, truth_variance : float
        Mean and variance of the truths' distance from the middle of the domain, in widths.
    """

    share: float
    share_variance: float
    truth: float
    truth_variance: float

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers: it is not about workers."""
        return self


@frozen(kw_only=True, eq=False)
class _Ratios:
    """What a pass knows of each task; distances in widths of the domain."""

    mean_bit: npt.NDArray[np.float64]
    bit_variance: npt.NDArray[np.float64]
    mean_value: npt.NDArray[np.float64]
    value_variance: npt.NDArray[np.float64]
    known: npt.NDArray[np.float64]

    def shares(self, prior: Prior | None) -> npt.NDArray[np.float64]:
        """Return shares of participants, shrunk towards their mean."""
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
        """Return what is inferred, and `given`, or the truth itself, where the truth is known."""
        return np.where(np.isnan(self.known), inferred, self.known if given is None else given)

    def moments(self, shares: npt.NDArray[np.float64]) -> TaskMoments:
        """Return what the prior is estimated from."""
        ratios = np.clip(self._or_known(self.mean_value / shares), -FARTHEST, FARTHEST)
        noise = np.minimum(self._or_known(self.value_variance / shares**2, 0.0), FARTHEST**2)
        bit = np.clip(self.mean_bit, -FARTHEST, FARTHEST)
        bit_noise = np.minimum(self.bit_variance, FARTHEST**2)
        value = np.clip(self._or_known(self.mean_value, self.known * shares), -FARTHEST, FARTHEST)
        share = np.minimum(shares, FARTHEST)
        return TaskMoments.of(bit, bit**2, bit_noise, value, share, ratios, ratios**2, noise)


def _plausible(variance: float) -> float:
    """Return a variance that numbers within a range of 1 can have: 0 to 1/4."""
    return min(max(variance, 0.0), 0.25)


def _kept(signal: float, noise: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the part of a deviation that is no noise."""
    return signal / (signal + noise)


@frozen(kw_only=True, slots=False)
class RatioMean(NumericMethod[Prior, TaskMoments], IterativeInference[Prior, TaskMoments]):
    """Truths from noisy answers and noisy participation bits, without the bias of filled values.

    With g the noisy distances of answers from the middle c of the domain, 0 where there is no
    answer, and h the noisy bits, ``truth_j = c + sum_i g_ij / sum_i h_ij``: the noise cancels as
    workers become more, whatever the sparsity. Where few answered, the sum of bits is mostly noise;
    so the share of participants of each task, and then its truth, are shrunk towards their mean
    over tasks, by as much as the variance of the noise, which is known, and the variance between
    tasks, which is estimated, say. The shrinkage vanishes as workers become more. Standard errors
    are those of the shrunk truths, the shares of participants taken as known.

    Warns
    -----
    NoSignalWarning
        Where the noise hides how the truths differ: they are then all the same.

    References
    ----------
    ``docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> import warnings
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.sparse_crowd(tasks=50, workers=2000, sparsity=0.5, truths="uniform", seed=1)
    >>> domain = crowd.answers.domain
    >>> released = qc.LaplacePerturbation(domain=domain, epsilon=1.0, participation="released")
    >>> estimate = RatioMean().fit(released.randomize(crowd.answers, np.random.default_rng(0)))
    >>> qc.mean_absolute_error(estimate, crowd.truths) < 1.0
    True
    """

    name: ClassVar[str] = "ratio-mean"
    errors_from_model: ClassVar[bool] = True
    reads_answers: ClassVar[bool] = False

    @override
    def reads_reports(self, channel: Channel) -> bool:
        """Return whether participation bits come with the reports."""
        return channel.shift is not None and channel.participation is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return True

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        channel = summary.channel
        if not summary.participation or channel is None or channel.participation is None:
            raise AnswerError(
                "RatioMean needs reports with participation bits, as those of "
                'LaplacePerturbation(..., participation="released"). For others take Mean.'
            )
        return super().summarize(summary, known)

    @override
    def signal_warnings(
        self,
        summary: Summary,
        tally: TaskMoments,
        state: Prior | None,
        scatter: Scatter,
    ) -> list[Warning]:
        """Warn where all truths are the same."""
        if state is None or state.truth_variance > 0 or summary.tasks == 1:
            return []
        return [
            NoSignalWarning(
                "the noise hides how the truths differ: RatioMean gives all tasks the same truth. "
                "It takes more workers, or a larger epsilon."
            )
        ]

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: Prior | None,
        estimates: NumericEstimates | None,
    ) -> TaskMoments:
        """Form the ratios."""
        ratios = _ratios(partition, summary)
        shares = ratios.shares(state)
        if estimates is not None:
            grid = _laws(summary)[0].grid
            distances, errors = ratios.truths(shares, state)
            truths = distances * grid.width + grid.number(grid.middle)
            truths = (np.clip(truths, grid.low, grid.high) - summary.middle) / summary.extent
            estimates.truths[:] = np.where(
                np.isnan(partition.known_truths), truths, partition.known_truths
            )
            estimates.standard_error[:] = errors * grid.width / summary.extent
            estimates.spread[:] = np.nan
        return ratios.moments(shares)

    @override
    def update(
        self,
        summary: Summary,
        tally: TaskMoments,
        state: Prior | None,
    ) -> tuple[Prior, float]:
        """Estimate how shares and truths vary.

        The objective is the mean truth; it rests once the shares are known.
        """
        bit, bit_square, bit_noise, value, share, ratio, ratio_square, noise = tally.means(
            summary.tasks
        )
        truth = value / share
        between = ratio_square - 2 * truth * ratio + truth**2
        prior = Prior(
            share=max(bit, math.sqrt(bit_noise / summary.tasks)),
            share_variance=_plausible(bit_square - bit**2 - bit_noise),
            truth=min(max(truth, -0.5), 0.5),
            truth_variance=_plausible(between - noise),
        )
        return prior, prior.truth

    @override
    def error(
        self,
        summary: Summary,
        tally: TaskMoments,
    ) -> npt.NDArray[np.float64]:
        """Return NaN for each worker: a single worker's reports are nearly all noise."""
        return np.full(summary.workers, np.nan)


def _laws(summary: Summary) -> tuple[Shift, Shift]:
    """Return the law of the values, and that of the bits beside them."""
    channel = summary.channel
    assert channel is not None
    assert channel.shift is not None
    assert channel.participation is not None
    return channel.shift, channel.participation


def _ratios(partition: Partition, summary: Summary) -> _Ratios:
    """Return the means of values and bits over each task's workers, and the noise in them."""
    of_values, of_bits = _laws(summary)
    grid = of_values.grid
    assert partition.participation is not None
    counts = np.maximum(np.diff(partition.offsets), 1)
    unit = unit_for(summary.longest_task)
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
