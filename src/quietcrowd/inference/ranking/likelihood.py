"""Bradley-Terry model of comparisons sent through a known channel.

The worker prefers the left item with probability ``sigma(s_left - s_right)``. The objective is the
log-likelihood of the reports plus the log density of a normal prior on the scores. Derivation:
``research/docs/theory/paired-comparisons.md``.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from scipy import linalg
from scipy.special import expit, log_expit

from quietcrowd.answers import Answers
from quietcrowd.comparisons import (
    COLUMNS,
    SIDES,
    SIDES_AND_TIE,
    Repeated,
    Ties,
    comparison_columns,
    item_ids,
)
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import (
    MECHANISM,
    Backend,
    Duplicates,
    as_frame,
    backend_of,
    check_answers,
    column_of,
    holds_reports,
    unmarked,
)
from quietcrowd.intake import Intake, distinct
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import LEAST_LOSS, Mechanism, Reports
from quietcrowd.mechanisms.report_frames import known_hashes, mechanisms_by_hash
from quietcrowd.validation import check_choice

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]

_REST = 1e-5
"""Convergence tolerance of a Newton step, in standard errors along its direction."""

_HALVINGS = 60

_SEEN = (0.0, *(4.0**-power for power in range(6, -1, -1)))
"""Fractions of missing information to try until the information is positive definite."""

_SUFFICIENT = 1e-4
"""Fraction of the predicted increase that a step must reach (Armijo's condition)."""


@frozen(kw_only=True, eq=False)
class Comparisons:
    """Reports of paired comparisons, with counts of identical ones.

    `log_left` and `log_right`, shape (kinds,), are log-probabilities of each distinct report, if
    left or right is preferred. At most one of the two is minus infinity. `spread` is the
    prior's standard deviation.
    """

    items: int
    left: Places
    right: Places
    log_left: Floats
    log_right: Floats
    counts: Floats
    spread: float

    def objective(self, scores: Floats) -> float:
        """Return the penalized log-likelihood, in nats, at scores of shape (items,)."""
        gaps = scores[self.left] - scores[self.right]
        logs = np.logaddexp(self.log_left + log_expit(gaps), self.log_right + log_expit(-gaps))
        prior = float(scores @ scores) / (2 * self.spread**2)
        return float(self.counts @ logs) - prior

    def preferences(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the probability that left is preferred, before and after seeing the report."""
        gaps = scores[self.left] - scores[self.right]
        for_left = self.log_left + log_expit(gaps)
        for_right = self.log_right + log_expit(-gaps)
        return expit(gaps), np.exp(for_left - np.logaddexp(for_left, for_right))

    def gradient(self, scores: Floats) -> Floats:
        """Return the gradient of the objective, shape (items,)."""
        before, after = self.preferences(scores)
        pull = self.counts * (after - before)
        own = np.bincount(self.left, pull, self.items)
        other = np.bincount(self.right, pull, self.items)
        found: Floats = own - other - scores / self.spread**2
        return found

    def information(self, scores: Floats, seen: float = 0.0) -> Floats:
        """Return the observed information plus that of the prior, shape (items, items).

        `seen` in [0, 1] is the fraction of the missing information to add; 1 gives that of
        non-private preferences.
        """
        before, after = self.preferences(scores)
        each = before * (1 - before) - (1 - seen) * after * (1 - after)
        pairs = self.left * self.items + self.right
        flat = np.asarray(np.bincount(pairs, self.counts * each, self.items**2), np.float64)
        between = flat.reshape(self.items, self.items)
        between = between + between.T
        found: Floats = -between
        np.fill_diagonal(found, between.sum(axis=1) + 1 / self.spread**2)
        return found


@frozen(kw_only=True, eq=False)
class Fit:
    """Maximum of the penalized likelihood; `history` of the objective never decreases.

    `scores`, centered at 0 up to rounding, have the inverse information as covariance.
    """

    scores: Floats
    covariance: Floats
    history: tuple[float, ...] = field(repr=False)
    converged: bool


def maximise(comparisons: Comparisons, max_iter: int) -> Fit:
    """Find a local maximum of the penalized log-likelihood of at least two items.

    The search starts at equal scores and takes Newton steps where the observed information is
    positive definite. Elsewhere it adds as little missing information as possible; all of it gives
    a step of the EM gradient algorithm (Lange, 1995). Steps are halved until the objective does not
    decrease. At a saddle, the step follows the direction of largest positive curvature.
    """
    scores = np.zeros(comparisons.items)
    history = [comparisons.objective(scores)]
    converged = False
    while not converged and len(history) <= max_iter:
        gradient = comparisons.gradient(scores)
        factor, newton = _factor(comparisons, scores)
        step: Floats = linalg.cho_solve(factor, gradient)
        slope = float(gradient @ step)
        resting = slope <= max(_REST**2, 1e-14 * abs(history[-1]))
        converged = newton and resting
        if resting and not newton:
            step = _off_the_saddle(comparisons, scores)
        scores, reached = _climb(comparisons, scores, step, slope, history[-1])
        if reached is None:  # no increase beyond rounding
            break
        history.append(reached)
    factor, _ = _factor(comparisons, scores)
    covariance = linalg.cho_solve(factor, np.eye(comparisons.items), overwrite_b=True)
    return Fit(scores=scores, covariance=covariance, history=tuple(history), converged=converged)


def _factor(comparisons: Comparisons, scores: Floats) -> tuple[tuple[Floats, bool], bool]:
    """Return the Cholesky factor of an information, and whether it is the observed one."""
    for seen in _SEEN[:-1]:
        try:
            return linalg.cho_factor(comparisons.information(scores, seen)), seen == 0
        except linalg.LinAlgError:
            continue
    return linalg.cho_factor(comparisons.information(scores, _SEEN[-1])), False


def _off_the_saddle(comparisons: Comparisons, scores: Floats) -> Floats:
    _, directions = linalg.eigh(comparisons.information(scores), subset_by_index=[0, 0])
    found: Floats = directions[:, 0]
    return found


def _climb(
    comparisons: Comparisons, scores: Floats, step: Floats, slope: float, now: float
) -> tuple[Floats, float | None]:
    """Return scores with no lower objective, and the objective; None without any."""
    part = 1.0
    for _ in range(_HALVINGS):
        tried = scores + part * step
        reached = comparisons.objective(tried)
        if reached >= now + _SUFFICIENT * part * slope:
            return tried, reached
        part /= 2
    return scores, None


@frozen(kw_only=True, eq=False)
class ComparisonReports:
    """Input of `BradleyTerry`, with log-likelihoods per row; `ids` of items are as in a frame.

    A row that is `tied` has the log-likelihoods of "left", and counts half to each item. `workers`
    is the number of workers with a row.
    """

    answers: Answers
    mechanism: Any
    log_left: npt.NDArray[np.float64]
    log_right: npt.NDArray[np.float64]
    tied: npt.NDArray[np.bool_]
    workers: int
    ids: pa.Array | None = None
    simulated: bool = False
    backend: Backend = "pandas"

    @classmethod
    def of(
        cls,
        data: Any,
        mechanism: Any,
        duplicates: Repeated,
        columns: tuple[str, str, str, str] = COLUMNS,
        *,
        non_private: bool,
    ) -> "ComparisonReports":
        """Read the arguments of `BradleyTerry.fit`, and raise its errors."""
        if isinstance(data, Reports):
            if mechanism is not None:
                raise ParameterError("inference.mechanism-with-reports")
            logs = np.empty((2, len(data)))
            for code, part in enumerate(data.split()):
                channel, places = _distribution_of(part.mechanism)
                logs[:, data.part_codes == code] = _logs(channel, places, part.table)
            return cls(
                answers=data.table,
                mechanism=data.mechanism,
                log_left=logs[0],
                log_right=logs[1],
                tied=np.zeros(len(data.table), bool),
                workers=_workers(data.table),
                simulated=data.simulated,
            )
        ids: pa.Array | None = None
        workers: int | None = None
        backend: Backend = "pandas"
        if not isinstance(data, Answers):
            frame = as_frame(data).to_native()
            if mechanism is not None:
                frame = _without_hashes(frame, mechanism)
            elif not non_private:
                check_answers(frame)
                raise AnswerError("inference.comparisons-or-reports")
            backend = backend_of(frame)
            if columns == COLUMNS:
                columns = comparison_columns(as_frame(frame).columns)
            check_choice("duplicates", duplicates, ("error", "first", "last", "all"))
            if duplicates == "all":
                frame, workers = _numbered(frame, columns[0])
            data = _answers(
                frame, mechanism, "error" if duplicates == "all" else duplicates, columns
            )
            ids = item_ids(frame, *columns[1:3])
        logs = _logs_of_sides(data, mechanism)
        return cls(
            answers=data,
            mechanism=mechanism,
            log_left=logs[0],
            log_right=logs[1],
            tied=np.zeros(len(data), bool) if mechanism is not None else _tied(data),
            workers=_workers(data) if workers is None else workers,
            ids=ids,
            backend=backend,
        )


def _without_hashes(frame: Any, mechanism: Any) -> Any:
    """Return a frame of reports as one of answers; raise if another mechanism randomized it."""
    native = as_frame(unmarked(frame))
    if isinstance(mechanism, Mechanism) and holds_reports(native):
        known_hashes(native, mechanisms_by_hash([mechanism]))
    return native.drop(MECHANISM, strict=False).to_native()


def _numbered(frame: Any, worker: str) -> tuple[Any, int]:
    """Return a frame with a number per row instead of workers, and the number of workers."""
    native = as_frame(frame)
    workers = Intake().ids(column_of(native, worker), worker)
    return native.drop(worker).with_row_index(worker).to_native(), len(distinct(workers))


def _answers(
    frame: Any, mechanism: Any, duplicates: Duplicates, columns: tuple[str, str, str, str]
) -> Answers:
    worker, left, right, label = columns
    ties: Ties = "keep" if mechanism is None else "error"
    return Answers.from_comparisons(
        frame, worker=worker, left=left, right=right, label=label, duplicates=duplicates, ties=ties
    )


def _workers(answers: Answers) -> int:
    return int((answers.answers_per_worker > 0).sum())


def _logs_of_sides(answers: Answers, mechanism: Any) -> npt.NDArray[np.float64]:
    if mechanism is None:
        left, right = _places_of(answers.domain, ties=True)
        with np.errstate(divide="ignore"):
            return np.log([(answers.values == left) | _tied(answers), answers.values == right])
    places = _places_of(answers.domain)
    if isinstance(mechanism, Channel):
        distribution = mechanism.probabilities
        if distribution is None or distribution.shape != (2, 2):
            raise ParameterError("inference.comparison-channel-shape", mechanism=mechanism)
        _check_informative(mechanism, type(mechanism).__name__)
        sides = (answers.values == places[1]).astype(np.intp)
        return np.array([mechanism.log_likelihood(sides, np.array(side)) for side in (0, 1)])
    if not isinstance(mechanism, Mechanism):
        raise ParameterError("inference.not-a-mechanism", mechanism=mechanism)
    channel, own = _distribution_of(mechanism)
    if mechanism.report_domain != mechanism.domain:
        raise ParameterError("inference.reports-not-labels", name=mechanism.name)
    codes = np.where(answers.values == places[0], *own)
    return np.array([channel.log_likelihood(codes, np.array(place)) for place in own])


def _logs(channel: Channel, places: tuple[int, int], table: Answers) -> npt.NDArray[np.float64]:
    return np.array([channel.log_likelihood(table.values, np.array(place)) for place in places])


def _distribution_of(mechanism: Mechanism) -> tuple[Channel, tuple[int, int]]:
    """Return the channel of the reports, and the codes of left and right in its domain."""
    places = _places_of(mechanism.domain)
    channel = mechanism.worker_channel
    if channel is None or mechanism.every_task:
        why = (
            "every worker reports every task, so participation is hidden"
            if mechanism.every_task
            else "the reports of one worker share a random draw"
        )
        raise AnswerError("inference.comparisons-not-rankable", name=mechanism.name, reason=why)
    _check_informative(channel, mechanism.name)
    return channel, places


def _check_informative(channel: Channel, name: str) -> None:
    if channel.epsilon <= LEAST_LOSS:
        raise AnswerError("inference.comparisons-without-signal", name=name)


def _places_of(domain: Any, *, ties: bool = False) -> tuple[int, int]:
    labels = domain.labels if isinstance(domain, FiniteDomain) else ()
    known = SIDES_AND_TIE if ties and "tie" in labels else SIDES
    if set(labels) != set(known.labels):
        raise AnswerError(
            "inference.comparisons-needed", domain=SIDES.example(), other_domain=domain.example()
        )
    return labels.index("left"), labels.index("right")


def _tied(answers: Answers) -> npt.NDArray[np.bool_]:
    labels = answers.domain.labels  # type: ignore[attr-defined]
    found: npt.NDArray[np.bool_] = answers.values == (
        labels.index("tie") if "tie" in labels else -1
    )
    return found
