"""The one-layer mechanism: every worker flips with the same public probability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Domain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms.channels.base import MAX_EPSILON, TOTAL, other_weight_for
from quietcrowd.mechanisms.channels.options import OptionsChannel
from quietcrowd.mechanisms.channels.reading import MAX_LABELS
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.label_mechanism import (
    LabelMechanism,
    at_least_two_labels,
    check_epsilon,
    check_probability,
    fixed_words,
)
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import Randomness, Secret, word_source, words_in_turn
from quietcrowd.mechanisms.report_meanings import ListedMeanings, ReportMeanings, in_order
from quietcrowd.mechanisms.taskwise import cells_of, fixed_table
from quietcrowd.privacy.guarantee import Tasks, check_counts
from quietcrowd.privacy.loss import ReleaseLoss, pure_distribution
from quietcrowd.task_options import TaskOptions
from quietcrowd.validation import optional_number


@frozen(kw_only=True, slots=False)
class RandomizedResponse(LabelMechanism):
    """Randomized response: keep the answer, or replace it uniformly by another one.

    A report is the answer with probability ``1 - p``, and each of the other ``k - 1`` labels with
    probability ``p / (k - 1)``. For a privacy loss epsilon,
    ``p = (k - 1) / (exp(epsilon) + k - 1)``. With ``missing="category"`` every worker reports every
    task. NULL, "no answer", is one more label, is kept or replaced as any label is, and counts in
    k.

    Parameters
    ----------
    domain : Categorical or Ordinal
        ``k >= 2`` labels.
    epsilon : float, optional
        Privacy loss of one answer, natural logarithm, 0 to 16. At 0 a report reveals nothing.
    flip_probability : float, optional
        The probability p, 0 to 1, instead of `epsilon`.
    missing : {None, "category"}
        Handling of a task without an answer: no report, or NULL as one more label.

    Raises
    ------
    ParameterError
        Unless exactly one of `epsilon` and `flip_probability` is given and in range, if the loss
        exceeds 16, or if there are fewer than two labels.

    Guarantee
    ---------
    Pure and exact: ln of the largest ratio in ``channel.weights``, rounded up; never above the
    requested epsilon. The loss about n answers is n times as much. Participation is not protected:
    reports exist where answers exist. With ``missing="category"`` it is: the loss between NULL and
    an answer is at most that between two answers, and n counts all tasks.

    References
    ----------
    Y. Li et al., "An Efficient Two-Layer Mechanism for Privacy-Preserving Truth Discovery",
    KDD 2018, Definition 5.1, Algorithm 1, Theorem 6.2. With NULL: H. Sun et al., "Truth Inference
    on Sparse Crowdsourcing Data with Local Differential Privacy", IEEE Big Data 2018, equation 8.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> mechanism.guarantee().epsilon <= 1.0
    True
    >>> mechanism.channel.probabilities.round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    name: ClassVar[str] = "one-layer"
    claimed_by_paper: ClassVar[bool] = True
    epsilon: float | None = field(default=None, converter=optional_number, validator=check_epsilon)
    flip_probability: float | None = field(
        default=None, converter=optional_number, validator=check_probability
    )

    def __attrs_post_init__(self) -> None:
        if (self.epsilon is None) == (self.flip_probability is None):
            raise ParameterError(
                "mechanisms.epsilon-or-flip-probability",
                epsilon=self.epsilon,
                flip_probability=self.flip_probability,
            )
        if self.claimed_epsilon == math.inf:
            raise ParameterError(
                "mechanisms.flip-probability-reveals",
                flip_probability=self.flip_probability,
                max_epsilon=MAX_EPSILON,
            )
        _ = self.channel  # rejects a privacy loss above 16

    @property
    def other_weight(self) -> int | None:
        """Weight out of 2^32 of each label other than the answer, rounded towards more noise.

        None if the rounding reaches or passes the uniform distribution: then all rows of the
        channel are the same.
        """
        size = self.size
        uniform = Fraction(TOTAL, size)
        if self.epsilon is not None:
            other = other_weight_for(size, self.epsilon)
            return other if other < uniform else None
        exact = Fraction(self.flip_probability or 0) * TOTAL / (size - 1)
        if exact <= uniform:
            return math.ceil(exact) if math.ceil(exact) < uniform else None
        return math.floor(exact) if math.floor(exact) > uniform else None

    @cached_property
    def channel(self) -> TableChannel:
        """Distribution of a report given its answer, the same for every worker."""
        size, other = self.size, self.other_weight
        if other is None:
            return TableChannel.uninformative(size)
        return TableChannel.randomized_response(size, other)

    @property
    def claimed_epsilon(self) -> float:
        """Theorem 6.2: ln((1 - p)(k - 1) / p)."""
        if self.epsilon is not None:
            return self.epsilon
        flip = self.flip_probability or 0.0
        if flip in (0.0, 1.0):
            return math.inf
        return math.log((1 - flip) * (self.size - 1) / flip)

    @property
    def source(self) -> str:  # type: ignore[override]
        """Theorem and paper that prove the guarantee."""
        if self.every_task:
            return "Sun et al., IEEE Big Data 2018, equation 8; docs/theory/sparse-answers.md"
        return "Li et al., KDD 2018, Theorem 6.2; docs/theory/finite-channels.md"

    @override
    def for_options(self, options: TaskOptions | None) -> RandomizedResponse:
        if options is None:
            return self
        if self.epsilon is None or self.every_task:
            raise ParameterError("mechanisms.options-need-epsilon")
        return RandomizedOptions(domain=self.domain, epsilon=self.epsilon, per_task=options)

    @override
    def among(self, domain: Domain, counts: Iterable[int]) -> RandomizedAmong:
        if self.epsilon is None or self.every_task:
            raise ParameterError("mechanisms.options-need-epsilon")
        return RandomizedAmong(
            domain=at_least_two_labels(domain), epsilon=self.epsilon, counts=counts
        )

    @classmethod
    @override
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mechanism:
        if not parameters.keys() & {"options", "option_counts"}:
            return super()._from_parameters(domain, parameters)
        given: dict[str, Any] = {"domain": domain, "epsilon": parameters["epsilon"]}
        if "option_counts" in parameters:
            return RandomizedAmong(**given, counts=parameters["option_counts"])
        try:
            options = TaskOptions.from_dict(parameters["options"], at_least_two_labels(domain))
        except (AnswerError, ValueError) as error:
            raise ParameterError("mechanisms.options-unreadable", error=error) from None
        return RandomizedOptions(**given, per_task=options)

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "flip_probability": self.flip_probability,
            "null": self.missing,
            "other_weight": self.other_weight,
        }


