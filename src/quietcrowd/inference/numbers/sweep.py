"""A sweep over bins: `NoiseAware` for numbers before it learns."""

import math
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd._core import blend_distributions, infer_by_bins
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.bounded_bins import bounded_columns, bounded_distributions
from quietcrowd.inference.numbers.crowd import (
    CELLS,
    MANY,
    MANY_OF_PART,
    NO_ROW,
    NumberState,
    NumberTally,
    cells_of_tables,
    tables_of_parts,
)
from quietcrowd.inference.numbers.model import NumericModel, unit_for
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    CENTRE,
    DISTANCES,
    MOST_SCALE,
    ErrorDistributions,
    answer_distributions,
    cells_of,
    distribution_shares,
    filling_distribution,
)
from quietcrowd.inference.numbers.truth_map import LEVELS, compare
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.shared_errors import LEARN
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.mechanisms.channels.base import Channel, known_grid, laplace_shift
from quietcrowd.mechanisms.channels.bounded_distribution import BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid

DISTANCE_SHARE = 0.9
"""Weight of the evidence on a worker's errors by squared distances; log densities have the rest.

A few exact answers among far ones make the likelihood of a normal error largest at a small size, if
noise or heavy tails explain the far ones.
"""

MOST_UNIFORM = 1.0 / 80.0
"""Variance of bounded noise, in squared ranges, up to which truths have a uniform distribution."""

AT_END = 1e-9
"""Distance in bins up to which an answer counts as at an end of its domain."""


class WorkerDistributions(NamedTuple):
    """Estimates of the workers' errors, as compiled code takes them.

    `beliefs`, at [worker, distribution], are probabilities; `by_distribution` and its transpose
    `by_column` are log densities. `rows` are the workers' rows of the `table` and of a tally, -1
    for few reports; of several mechanisms, at [worker, part], how far the columns in the single row
    of the `table` lie behind those of the distributions. The `table` has the mean log density at
    each column, in units of 2^-22.
    """

    beliefs: npt.NDArray[np.float64]
    by_distribution: npt.NDArray[np.float64]
    by_column: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]
    table: npt.NDArray[np.int32]


class _Places(NamedTuple):
    """Bins of reports, from one width below the range to one above, and columns of a table.

    `columns` are those of the log density for the first bin, `ratios` those of what the ends of the
    range add, or -1; `cut` is the difference that rounding to bins removed, empty for bounded
    reports.
    """

    bins: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    ratios: npt.NDArray[np.int64]
    cut: npt.NDArray[np.float64]


@frozen(kw_only=True)
class Noise:
    """Noise of a mechanism: a distribution of bounded reports, or Laplace noise.

    Its `scale` is in the unit of the answers, 0 for non-private answers.
    """

    bounded: BoundedDistribution | None = None
    scale: float = 0.0
    fills_in: bool = False

    @classmethod
    def of(cls, channel: Channel | None) -> Self:
        """Return the noise of a channel; None for non-private answers."""
        if channel is None:
            return cls()
        shift = laplace_shift(channel)
        return cls(
            bounded=channel.bounded_distribution,
            scale=0.0 if shift is None else shift.scale,
            fills_in=channel.fillings is not None,
        )

    @property
    def is_little(self) -> bool:
        """Whether reports are almost answers, also where truths lie close together."""
        if self.bounded is None:
            return not self.scale
        if self.fills_in:
            return False
        distributions = bounded_distributions(self.bounded)
        return bool(distributions.variance[0, 0] - distributions.sigma[0] ** 2 <= MOST_UNIFORM)

    def distributions(self, width: float, margin: float = math.nan) -> ErrorDistributions:
        """Return the distributions of reports, for a range of a width."""
        if self.bounded is not None:
            return bounded_distributions(self.bounded)
        return answer_distributions(self.scale / width, margin)


@lru_cache(maxsize=16)
def _side_by_side(parts: tuple[Noise, ...], width: float, margin: float) -> ErrorDistributions:
    own = [part.distributions(width, margin) for part in parts]
    return own[0] if len(own) == 1 else ErrorDistributions.side_by_side(own)


