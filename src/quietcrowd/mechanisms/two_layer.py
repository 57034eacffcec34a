"""The two-layer mechanism: every worker draws a private flip probability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, fields_dict, frozen
from typing_extensions import override

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import MAX_EPSILON, TOTAL
from quietcrowd.mechanisms.channels.per_worker import (
    MAX_SHAPE,
    BetaFlips,
    ReportDistribution,
    UniformEpsilons,
    UniformFlips,
    WorkerDistribution,
    beta_high,
)
from quietcrowd.mechanisms.channels.table import TableChannel, keep_or_replace
from quietcrowd.mechanisms.label_mechanism import (
    LabelMechanism,
    at_least_two_labels,
    check_probability,
    require_epsilon,
)
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomness import Randomness, Secret, WordSource, word_source
from quietcrowd.privacy.guarantee import (
    ABOUT_TASKS,
    PUBLIC_TASKS,
    PrivacyGuarantee,
    Tasks,
    add_losses,
    check_counts,
    check_linked,
    show_loss,
)
from quietcrowd.privacy.loss import LossDistribution, ReleaseLoss
from quietcrowd.privacy.tails import TailBound, tail_of_distribution
from quietcrowd.privacy.two_layer.rows import own_row_distributions, row_distribution
from quietcrowd.validation import check_real, check_whole, number, one_of, optional_number

BLOCK = 2**16

Distribution: TypeAlias = Literal["flip", "epsilon", "beta"]

USUAL_SHAPE = 2

MIDDLES = 9
"""Number of flip probabilities that represent all that a worker may have drawn."""


def _check_shape(_: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        check_whole(attribute.name, value, 1, MAX_SHAPE)


@frozen(kw_only=True, slots=False)
class TwoLayerRandomizedResponse(LabelMechanism):
    """Randomized response with one secret flip probability per worker.

    Worker u draws ``p_u`` uniformly from ``low`` to ``high`` once and keeps it secret. A report is
    the answer with probability ``1 - p_u`` and each of the other ``k - 1`` labels with probability
    ``p_u / (k - 1)``. With ``distribution="beta"``, ``p_u`` has a truncated beta distribution on
    1,024 equally likely numbers; shapes above 1 make very small ones rare.

    With ``distribution="epsilon"`` the worker draws an epsilon e, uniform on 1,024 numbers from 0
    to twice `epsilon`, and keeps an answer with probability ``exp(e) / (k - 1 + exp(e))``. With
    ``missing="category"`` NULL, "no answer", is one more label and every worker reports every task.
    A second, independent draw serves the tasks without an answer.

    Parameters
    ----------
    domain : Categorical or Ordinal
        ``k >= 2`` labels.
    low, high : float
        For "flip" and "beta": bounds of the flip probability, ``0 <= low <= high <= 1``.
    alpha, beta : int
        For "beta": shapes, 1 to 16. The mean before truncation is ``alpha / (alpha + beta)``.
    epsilon : float
        For "epsilon": the mean, 0 to 8.
    distribution : {"flip", "epsilon", "beta"}
        Draw of a worker: a uniform or beta-distributed flip probability, or an epsilon.
    missing : {None, "category"}
        Handling of a task without an answer; NULL requires "epsilon".

    Raises
    ------
    ParameterError
        If the bounds are invalid, the loss about one answer exceeds 16, or a parameter does not fit
        `distribution`.

    Guarantee
    ---------
    Theorem 6.3 claims ``ln((2 - low - high)(k - 1) / (low + high))`` for every answer. That is
    exact for a worker with one answer. Several reports together reveal information about ``p_u``,
    and through it about each answer. `guarantee` gives the exact loss at n answers, which for
    ``low = 0`` grows like ``ln((k - 1) n)`` without bound. With "beta" the claim follows from the
    mean in the same way and is exact for one answer; the loss grows to that of the least of the
    1,024 numbers. With "epsilon" the loss grows to twice the epsilon. Participation is protected if
    NULL is a label, at the same loss with n the number of tasks. Otherwise it is not protected.

    References
    ----------
    Y. Li et al., "An Efficient Two-Layer Mechanism for Privacy-Preserving Truth Discovery",
    KDD 2018, Algorithm 2, Theorem 6.3. Exact loss: ``research/docs/theory/two-layer.md``. With
    NULL: the baseline of H. Sun et al., IEEE Big Data 2018, section VI-D;
    ``research/docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
    ...     domain=Categorical([0, 1]), epsilon=1.0
    ... )
    >>> [round(mechanism.guarantee(answers=n).epsilon, 2) for n in (1, 5, 277)]
    [1.0, 1.68, 5.62]
    """

    name: ClassVar[str] = "two-layer"
    low: float | None = field(default=None, converter=optional_number, validator=check_probability)
    high: float | None = field(default=None, converter=optional_number, validator=check_probability)
    epsilon: float | None = field(default=None, converter=optional_number)
    distribution: Distribution = field(default="flip", validator=one_of(*get_args(Distribution)))
    alpha: int | None = field(default=None, validator=_check_shape)
    beta: int | None = field(default=None, validator=_check_shape)

    def __attrs_post_init__(self) -> None:
        _ = self.worker_distribution
        _ = self.channel  # rejects a privacy loss above 16

    @cached_property
    def worker_distribution(self) -> WorkerDistribution:
        """Distribution that a worker draws its weight from."""
        shapes = (self.alpha, self.beta)
        if self.distribution != "beta" and shapes != (None, None):
            raise ParameterError(
                "mechanisms.beta-parameters-need-beta", distribution=self.distribution
            )
        if self.distribution == "epsilon":
            return self._epsilon_distribution()
        if self.low is None or self.high is None or self.epsilon is not None or self.missing:
            raise ParameterError(
                "mechanisms.bounds-parameters",
                distribution=self.distribution,
                low=self.low,
                high=self.high,
                epsilon=self.epsilon,
                missing=self.missing,
            )
        if self.low > self.high:
            raise ParameterError("mechanisms.low-above-high", low=self.low, high=self.high)
        if self.distribution == "flip":
            return UniformFlips.of_flips(self.size, self.low, self.high)
        if self.alpha is None or self.beta is None:
            raise ParameterError(
                "mechanisms.beta-shapes-invalid",
                max_shape=MAX_SHAPE,
                alpha=self.alpha,
                beta=self.beta,
            )
        return BetaFlips.of_flips(self.size, self.low, self.high, self.alpha, self.beta)

    def _epsilon_distribution(self) -> UniformEpsilons:
        if self.low is not None or self.high is not None or self.epsilon is None:
            raise ParameterError(
                "mechanisms.epsilon-excludes-bounds",
                low=self.low,
                high=self.high,
                epsilon=self.epsilon,
            )
        if not 0 <= self.epsilon <= MAX_EPSILON / 2:
            raise ParameterError(
                "mechanisms.epsilon-too-large-for-layers",
                max_epsilon=MAX_EPSILON / 2,
                epsilon=self.epsilon,
            )
        return UniformEpsilons(size=self.size, epsilon=self.epsilon, null=self.every_task)

    def __repr__(self) -> str:
        """Omit unused shapes: experiments are seeded by this text."""
        shown = {name: getattr(self, name) for name in fields_dict(type(self))}
        if self.distribution != "beta":
            del shown["alpha"], shown["beta"]
        inner = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({inner})"

    @classmethod
    def from_claimed_epsilon(
        cls, *, domain: Domain, epsilon: float, **parameters: Any
    ) -> TwoLayerRandomizedResponse:
        """Return the mechanism for which the papers claim `epsilon`.

        With the distribution "flip", ``high = 2 (k - 1) / (exp(epsilon) + k - 1) - low``; `low` is
        0 by default. With "beta", of shapes 2 and 2 by default, `high` is where its mean claims
        `epsilon`. The real loss is larger unless every worker gives one answer: see `guarantee`.

        Raises
        ------
        ParameterError
            If `high` would exceed 1 or fall below `low`, `epsilon` is negative, or a parameter is
            unknown.
        """
        cls._check_names(parameters)
        labels = at_least_two_labels(domain)
        distribution, low = (
            parameters.get("distribution", "flip"),
            number(parameters.get("low", 0.0)),
        )
        if distribution == "beta" and not parameters.keys() - {
            "distribution",
            "low",
            "alpha",
            "beta",
        }:
            shapes = {name: parameters.get(name, USUAL_SHAPE) for name in ("alpha", "beta")}
            return cls._with_mean_beta(labels, number(epsilon), low, shapes)
        if distribution != "flip" or parameters.keys() - {"distribution", "low"}:
            return cls(domain=domain, epsilon=epsilon, **parameters)
        return cls._with_mean_flip(labels, number(epsilon), low)

    @classmethod
    def _with_mean_flip(
        cls, domain: FiniteDomain, epsilon: float, low: float
    ) -> TwoLayerRandomizedResponse:
        """Return the distribution "flip" with the mean for the loss of one answer; Theorem 6.3."""
        require_epsilon("epsilon", epsilon)
        mean = (domain.size - 1) / (math.exp(epsilon) + domain.size - 1)
        high = 2 * mean - low
        if high > 1:
            least = math.log((domain.size - 1) * (1 - low) / (1 + low)) if low < 1 else 0.0
            raise ParameterError(
                "mechanisms.low-too-small-for-epsilon",
                epsilon=epsilon,
                low=low,
                size=domain.size,
                high=high,
                loss=show_loss(2 * mean - 1),
                other_loss=show_loss(max(least, 0.0)),
            )
        if high < low:
            raise ParameterError("mechanisms.low-above-mean", epsilon=epsilon, mean=mean, low=low)
        return cls(domain=domain, low=low, high=high)

    @classmethod
    def _with_mean_beta(
        cls, domain: FiniteDomain, epsilon: float, low: float, shapes: dict[str, Any]
    ) -> TwoLayerRandomizedResponse:
        """Return the distribution "beta" with the mean for the loss of one answer."""
        require_epsilon("epsilon", epsilon)
        for name, shape in shapes.items():
            check_whole(name, shape, 1, MAX_SHAPE)
        check_real("low", low, 0)
        others = domain.size - 1
        mean = others / (math.exp(epsilon) + others)
        least = math.ceil(Fraction(low) * TOTAL / others)
        high = None
        if low <= mean:
            high = beta_high(others, least, TOTAL // others, mean, **shapes)
        if high is None:
            raise ParameterError(
                "mechanisms.no-high-for-epsilon",
                epsilon=epsilon,
                mean=mean,
                shape=shapes["alpha"],
                other_shape=shapes["beta"],
                low=low,
            )
        return cls(
            domain=domain, low=low, high=others * high / TOTAL, distribution="beta", **shapes
        )

    @cached_property
    def channel(self) -> TableChannel:
        """Distribution of one report of a worker, without other knowledge about the worker.

        Several answers of one worker share the flip probability, so their joint distribution is not
        a product of this channel.
        """
        return TableChannel.of_workers(self.worker_distribution)

    @property
    def worker_channel(self) -> None:
        """None: only the worker knows its flip probability."""
        return None

    @property
    @override
    def report_distribution(self) -> ReportDistribution:
        """Distribution of all reports of one worker, for a few representative flip probabilities.

        They are the middles of `MIDDLES` equally likely parts of the worker's distribution. For
        tasks without an answer only the mean of their separate draw is used, since a replaced NULL
        is no evidence of a truth.
        """
        weights = [self.worker_distribution.at((i + 0.5) / MIDDLES) for i in range(MIDDLES)]
        others = np.repeat(np.array(weights)[:, np.newaxis] / TOTAL, self.size, axis=1)
        if self.every_task:
            others[:, -1] = self.worker_distribution.mean / TOTAL
        tables = np.repeat(others[:, :, np.newaxis], self.size, axis=2)
        same = np.arange(self.size)
        tables[:, same, same] = 1.0 - (self.size - 1) * others
        return ReportDistribution(
            chances=np.full(MIDDLES, 1.0 / MIDDLES),
            tables=tables,
            loss=self.worker_distribution.cell_epsilon,
            made_up=self.domain.size * np.array(weights) / TOTAL if self.every_task else None,
        )

    @property
    def claimed_epsilon(self) -> float:
        """Theorem 6.3: ln((2 - low - high)(k - 1) / (low + high)); or the mean epsilon.

        With "beta" it follows from the mean m: ln((1 - m)(k - 1) / m).
        """
        if self.low is None or self.high is None:
            return self.epsilon or 0.0
        others = self.domain.size - 1
        if self.distribution == "beta":
            flip = others * self.worker_distribution.mean / TOTAL
            return round(math.log((1 - flip) * others / flip), 8) + 0.0  # the weights are whole
        odds = (2 - self.low - self.high) * others / (self.low + self.high)
        return math.log(odds) if odds > 0 else -math.inf

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        count = check_counts(answers, tasks, every_task=self.every_task)
        if count == 1:
            cell = row = self.channel.epsilon
        else:
            cell = self.worker_distribution.cell_epsilon(count)
            row = self.worker_distribution.row_epsilon(count)
        shared = check_linked(linked, count)
        what = "epsilon" if self.distribution == "epsilon" else "flip probability"
        kind = "task" if self.every_task else "answer"
        draws = " for answers and once for NULL" if self.every_task else ""
        how = "by a beta distribution" if self.distribution == "beta" else "uniformly"
        return PrivacyGuarantee(
            answers=answers,
            epsilon=cell,
            total_epsilon=row,
            linked=linked,
            linked_epsilon=cell if shared == 1 else min(row, add_losses(cell, shared)),
            participation_protected=self.every_task,
            tasks=count if self.every_task else None,
            claimed_epsilon=self.claimed_epsilon,
            assumptions=(
                f"the {what} is drawn once per worker{draws}, {how}, and stays secret",
                f"it serves {count:,} {kind}{'s' * (count != 1)} and no more",
                *(PUBLIC_TASKS if self.every_task else ABOUT_TASKS),
            ),
            source="Sun et al., IEEE Big Data 2018, section VI-D; docs/theory/sparse-answers.md"
            if self.distribution == "epsilon"
            else "Li et al., KDD 2018, Theorem 6.3, for one answer; docs/theory/two-layer.md",
        )

    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        """Return the loss distribution; see `Mechanism.loss`.

        One draw serves all answers, so they are one release.
        """
        release = super().loss(answers, tasks)
        count = check_counts(answers, tasks, every_task=self.every_task)
        distribution = self.worker_distribution
        release = evolve(release, each=_row_distribution(distribution, count) or release.each)
        of_answer = None if release.answer.lost else distribution.cell_distribution(count)
        return release if of_answer is None else evolve(release, answer=of_answer)

    def tail(
        self,
        probability: float,
        answers: int = 1,
        tasks: Tasks | None = None,
        *,
        linked: int = 1,
    ) -> TailBound:
        """Return losses that are each exceeded with at most a probability; see `Mechanism.tail`.

        For several answers they also use the distributions of all rows that differ in at most as
        many places.
        """
        bound = super().tail(probability, answers, tasks, linked=linked)
        count = check_counts(answers, tasks, every_task=self.every_task)
        chances = self.worker_distribution.row_chances(count) if count > 1 else None
        if chances is None or not chances.can_be_listed:
            return bound
        by_rows = [
            tail_of_distribution(distribution, probability)
            for distribution in own_row_distributions(chances)
        ]
        return evolve(
            bound,
            linked_epsilon=min(bound.linked_epsilon, max(by_rows[:linked])),
            total_epsilon=min(bound.total_epsilon, max(by_rows)),
        )

    def draw_workers(self, workers: int, rng: Randomness) -> npt.NDArray[np.uint64]:
        """Return the weights of the workers, and in a second row those for NULL if it is a label.

        See `TaskwiseMechanism.draw_workers`.
        """
        words = word_source(rng)
        return np.stack(
            [self.worker_distribution.draw(words, workers) for _ in range(1 + self.every_task)]
        )

    def fixed_draws(self, secret: Secret) -> npt.NDArray[np.uint64]:
        """Return the weights of one worker; see `LabelMechanism.fixed_draws`."""
        names = ("weight", "weight of NULL")[: 1 + self.every_task]
        return np.stack([self.worker_distribution.draw(secret.words(name), 1) for name in names])

    def replace(
        self,
        cells: npt.NDArray[Any],
        workers: npt.NDArray[Any],
        drawn: npt.NDArray[Any] | None,
        words: WordSource,
    ) -> npt.NDArray[Any]:
        """Return a report for each answer by its worker's weight; see `LabelMechanism.replace`."""
        assert drawn is not None
        codes, owners = cells.reshape(-1), np.broadcast_to(workers, cells.shape).reshape(-1)
        reports = np.empty(len(codes), np.min_scalar_type(self.size))
        for start in range(0, len(codes), BLOCK):
            block = slice(start, start + BLOCK)
            weights = drawn[0][owners[block]]
            if self.every_task:
                null = codes[block] == self.domain.size
                weights = np.where(null, drawn[1][owners[block]], weights)
            reports[block] = keep_or_replace(codes[block], self.size, weights, words(len(weights)))
        return reports.reshape(cells.shape)

    def _parameters(self) -> dict[str, Any]:
        return {
            "low": self.low,
            "high": self.high,
            "epsilon": self.epsilon,
            "law": self.distribution,
            "null": self.missing,
            **({"alpha": self.alpha, "beta": self.beta} if self.distribution == "beta" else {}),
            "other_weights": list(self.worker_distribution.bounds),
        }

    @classmethod
    @override
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mechanism:
        if parameters["law"] != "beta":
            parameters = {"alpha": None, "beta": None} | dict(parameters)
        return super()._from_parameters(domain, parameters)


@lru_cache(maxsize=64)
def _row_distribution(distribution: WorkerDistribution, answers: int) -> LossDistribution | None:
    """Return the loss distribution about all answers; None to use a coin of the same loss."""
    chances = distribution.row_chances(answers) if answers > 1 else None
    return None if chances is None else row_distribution(chances)
