"""Stand-ins for methods of which no formula is public, to compare with and for nothing else.

What is known of TESLA and PrivTDSI is an abstract and a list of keywords. The classes here do what
these suggest. Where they do worse than another method, that says nothing of the originals.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from scipy.special import erfc, erfcx, ndtr
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import LearningModel
from quietcrowd.inference.numbers.gtm import VarianceState
from quietcrowd.inference.numbers.model import NumericMethod, NumericModel, SquaredErrors
from quietcrowd.inference.numbers.moon import MOON, MOONModel
from quietcrowd.inference.numbers.moon_updates import ErrorModel, ErrorTally
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.mechanisms.channels.base import Channel, laplace_shift
from quietcrowd.mechanisms.channels.grid import bounded_domain
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd.mechanisms.channels.shift import LaplaceChannel
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import Randomness
from quietcrowd.privacy.guarantee import PrivacyGuarantee, Tasks
from quietcrowd.report_domains import Lattice
from quietcrowd.validation import (
    check_proportion,
    check_real,
    checked_by,
    one_of,
    plain,
    whole_number,
)

Filter: TypeAlias = Literal["clip", "posterior"]

LEAST_OWN_SHARE = 0.02
"""Of a worker's squared errors at least this part is taken to be its own."""

LEAST_SIGMA = 1e-6
"""And its own errors are at least this part of the scale of the noise."""

HALVINGS = 60