def _canonical(options: TaskOptions) -> TaskOptions:
    return options.canonical


@frozen(kw_only=True, slots=False)
class _OfSizes(RandomizedResponse):
    """Randomized response with a channel for each number of options."""

    is_taskwise: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        if self.epsilon is None or self.every_task:
            raise ParameterError("mechanisms.options-need-epsilon")

    @property
    def _sizes(self) -> Iterable[int]:
        raise NotImplementedError

    @cached_property
    def channels(self) -> Mapping[int, TableChannel]:
        """Distribution of a position among the options, by the number of options."""
        return {
            size: RandomizedResponse(domain=Categorical(range(size)), epsilon=self.epsilon).channel
            for size in self._sizes
        }

    def channel_for(self, size: int) -> TableChannel:
        """Return the channel of the tasks with this number of options, at least 2."""
        return self.channels[size]

    @property
    @override
    def worker_channel(self) -> None:
        return None

    @property
    @override
    def independent_reports(self) -> bool:
        return True

    @property
    @override
    def report_epsilon(self) -> float:
        return max((channel.epsilon for channel in self.channels.values()), default=0.0)

    @override
    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        worst = pure_distribution(self.report_epsilon, 0.0)
        count = check_counts(answers, tasks, every_task=False)
        return ReleaseLoss(answer=worst, each=worst, count=count)

    @override
    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "flip_probability": None, "null": None}


