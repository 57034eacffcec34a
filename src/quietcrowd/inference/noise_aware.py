"""`NoiseAware`: truths and workers from reports with known noise, of labels and of numbers."""

from typing import Any, ClassVar

import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain, Interval, NumericDomain, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import label_per_task
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.model import are_whole_floats, check_labels, labels_of
from quietcrowd.inference.labels.noise_aware import LabelModel, check_has_table
from quietcrowd.inference.labels.option_crowd import OptionCrowdModel
from quietcrowd.inference.labels.option_groups import OptionGroups
from quietcrowd.inference.model import Model
from quietcrowd.inference.numbers.model import bind_numbers, known_numbers
from quietcrowd.inference.numbers.noise_aware import NumberModel, check_has_grid
from quietcrowd.inference.partition import Summary
from quietcrowd.inference.sets.noise_aware import SetModel
from quietcrowd.inference.shared_errors import LEARN, as_choice, check_choice
from quietcrowd.label_frequencies import as_label_frequencies, check_label_frequencies
from quietcrowd.mechanisms.channels.base import Channel, known_grid
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.report_domains import Reals
from quietcrowd.validation import at_least, check_between, one_of, plain, whole_number

MOST_SHARED = 0.9
"""Largest probability of a shared error of labels."""

_MOST_NAMED = 10
"""Maximum number of labels in a message."""