@frozen(kw_only=True, eq=False, slots=False)
class BinModel(NumericModel[Any, NumberState, NumberTally]):
    """A model of numbers with truths on bins; its sweep, without learning.

    `task_priors`, at [task, bin], are log-priors of the truths if they follow time, and
    `round_reports`, at [worker, part], the numbers of reports in the round.
    """

    task_priors: npt.NDArray[np.float64] | None = None
    round_reports: npt.NDArray[np.int64] | None = None

    @cached_property
    def grid(self) -> Grid | None:
        """Public grid of the answers, if the channel is known."""
        return known_grid(self.summary.channel)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Ends of the public grid."""
        return None if self.grid is None else self.grid.ends

    @cached_property
    def public_range(self) -> tuple[float, float] | None:
        """Ends of the range, unless it is that of the data; over time that of the domain."""
        domain: Any = self.summary.domain
        if (
            self.grid is None
            and self.method.follows_time
            and isinstance(domain, Interval | Ordinal)
        ):
            return domain.low, domain.high
        return self.bounds

    @cached_property
    def fills_in(self) -> bool:
        """Whether unanswered tasks are reported, too."""
        return self.summary.channel is not None and self.summary.channel.fillings is not None

    @cached_property
    def parts(self) -> tuple[Noise, ...]:
        """Noise of each mechanism of the reports."""
        channel = self.summary.channel
        return tuple(map(Noise.of, (None,) if channel is None else channel.parts))

    @cached_property
    def all_bounded(self) -> bool:
        """Whether all reports are bounded."""
        return all(part.bounded is not None for part in self.parts)

    def informative_answers(self, state: NumberState) -> npt.NDArray[Any]:
        """Return each worker's number of answers; those with more noise than others count less.

        About the size of errors, a report informs in proportion to its squared precision.
        """
        counts = self.summary.answers_per_part
        if counts is None:
            return self.summary.answers_per_worker
        precisions = self.report_precisions(state)
        relative = precisions / precisions.max(axis=1, keepdims=True)
        found: npt.NDArray[Any] = (counts * relative**2).sum(axis=1)
        return found

    def mostly_bounded(self, state: NumberState) -> bool:
        """Whether bounded reports have more than half of the precision of all reports."""
        bounded = np.array([part.bounded is not None for part in self.parts])
        counts = self.summary.answers_per_part
        if counts is None or bounded.all() or not bounded.any():
            return bool(bounded.all())
        precisions = self.report_precisions(state) * counts
        total = [integer_sums.exact_sum(one, len(one)) for one in precisions.T]
        return bool(np.sum(total, where=bounded) > np.sum(total) / 2)

    @cached_property
    def little_noise(self) -> bool:
        """Whether the distribution of the truths is uniform, not learned."""
        return all(part.is_little for part in self.parts)

    @cached_property
    def table_workers(self) -> list[npt.NDArray[np.intp]]:
        """Workers who have a row in the table of each mechanism."""
        counts = self.round_reports
        if counts is None:
            counts = self.summary.answers_per_part
        if counts is None:
            counts = self.summary.answers_per_worker[:, np.newaxis]
        rows = (counts.sum(axis=1, keepdims=True) >= MANY) & (counts >= MANY_OF_PART)
        return [np.flatnonzero(own) for own in rows.T]

    @cached_property
    def table_widths(self) -> list[int]:
        """Number of columns of each mechanism of several; their range is public."""
        low, high = self.public_range or (0.0, 1.0)
        return [len(part.distributions(high - low).logs) for part in self.parts]

    @cached_property
    def residual_unit(self) -> float:
        """Representation of 1.0 in sums over a worker's reports."""
        return unit_for(self.summary.most_answers)

    @cached_property
    def distance_shares(self) -> npt.NDArray[np.float64]:
        """Weight of the evidence by squared distances, of each part; 0 with Laplace noise.

        Over time it is also 0 for bounded reports with more than a little noise.
        """
        only_logs = [
            part.scale > 0 or (self.method.follows_time and not part.is_little)
            for part in self.parts
        ]
        return np.where(only_logs, 0.0, DISTANCE_SHARE)

    @cached_property
    def truth_unit(self) -> float:
        """Representation of 1.0 in sums over tasks of probabilities."""
        return unit_for(self.summary.tasks)

    @cached_property
    def likely_unit(self) -> float:
        """Representation of 1.0 in sums of log evidences."""
        return unit_for(self.summary.answers + self.summary.tasks) / 1024.0

    def _margin(self, state: NumberState) -> float:
        """Distance from the ends within which non-private answers are clipped; NaN if nowhere."""
        domain: Any = self.summary.domain
        if self.summary.channel is not None or not isinstance(domain, Interval | Ordinal):
            return math.nan
        if (state.low, state.high) != (domain.low, domain.high):
            return math.nan
        if isinstance(domain, Interval) or domain.size < 2:
            return 0.0
        return domain.width / (domain.size - 1) / 2.0 / (state.high - state.low)

    def error_distributions(self, state: NumberState) -> ErrorDistributions:
        """Return the distributions that a worker's reports may have."""
        return _side_by_side(self.parts, state.high - state.low, self._margin(state))

    def prior_shares(self, low: float, high: float) -> npt.NDArray[np.float64]:
        """Return the prior probability of each distribution of errors, for a range."""
        return self.parts[0].distributions(high - low).share

    def report_precisions(self, state: NumberState) -> npt.NDArray[np.float64]:
        """Return the expected precision of reports in widths of the range, at [worker, part]."""
        variances = self.error_distributions(state).variance
        return np.stack([np.sum(state.beliefs / one, axis=1) for one in variances], axis=1)

    def count_cells(self, partition: Partition, state: NumberState) -> NumberTally:
        """Count the numbers in each cell of the range."""
        rows = partition.values[int(partition.offsets[0]) : int(partition.offsets[-1])]
        numbers = rows * self.summary.extent + self.summary.middle
        cells = np.clip((numbers - state.low) / (state.high - state.low) * CELLS, 0, CELLS - 1)
        tally = NumberTally.empty(self.summary, (0, 0), cells=CELLS)
        return evolve(tally, cells=np.bincount(cells.astype(np.int64), minlength=CELLS))

    def sweep_bins(
        self,
        partition: Partition,
        state: NumberState,
        estimates: NumericEstimates | None = None,
        quantiles: npt.NDArray[np.float64] | None = None,
        messages: npt.NDArray[np.float64] | None = None,
    ) -> NumberTally:
        """Find the posteriors of the truths, and fill the arrays that are given.

        If there are any, no report has more weight in a task than others confirm.
        """
        summary = self.summary
        last = estimates is not None or quantiles is not None
        distributions = self.error_distributions(state)
        rows = slice(int(partition.offsets[0]), int(partition.offsets[-1]))
        values, codes = partition.values[rows], partition.worker_codes[rows].view(np.uint32)
        to_bins = (BINS - 1) * summary.extent / (state.high - state.low)
        start = (state.low - summary.middle) / summary.extent
        parts = np.zeros(0, np.int64)
        if partition.parts is not None:
            parts = partition.parts[rows].astype(np.int64)
        places = self._place((values - start) * to_bins, parts, state)
        candidates = state.trial.candidates if state.trial else ()
        tally = NumberTally.empty(
            summary,
            cells_of_tables(self.table_workers, distributions.columns),
            len(distributions.share),
            fills_in=self.fills_in,
            supported=state.reviews,
            tried=len(candidates),
            learns_map=self.method.shared_errors == LEARN,
        )
        precisions = self.report_precisions(state)
        compared = np.isfinite(partition.known_truths) & (np.diff(partition.offsets) > 0)
        compared &= len(tally.known) > 0
        apparent = np.zeros((len(compared) if compared.any() else 0, 2))
        shift, scale = state.truth_map.line
        width = (BINS - 1) / to_bins
        worker_distributions = self._worker_distributions(state, distributions)
        infer_by_bins(
            (partition.offsets - rows.start, codes, values, partition.known_truths),
            (
                places.columns,
                places.ratios,
                places.cut,
                self._missing(partition, state, places.bins, rows),
                (partition.known_truths - start) * to_bins,
                parts,
            ),
            (
                np.log(state.distribution)[np.newaxis]
                if self.task_priors is None
                else self.task_priors,
                distribution_shares(candidates) if candidates else np.zeros((0, BINS)),
            ),
            worker_distributions,
            (
                distributions.variance * (BINS - 1) ** 2,
                float(precisions.max()) / (BINS - 1) ** 2,
                self.distance_shares,
            ),
            (start - scale * start + width * shift, scale, apparent),
            np.exp(worker_distributions.by_column) if len(tally.supported) else np.zeros((0, 0)),
            precisions / precisions.max(),
            state.borne / precisions.max()
            if last and self.task_priors is None
            else np.zeros((0, 1)),
            np.array(LEVELS),
            np.array([start, start + width]),
            (
                self.residual_unit,
                self.truth_unit,
                self.likely_unit,
                self.task_unit,
                self.error_unit,
            ),
            tally.found,
            np.zeros((0, BINS)) if messages is None else messages,
            np.zeros((0, 0)) if quantiles is None else quantiles,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        if len(apparent):
            known = (partition.known_truths[compared] - start) / width
            found = (apparent[compared] - [start, 0.0]) / [width, width**2]
            tally.known[:] = compare(found, known, self.truth_unit)
        return tally

    def _place(
        self, placed: npt.NDArray[np.float64], parts: npt.NDArray[np.int64], state: NumberState
    ) -> _Places:
        """Return the places of numbers in bins; `parts` are empty if there is one mechanism."""
        if len(self.parts) == 1:
            return self._place_part(placed, self.parts[0], state)
        bins, columns, ratios = np.full((3, len(placed)), -1)
        found = _Places(bins=bins, columns=columns, ratios=ratios, cut=np.zeros(len(placed)))
        for place, start in enumerate(self.error_distributions(state).starts):
            mine = parts == place
            own = self._place_part(placed[mine], self.parts[place], state)
            found.bins[mine], found.columns[mine] = own.bins, own.columns + start
            found.ratios[mine] = np.where(own.ratios < 0, -1, own.ratios + start)
            found.cut[mine] = own.cut if len(own.cut) else 0.0
        return found._replace(cut=np.zeros(0)) if self.all_bounded else found

    def _place_part(
        self, placed: npt.NDArray[np.float64], part: Noise, state: NumberState
    ) -> _Places:
        if part.bounded is not None:
            return _place_bounded(placed, part.bounded)
        scale, last = part.scale / (state.high - state.low), BINS - 1.0
        cells = np.full(len(placed), -1, np.int64)
        if 0 < scale <= MOST_SCALE:
            cells = cells_of(placed / last, scale, 1.0 / last)
            placed = np.clip(placed, 0.0, last)
        elif not math.isnan(self._margin(state)):
            cells = np.where(placed >= last - AT_END, 1, np.where(placed <= AT_END, 0, -1))
        bins = np.clip(np.rint(placed), -BINS, 2 * BINS - 1)
        whole = bins.astype(np.int64)
        columns, at_end = DISTANCES + cells * BINS, (cells == 0) | (cells == 1)
        return _Places(
            bins=whole,
            columns=np.where(at_end, columns, CENTRE - whole),
            ratios=np.where(cells > 1, columns, -1),
            cut=np.where(at_end, 0.0, np.clip(placed - bins, -0.5, 0.5)),
        )

    def _missing(
        self, partition: Partition, state: NumberState, places: npt.NDArray[np.int64], rows: slice
    ) -> npt.NDArray[np.float64]:
        """Return each report's log density without an answer, plus the log-odds of no answer."""
        channel = self.summary.channel
        if channel is None or channel.fillings is None:
            return np.zeros(0)
        fillings = (channel.fillings - state.low) / (state.high - state.low)
        scale = self.parts[0].scale / (state.high - state.low)
        of_places = filling_distribution(fillings, scale)
        assert state.answering is not None
        logs = state.answering.logs
        odds = logs[:, 1] - logs[:, 0]
        missing: npt.NDArray[np.float64] = (
            of_places[places + BINS] + odds[partition.worker_codes[rows]]
        )
        bits = channel.participation
        if bits is not None and partition.participation is not None:
            bit = partition.participation[rows]
            missing += (np.abs(bit - 1.0) - np.abs(bit)) / bits.scale
        return missing

    def _worker_distributions(
        self, state: NumberState, distributions: ErrorDistributions
    ) -> WorkerDistributions:
        by_distribution = np.ascontiguousarray(distributions.logs.T)
        table = np.empty(cells_of_tables(self.table_workers, distributions.columns), np.int32)
        beliefs = np.ascontiguousarray(state.beliefs)
        rows = np.full((len(beliefs), len(self.parts)), -1 if len(self.parts) == 1 else NO_ROW)
        start = 0
        for part, (own, columns, workers) in enumerate(
            tables_of_parts(table, distributions.columns, self.table_workers)
        ):
            blend_distributions(
                beliefs[workers], np.ascontiguousarray(by_distribution[:, columns]), own
            )
            places = np.arange(len(workers))
            if len(self.parts) > 1:
                places = start + places * own.shape[1] - columns.start
            rows[workers, part] = places
            start += own.size
        return WorkerDistributions(
            beliefs,
            by_distribution,
            np.ascontiguousarray(distributions.logs),
            rows.reshape(-1),
            table,
        )


def _place_bounded(placed: npt.NDArray[np.float64], distribution: BoundedDistribution) -> _Places:
    low, numbers = distribution.grid.low, distribution.numbers
    own = (low - numbers.origin + placed * (distribution.grid.width / (BINS - 1.0))) / numbers.step
    columns = bounded_columns(distribution, np.rint(own).astype(np.int64))
    whole = np.zeros(len(placed), np.int64)
    return _Places(bins=whole, columns=columns, ratios=whole - 1, cut=np.zeros(0))