def normal_laplace_cdf(
    error: npt.ArrayLike, sigma: npt.ArrayLike, scale: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the probability that a normal and a Laplace part together are at most `error`.

    ::

        F(e)  = Phi(e / sigma) - (B(e) - B(-e)),
        B(e)  = exp(sigma^2 / 2 b^2 - e / b) Phi(e / sigma - sigma / b) / 2

    Parameters
    ----------
    error : array_like of float
        In any unit.
    sigma, scale : array_like of float
        Standard deviation of the normal part and scale b of the Laplace part, in the same unit,
        above 0 and finite.

    Returns
    -------
    ndarray of float64
        Of the shape that the arguments broadcast to.

    Raises
    ------
    ParameterError
        Where a sigma or a scale is not above 0 and finite.

    References
    ----------
    The integral of ``f - b^2 f'' = phi``, the density's equation in
    ``research/docs/theory/normal-laplace.md``, is ``F = Phi + b^2 f'``.

    Examples
    --------
    >>> normal_laplace_cdf([-50.0, 0.0, 1.0], sigma=1.0, scale=1.0).round(6).tolist()
    [0.0, 0.5, 0.740692]
    """
    s, b = _above_zero("sigma", sigma), _above_zero("scale", scale)
    e = np.asarray(error, np.float64)
    return np.asarray(ndtr(e / s) - (_half(e, s, b) - _half(-e, s, b)))


def _above_zero(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return numbers as an array; raise ParameterError unless all are above 0 and finite."""
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not ((numbers > 0) & np.isfinite(numbers)).all():
        raise ParameterError(f"{name} must be above 0 and finite; got {value!r}")
    return numbers


def _half(
    e: npt.NDArray[np.float64], s: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return B, without the overflow of its first factor where the second is small."""
    v = (s / b - e / s) / np.sqrt(2.0)
    small = np.exp(-((e / s) ** 2) / 2.0) * erfcx(np.maximum(v, 0.0))
    large = np.exp(np.minimum((s / b) ** 2 / 2.0 - e / b, 0.0)) * erfc(np.minimum(v, 0.0))
    return np.asarray(np.where(v > 0, small, large) / 4.0)


def normal_laplace_quantile(
    probability: npt.ArrayLike, sigma: npt.ArrayLike, scale: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the error that a normal and a Laplace part together exceed with 1 - `probability`.

    Parameters
    ----------
    probability : array_like of float
        Above 0 and below 1.
    sigma, scale : array_like of float
        As of `normal_laplace_cdf`.

    Returns
    -------
    ndarray of float64
        Of the shape that the arguments broadcast to, in the unit of sigma and scale.

    Raises
    ------
    ParameterError
        Where a probability is not above 0 and below 1, or a sigma or a scale not above 0 and
        finite.

    Examples
    --------
    >>> normal_laplace_quantile([0.5, 0.975], sigma=1.0, scale=1.0).round(6).tolist()
    [0.0, 3.495132]
    """
    chance, s, b = np.broadcast_arrays(
        np.asarray(probability, np.float64),
        _above_zero("sigma", sigma),
        _above_zero("scale", scale),
    )
    if not ((chance > 0) & (chance < 1)).all():
        raise ParameterError(
            f"a probability must be above 0 and below 1; got {np.asarray(probability).tolist()!r}"
        )
    tail = np.minimum(chance, 1.0 - chance)
    low, high = -(40.0 * s + b * (40.0 - np.log(tail))), np.zeros_like(s)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        less = normal_laplace_cdf(middle, s, b) < tail
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray(np.where(chance < 0.5, high, -high))


def _as_deviations(values: Any) -> tuple[float, ...]:
    """Return numbers of at least 0 as floats; raise ParameterError where they are none."""
    try:
        given = [plain(value) for value in values]
    except TypeError:
        given = None
    if given is None or isinstance(values, str | bytes):
        raise ParameterError(f"sigmas must be a sequence of numbers, one a worker; got {values!r}")
    for sigma in given:
        check_real("a sigma", sigma, 0)
    return tuple(float(sigma) for sigma in given)


@frozen(kw_only=True, eq=False, slots=False)
class TeslaModel(
    NumericModel["TeslaLike", VarianceState, SquaredErrors],
    LearningModel["TeslaLike", VarianceState, SquaredErrors],
):
    """`TeslaLike` bound to data."""

    @cached_property
    def _shift(self) -> Shift:
        shift = laplace_shift(self.summary.channel)
        assert shift is not None
        return shift

    @property
    @override
    def bounds(self) -> tuple[float, float]:
        """Ends of the public grid."""
        return self._shift.grid.ends

    @cached_property
    def noise_scale(self) -> float:
        """Scale b of the noise, relative to the range of all reports."""
        return self._shift.scale / self.summary.extent

    @override
    def weights(self, state: VarianceState | None) -> npt.NDArray[np.float64]:
        """Return the inverse variances, noise included, the greatest being 1."""
        if state is None:
            return np.ones(self.summary.workers)
        total = state.variance + 2.0 * self.noise_scale**2
        weights: npt.NDArray[np.float64] = total.min() / total
        return weights

    @override
    def sweep(
        self, partition: Partition, state: VarianceState | None, estimates: NumericEstimates | None
    ) -> SquaredErrors:
        """Filter and average."""
        offsets = partition.offsets
        rows = slice(offsets[0], offsets[-1])
        workers, reports = partition.worker_codes[rows], partition.values[rows]
        counts = np.diff(offsets)
        task_of = np.repeat(np.arange(partition.tasks), counts)
        known = ~np.isnan(partition.known_truths)
        (low, high), scale = self.scaled_bounds, self.noise_scale
        sigma = np.full(self.summary.workers, scale) if state is None else np.sqrt(state.variance)
        farthest, sigma = self._farthest(sigma, scale)[workers], sigma[workers]
        weights = self.weights(state)[workers] * self.task_unit
        total = np.maximum(_sums(np.rint(weights), offsets), 1)

        def mean_of(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            means = _sums(np.rint(weights * values), offsets) / total
            return np.where(known, partition.known_truths, np.clip(means, low, high))

        truths = mean_of(reports)
        for _ in range(self.method.passes):
            centres = truths[task_of]
            if self.method.filter == "clip":
                filtered = np.clip(reports, centres - farthest, centres + farthest)
            else:
                own = NormalLaplace(sigma, scale).posterior_mean(reports - centres)
                filtered = centres + own
            if self.method.within_bounds:
                filtered = np.clip(filtered, low, high)
            truths = mean_of(filtered)
        errors = np.rint((reports - truths[task_of]) ** 2 * self.error_unit).astype(np.int64)
        squared = np.zeros(self.summary.workers, np.int64)
        np.add.at(squared, workers, errors)
        if estimates is not None:
            estimates.truths[:] = truths
            estimates.standard_error[:] = np.where(known, 0.0, np.nan)
            mean_square = _sums(errors, offsets) / self.error_unit / np.maximum(counts, 1)
            estimates.spread[:] = np.sqrt(mean_square)
        return SquaredErrors(squared=squared)

    def _farthest(self, sigma: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.float64]:
        """Return the largest distance of each worker's reports from the truth, for "clip"."""
        if self.method.filter != "clip":
            return sigma
        return normal_laplace_quantile(1.0 - self.method.beta / 2.0, sigma, scale)

    @override
    def update(
        self, tally: SquaredErrors, state: VarianceState | None
    ) -> tuple[VarianceState, float]:
        """Subtract the noise from the workers' squared errors."""
        summary, noise = self.summary, 2.0 * self.noise_scale**2
        mean = np.nan_to_num(self.error(tally), nan=0.0) ** 2
        own = np.maximum(mean - noise, LEAST_OWN_SHARE * mean)
        variance = np.maximum(own, LEAST_SIGMA**2 * noise)
        total = variance + noise
        likelihood: npt.NDArray[np.float64] = (
            -summary.answers_per_worker * (np.log(total) + mean / total) / 2.0
        )
        objective = integer_sums.exact_sum(likelihood, summary.workers) / summary.answers
        return VarianceState(variance=variance), objective


@frozen(kw_only=True, slots=False)
class TeslaLike(NumericMethod):
    """Weighted means of reports that are first cut to where they can be under Laplace noise.

    No formula of TESLA is public: this is what its abstract suggests, for comparison only. ::

        Q_u       = the (1 - beta / 2) quantile of normal(0, sigma_u^2) + Laplace(b)
        inf, sup  = truth_j -+ Q_u, within the bounds of the public grid
        a_uj      = the report, cut to inf and sup                       with filter "clip"
                  = truth_j + E[own error | report - truth_j]            with filter "posterior"
        truth_j   = sum of w_u a_uj over the workers u who reported, over the sum of w_u
        sigma_u^2 = mean of (report - truth_j)^2, less 2 b^2, at least 2 % of it
        w_u       = 1 / (sigma_u^2 + 2 b^2)

    A pass finds the truths for given sigmas: from the weighted means of the reports by a fixed
    number of alternations with the filter. Truths lie within the bounds. There are no standard
    errors. Nothing is climbed: the loop ends when the normal log likelihood of the errors rests.

    Both filters have a price. Bounds that cut noise on one side only draw truths near the ends of
    the grid inwards; ``within_bounds=False`` leaves them out. And the expected own error of a good
    worker is next to nothing, so that with "posterior" the good pull the truth least.

    Parameters
    ----------
    filter : {"clip", "posterior"}
        What a report is replaced by.
    beta : float
        Chance that a report with a right truth lies beyond its bounds; above 0 and below 1.
    within_bounds : bool
        Whether inf and sup are kept within the bounds of the grid.
    passes : int
        How often filter and mean alternate in a pass.

    References
    ----------
    P. Zhang et al., Knowledge-Based Systems 261, 2023, of which the abstract is public.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> from quietcrowd.exceptions import SimulatedNoiseWarning
    >>> from quietcrowd.inference import ignores_noise
    >>> warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=10.0, fill=None)
    >>> reports = mechanism.simulate(crowd.answers, random_state=1)
    >>> filtered = TeslaLike().fit(reports)
    >>> with ignores_noise():
    ...     naive = qc.Mean().fit(reports)
    >>> qc.mean_absolute_error(filtered, crowd.truths) < qc.mean_absolute_error(naive, crowd.truths)
    True
    """

    name: ClassVar[str] = "tesla-like"
    counts_filled: ClassVar[bool] = True
    reads_answers: ClassVar[bool] = False
    filter: Filter = field(default="clip", validator=one_of(*get_args(Filter)))
    beta: float = field(default=0.05, converter=plain, validator=checked_by(check_proportion))
    within_bounds: bool = field(default=True, validator=one_of(True, False))
    passes: int = field(default=10, converter=plain, validator=whole_number(1))

    @override
    def reads_reports(self, channel: Channel) -> bool:
        """Return whether the noise is Laplace noise of known scale."""
        return laplace_shift(channel) is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return laplace_shift(mechanism.worker_channel) is not None

    @override
    def model_for(self, summary: Summary) -> TeslaModel:
        if laplace_shift(summary.channel) is None:
            raise AnswerError(
                "TeslaLike needs reports with Laplace noise, as those of LaplaceMechanism. For "
                "others take NoiseAware, or Mean"
            )
        return TeslaModel(method=self, summary=summary)


def _sums(numbers: npt.NDArray[Any], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return sums of whole numbers over the rows of each task; what wraps round, wraps back."""
    ends = np.concatenate([[0], np.cumsum(numbers.astype(np.int64))])
    sums: npt.NDArray[np.int64] = ends[offsets[1:] - offsets[0]] - ends[offsets[:-1] - offsets[0]]
    return sums


@frozen(kw_only=True, slots=False)
class PrivTDSILike(Mechanism):
    """Each worker samples some of its tasks and spends its whole budget on them.

    No formula of PrivTDSI is public: this is what its title, "sampling and inference", suggests,
    for comparison only, in simulation only. Of its tasks a worker draws `tasks_per_worker`, or
    takes all if it has no more, and reports them with Laplace noise at
    ``epsilon / tasks_per_worker`` each. Any method infers from the reports; a task that nobody drew
    has no truth, and errors count it as the mean of the others.

    Which tasks were drawn leaves the device: whoever reports a task has answered it. So does
    whether a worker has fewer tasks than it may report. Participation is not protected, and that
    the tasks are a sample is not counted as privacy.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Budget of a worker, for all of its reports together; above 0. (Other mechanisms' epsilon is
        that of one answer.)
    tasks_per_worker : int
        How many tasks a worker reports at most, at least 1; public.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range; where answers are randomised without an `rng`; where
        the mechanism is to be written to a file.

    References
    ----------
    P. Zhang et al., "PrivTDSI: a local differentially private approach for truth discovery via
    sampling and inference", IEEE Transactions on Big Data 9(2), 2023, of which the title and the
    keywords are public.

    Examples
    --------
    >>> from functools import partial
    >>> import quietcrowd as qc
    >>> from quietcrowd.evaluation import Experiment
    >>> from quietcrowd.inference import CRH
    >>> experiment = Experiment(
    ...     dataset=qc.make_crowd(
    ...         kind="sparse", tasks=20, workers=100, sparsity=0.5, truths="uniform"
    ...     ),
    ...     mechanisms={"privtdsi-like": partial(PrivTDSILike, tasks_per_worker=2)},
    ...     epsilons=[5.0],
    ...     methods={"crh": CRH()},
    ...     trials=2,
    ... )
    >>> experiment.run().frame[["mechanism", "exact_epsilon_mean", "participation_protected"]]
           mechanism  exact_epsilon_mean  participation_protected
    0           none                 0.0                     True
    1           none                 inf                    False
    2  privtdsi-like                 2.5                    False
    """

    domain: Ordinal | Interval = field(validator=bounded_domain)
    epsilon: float = field(converter=plain)
    tasks_per_worker: int = field(converter=plain, validator=whole_number(1))

    def __attrs_post_init__(self) -> None:
        check_real("epsilon", self.epsilon, 0)
        _ = self.of_one_report  # refuses an epsilon that the grid cannot hold

    @cached_property
    def of_one_report(self) -> LaplaceMechanism:
        """What is done to each answer that is reported."""
        return LaplaceMechanism(
            domain=self.domain, epsilon=self.epsilon / self.tasks_per_worker, fill=None
        )

    @property
    @override
    def channel(self) -> LaplaceChannel:
        """The distribution of one report given one answer; the same for every worker."""
        return self.of_one_report.channel

    @property
    @override
    def report_domain(self) -> Lattice:
        return self.of_one_report.report_domain

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        one = self.of_one_report.guarantee(answers=answers, tasks=tasks, linked=linked)
        reported = self.of_one_report.guarantee(answers=min(answers, self.tasks_per_worker))
        return evolve(
            one,
            total_epsilon=reported.total_epsilon,
            linked_epsilon=min(one.linked_epsilon, reported.total_epsilon),
            assumptions=(f"at most {self.tasks_per_worker} answers are reported", *one.assumptions),
        )

    @override
    def _randomize(self, answers: Answers, rng: Randomness) -> Reports:
        if not isinstance(rng, np.random.Generator):
            raise ParameterError(
                "PrivTDSILike stands in for a published mechanism in simulations; it is not made "
                "for real answers. Give rng=numpy.random.default_rng(seed), or take "
                "LaplaceMechanism."
            )
        sampled = _sample(answers, self.tasks_per_worker, rng)
        reports = self.of_one_report.simulate(sampled, random_state=rng)
        return evolve(reports, mechanism=self)

    @override
    def to_dict(self) -> NoReturn:
        """Raise ParameterError: no file says that it comes from here."""
        raise ParameterError(
            "PrivTDSILike is for comparison in simulations; its reports are not written to files"
        )


def _sample(answers: Answers, count: int, rng: np.random.Generator) -> Answers:
    """Return at most `count` answers of each worker, drawn without replacement."""
    order = np.lexsort((rng.random(len(answers)), answers.worker_codes))
    ends = np.cumsum(answers.answers_per_worker)
    starts = ends - answers.answers_per_worker
    rank = np.arange(len(answers)) - np.repeat(starts, answers.answers_per_worker)
    kept = np.zeros(len(answers), np.bool_)
    kept[order[rank < count]] = True
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    return evolve(
        answers,
        offsets=kept_before[answers.offsets],
        worker_codes=answers.worker_codes[kept],
        values=answers.values[kept],
    )


@frozen(kw_only=True, eq=False, slots=False)
class KnownErrorsModel(MOONModel):
    """`KnownErrors` bound to data."""

    method: KnownErrors

    @override
    def update(self, tally: ErrorTally, state: ErrorModel | None) -> tuple[ErrorModel, float]:
        """Return the known errors, whatever the workers reported."""
        sigmas, summary = self.method.sigmas, self.summary
        if len(sigmas) != summary.workers:
            raise ParameterError(
                f"there are {summary.workers:,} workers and {len(sigmas):,} sigmas"
            )
        variance = (np.array(sigmas) / summary.extent) ** 2
        return ErrorModel.of(summary, np.maximum(variance, LEAST_SIGMA**2), pooled=1.0), 0.0


@frozen(kw_only=True, slots=False)
class KnownErrors(MOON):
    """MOON that knows how large each worker's own errors are: what no requester can know.

    The truths are the most likely ones given the sigmas: nothing that has to learn the workers from
    their reports is expected to do better, but for what a prior of the truths would add.

    Parameters
    ----------
    sigmas : sequence of float, shape (workers,)
        Standard deviations of the workers' own errors, in the unit of the answers; of the workers
        in the order of the reports.

    Raises
    ------
    ParameterError
        Where sigmas are no sequence of finite numbers of at least 0; at the fit, where there are
        other numbers of sigmas than of workers.
    """

    name: ClassVar[str] = "known-errors"
    reads_answers: ClassVar[bool] = False
    sigmas: tuple[float, ...] = field(converter=_as_deviations)

    @override
    def model_for(self, summary: Summary) -> KnownErrorsModel:
        return KnownErrorsModel(method=self, summary=summary)