@frozen(kw_only=True, slots=False)
class RandomizedOptions(_OfSizes):
    """Randomized response among the options of each task.

    `RandomizedResponse.for_options` returns it, and `RandomizedResponse.randomize` uses it for
    answers with options. A task with m options has the channel of a randomized response with m
    labels and the same epsilon; a single option is reported as it is.

    Parameters
    ----------
    domain : Categorical or Ordinal
        The labels of all tasks.
    epsilon : float
        Privacy loss of one answer, natural logarithm, 0 to 16.
    per_task : TaskOptions
        The possible labels of each task, which are public: files of reports contain them.

    Guarantee
    ---------
    That of `RandomizedResponse`, for each number of options: a report reveals nothing beyond the
    epsilon of its answer and the public options of its task.

    Examples
    --------
    >>> from quietcrowd.task_options import TaskOptions
    >>> options = TaskOptions.read({"q1": ["cat", "dog"], "q2": ["oak", "elm", "fir"]})
    >>> mechanism = RandomizedResponse(domain=options.domain, epsilon=1.0).for_options(options)
    >>> [mechanism.channel_for(size).probabilities[0].round(3).tolist() for size in (2, 3)]
    [[0.731, 0.269], [0.576, 0.212, 0.212]]
    """

    per_task: TaskOptions = field(converter=_canonical)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.check_domain(self.per_task.domain)

    @property
    @override
    def options(self) -> TaskOptions:
        return self.per_task

    @property
    @override
    def _sizes(self) -> Iterable[int]:
        return [size for size in np.unique(self.per_task.sizes).tolist() if size > 1]

    @override
    def for_options(self, options: TaskOptions | None) -> RandomizedResponse:
        """Return this mechanism; AnswerError if `options` are other ones than its own."""
        if options is not None and options != self.per_task.take(options.tasks):
            raise AnswerError("mechanisms.options-differ")
        return self

    @property
    @override
    def channel(self) -> TableChannel:
        """ParameterError: each number of options has a channel."""
        raise ParameterError("mechanisms.channel-per-task")

    @property
    @override
    def channel_identity(self) -> Mapping[str, Any]:
        options = self.per_task.to_dict()
        listed = zip(options["tasks"], options["options"], strict=True)
        return {
            "law": {str(size): channel.weights.tolist() for size, channel in self.channels.items()},
            "options": {task: sorted(labels, key=in_order) for task, labels in listed},
            "every_task": False,
            "shared": None,
        }

    @override
    def _checked(self, answers: Any, participation_is_public: bool) -> Answers:
        given = super()._checked(answers, participation_is_public)
        return given if given.options is not None else given.with_options(self.per_task)

    def _drawn(
        self, sizes: npt.NDArray[Any], positions: npt.NDArray[Any], words: npt.NDArray[np.uint32]
    ) -> npt.NDArray[Any]:
        """Replace positions among `sizes` options by reports, with a word each."""
        reports = positions.copy()
        for size, channel in self.channels.items():
            rows = sizes == size
            reports[rows] = channel.sample(positions[rows], words_in_turn(words[rows]))
        return reports

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        options = answers.options
        assert options is not None
        words = word_source(rng)(len(answers))
        tasks = answers.task_codes
        positions = options.positions(tasks, answers.values)
        reports = options.at(tasks, self._drawn(options.sizes[tasks], positions, words))
        table = answers.with_values(self.domain, reports)
        return Reports(table=table, mechanism=self, simulated=isinstance(rng, np.random.Generator))

    @override
    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        options = self.per_task.take(answers.tasks)
        given = evolve(answers, options=options)
        cells = cells_of(given, options.positions(given.task_codes, given.values), null=0)
        reports = self._drawn(options.sizes, cells, fixed_words(given, cells, secret))
        labels = options.at(np.arange(len(cells)), reports)
        return Reports(table=fixed_table(given, self, labels), mechanism=self)

    @override
    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "options": self.per_task.to_dict()}


def _counts(counts: Any) -> tuple[int, ...]:
    listed = tuple(counts) if isinstance(counts, Iterable) else (None,)
    if not all(type(one) is int and 1 < one <= MAX_LABELS for one in listed) or not listed:
        raise ParameterError("mechanisms.option-counts-invalid", most=MAX_LABELS)
    return tuple(sorted(set(listed)))


@frozen(kw_only=True, slots=False)
class RandomizedAmong(_OfSizes):
    """Randomized response among the options of tasks, with only their numbers fixed.

    It is for campaigns: tasks list their options, and `for_options` returns the mechanism of given
    tasks. A report is a position among the options of its task.

    Parameters
    ----------
    domain : Categorical or Ordinal
        The labels of all tasks.
    epsilon : float
        Privacy loss of one answer, natural logarithm, 0 to 16.
    counts : iterable of int
        How many options tasks have, at least 2 each.

    Guarantee
    ---------
    That of `RandomizedOptions`.

    Examples
    --------
    >>> domain = Categorical(["cat", "dog", "oak", "elm", "fir"])
    >>> mechanism = RandomizedResponse(domain=domain, epsilon=1.0).among(domain, [2, 3])
    >>> mechanism.option_counts, mechanism.report_epsilon <= 1.0
    ((2, 3), True)
    """

    counts: tuple[int, ...] = field(converter=_counts)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.counts[-1] > self.domain.size:
            raise ParameterError("mechanisms.option-counts-invalid", most=MAX_LABELS)

    @property
    @override
    def option_counts(self) -> tuple[int, ...]:
        return self.counts

    @property
    @override
    def _sizes(self) -> Iterable[int]:
        return self.counts

    @override
    def for_options(self, options: TaskOptions | None) -> RandomizedResponse:
        """Return the mechanism of tasks; ParameterError if one has another number of options."""
        if options is None or not set(options.sizes.tolist()) <= set(self.counts):
            raise ParameterError("mechanisms.option-counts-differ", counts=self.counts)
        return RandomizedOptions(domain=self.domain, epsilon=self.epsilon, per_task=options)

    @cached_property
    @override
    def channel(self) -> OptionsChannel:  # type: ignore[override]
        """Distribution of a position among the options, for each number of options."""
        return OptionsChannel(tables=tuple(self.channels.values()))

    @cached_property
    @override
    def report_meanings(self) -> ReportMeanings:
        """Positions, also those of campaigns with more options, whose reports a device keeps."""
        return ListedMeanings(listed=tuple(range(MAX_LABELS)))

    @override
    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        return self.for_options(answers.options).fixed_reports(answers, secret)

    @property
    @override
    def channel_identity(self) -> Mapping[str, Any]:
        """The kind only: a question contains its options in order, and their table."""
        return {"law": {"kind": "options"}, "every_task": False, "shared": None}

    @override
    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "option_counts": list(self.counts)}