@frozen(kw_only=True, slots=False)
class NoiseAware(FittingMethod):
    """Truths and workers' accuracies from reports with known noise: labels, or numbers.

    The method knows the channel, and so the probability of each report for each answer. For every
    worker it averages over all accuracies (for numbers, over all sizes of its errors), weighted by
    their posterior. It learns the distribution of accuracies in the crowd, and the frequencies of
    the truths, from all reports. Its error is close to that of the best other method on each data
    set and at each epsilon, and its confidences are close to calibrated if workers err
    independently. Non-private answers are reports without noise.

    - **Labels**: reports of a public table, also with NULL as a label, and with secret flip
      probabilities of the workers; and reports that are sets of labels. ``truths`` have the
      probability of the label as ``confidence``. ``workers`` have a column ``flag``: "constant",
      "random", "opposite" or "unrandomized" for reports that look like those of no honest worker.
    - **Numbers**: reports with Laplace noise of a public scale, also if unanswered tasks are filled
      in, with or without a noisy participation bit; and bounded reports, like those of
      `PiecewiseMechanism`. ``standard_error`` is the standard deviation of the posterior;
      ``workers`` have a column ``error_sd`` with an interval.

    ``estimate.posterior`` has the probability of every label, or quantiles of every number.
    Assumptions and limits: ``research/docs/noise-aware.md``.

    Parameters
    ----------
    prior : mapping of label to float, optional
        Known frequencies of labels among the truths; labels without one share the rest. Learned by
        default. Only for labels.
    shared_errors : "learn", False or float
        Errors that most workers share. By default they have the size that other crowds teach, and
        known truths correct it. A number is their known size: for labels the probability that the
        truth differs from what the workers agree on, at most .9; for numbers the standard deviation
        of that difference, in the unit of the answers. With False, workers are assumed to err
        independently, and confidences are too high if they do not.
    groups : bool
        Whether to search for groups of workers who agree more than the truths explain, such as
        copies of one account. The reports of a group count like one source, and the workers
        have the flag "group 1", "group 2" and so on. Only for labels.
    over_time : {"anew", "follow"}
        With "follow", answers come in rounds, and the truths of a task may change from a round to
        the next one: a number by normal steps, a label by a switch. The rate is learned.
        `fit` the first round, and `extend` the estimate by each later one.
    max_iter : int
        Largest number of iterations; more change the estimates little.
    tol : float
        As for every method.

    Raises
    ------
    ParameterError
        If `prior` is not a mapping to numbers of at least 0 and sum at most 1; by `fit`, if it has
        an unknown label, or there are too many workers and labels.

    Notes
    -----
    `fit` with ``init=`` keeps the state of the workers; if the earlier `prior` differs, the
    frequencies of the truths are replaced. `extend` needs an estimate with the same `prior`.

    References
    ----------
    ``research/docs/theory/noise-aware-labels.md``, ``research/docs/theory/noise-aware-numbers.md``.
    Error and calibration: ``research/docs/truth-under-noise.md``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> from quietcrowd.exceptions import SimulatedNoiseWarning
    >>> warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.make_crowd(tasks=300, workers=50, random_state=1)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> reports = mechanism.simulate(crowd.answers, random_state=1)
    >>> estimate = qc.NoiseAware().fit(reports)
    >>> qc.error_rate(estimate, crowd.truths) < 0.25
    True
    >>> sorted(estimate.posterior.columns)
    ['label', 'probability', 'task']
    """

    name: ClassVar[str] = "noise-aware"
    errors_from_model: ClassVar[bool] = True
    enough_at_limit: ClassVar[bool] = True
    reads_mixed: ClassVar[bool] = True
    suggests_tasks: ClassVar[bool] = True
    prior: Any = field(
        default=None, converter=as_label_frequencies, validator=check_label_frequencies
    )
    shared_errors: str | float = field(default=LEARN, converter=as_choice, validator=check_choice)
    groups: bool = field(default=True, validator=one_of(True, False))
    over_time: str = field(default="anew", validator=one_of("anew", "follow"))
    max_iter: int = field(default=30, converter=plain, validator=whole_number(1))
    tol: float = field(default=1e-5, converter=plain, validator=at_least(0))

    @property
    @override
    def follows_time(self) -> bool:
        return self.over_time == "follow"

    @override
    def to_dict(self) -> dict[str, Any]:
        prior = None if self.prior is None else dict(self.prior)
        return {**super().to_dict(), "prior": prior}

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return isinstance(domain, FiniteDomain) or not isinstance(domain, NumericDomain)

    @override
    def reads_reports(self, channel: Channel) -> bool:
        tables = all(
            part.probabilities is not None or part.sets is not None for part in channel.parts
        )
        return tables or known_grid(channel) is not None

    @override
    def truth_domain(self, mechanism: Any) -> Domain:
        """Return the domain of the answers if the distribution of reports is known."""
        if mechanism.report_distribution is not None or mechanism.channel.sets is not None:
            answers: Domain = mechanism.domain
            return answers
        if len(mechanism.channel.parts) > 1 and known_grid(mechanism.channel) is not None:
            return Interval(low=mechanism.domain.low, high=mechanism.domain.high)
        return super().truth_domain(mechanism)

    @override
    def models_noise(self, mechanism: Any) -> bool:
        if mechanism.options is not None or mechanism.option_counts:
            return True
        if not self._infers_labels_from(mechanism):
            return known_grid(mechanism.worker_channel) is not None
        if mechanism.has_table:
            return True
        return mechanism.channel.sets is not None and mechanism.worker_channel is not None

    @override
    def check_mechanism(self, mechanism: Any) -> None:
        if isinstance(mechanism, Mixture) and not self.models_noise(mechanism):
            names = ", ".join(type(part).__name__ for part in mechanism.parts)
            raise AnswerError("inference.mixture-unreadable", names=names)
        if not self._infers_labels_from(mechanism):
            check_has_grid(mechanism)
        elif not (mechanism.has_table or mechanism.option_counts or mechanism.channel.sets):
            check_has_table(mechanism)

    def _infers_labels_from(self, mechanism: Any) -> bool:
        labels = self.infers_labels(self.truth_domain(mechanism))
        if not labels and self.prior is not None:
            raise ParameterError("inference.prior-needs-labels")
        return labels

    @override
    def domain_of(self, labels: pa.Array) -> Domain:
        if are_whole_floats(labels):
            found = ", ".join(f"{label:g}" for label in sorted(labels.to_pylist())[:_MOST_NAMED])
            raise AnswerError("inference.whole-floats", found=found)
        return Reals() if pa.types.is_floating(labels.type) else labels_of(labels)

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        if self.infers_labels(domain):
            return label_per_task(tasks, truths, check_labels(domain, type(self).__name__))
        return known_numbers(tasks, truths, domain, type(self).__name__)

    @override
    def bind_options(
        self, summary: Summary, answers: Answers, mechanism: Any, known: npt.NDArray[Any]
    ) -> OptionCrowdModel:
        if self.prior is not None:
            raise ParameterError("inference.prior-with-options")
        self._check_shared_errors()
        groups = OptionGroups.of(answers, mechanism, known)
        return OptionCrowdModel.of(self, summary, groups)

    def _check_shared_errors(self) -> None:
        """Raise ParameterError unless the parameter suits labels."""
        if self.shared_errors != LEARN:
            check_between("shared_errors", self.shared_errors, 0.0, MOST_SHARED)

    @override
    def bind(self, summary: Summary, known: npt.NDArray[Any] | None = None) -> Model[Any, Any, Any]:
        """Return a `LabelModel`, `SetModel` or `NumberModel`."""
        if not self.infers_labels(summary.domain):
            if self.prior is not None:
                raise ParameterError("inference.prior-needs-labels")
            check_numeric(summary.domain, "NoiseAware")
            model = bind_numbers(NumberModel(method=self, summary=summary), known)
            if not self.follows_time:  # else as soon as the reports of a round are known
                model.check_size()
            return model
        check_labels(summary.domain, type(self).__name__)
        self._check_shared_errors()
        channel = summary.channel
        if channel is None or channel.table is not None or channel.sets is None:
            return LabelModel(method=self, summary=summary)
        return SetModel(method=self, summary=summary)
