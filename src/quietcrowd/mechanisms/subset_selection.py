"""Subset selection: a report is a set of labels that contains the answer more often than others."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from attrs.validators import optional
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms.channels.integer_weights import SetChannel
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution, best_members
from quietcrowd.mechanisms.label_mechanism import at_least_two_labels, require_epsilon
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import Randomness, Secret, word_source
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism, cell_name, cells_of, fixed_table
from quietcrowd.privacy.guarantee import Tasks, check_counts
from quietcrowd.privacy.loss import ReleaseLoss
from quietcrowd.report_domains import LabelSets
from quietcrowd.validation import number, plain, whole_number


def _loss_of_labels(_: Any, attribute: Any, value: float) -> None:
    require_epsilon(attribute.name, value)


@frozen(kw_only=True, slots=False)
class SubsetSelection(TaskwiseMechanism):
    """Subset selection: a set of d of the k labels that favors the answer.

    All sets with the answer are equally likely, and so are all others. A set with the answer is
    ``exp(epsilon)`` times as likely as one without. With many labels and a small epsilon a set is
    more informative than the label of `RandomizedResponse` at the same loss; ``d = 1`` is
    randomized response. A report is the number of a set, below 2^53; ``report_domain.members_of``
    lists its labels.

    Parameters
    ----------
    domain : Categorical or Ordinal
        ``k >= 2`` labels.
    epsilon : float
        Privacy loss of one answer, natural logarithm, 0 to 16. At 0 a report reveals nothing.
    set_size : int, optional
        Number d of labels in a set, 1 to k - 1. By default the best one for estimating frequencies,
        near ``k / (1 + exp(epsilon))``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there would be more than 2^53 sets.

    Guarantee
    ---------
    Pure and exact: ln of the ratio of two integers, ``channel.sets.ratio``, rounded up; never above
    the requested epsilon. The loss about n answers is n times as much. Participation is not
    protected: reports exist where answers exist.

    References
    ----------
    M. Ye, A. Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally
    Differential Privacy", IEEE Transactions on Information Theory, 2018; S. Wang et al., "Mutual
    Information Optimally Local Private Discrete Distribution Estimation", 2016.
    ``research/docs/theory/subset-selection.md``.

    Examples
    --------
    >>> from quietcrowd import Ordinal
    >>> mechanism = SubsetSelection(domain=Ordinal(range(20)), epsilon=1.0)
    >>> mechanism.guarantee().epsilon <= 1.0
    True
    >>> mechanism.report_domain.members, mechanism.report_domain.size
    (5, 15504)
    """

    name: ClassVar[str] = "subset-selection"
    no_memo: ClassVar[None] = None
    freshness: ClassVar[str] = "randomised once, with fresh random words"
    source: ClassVar[str] = (
        "Ye and Barg, IEEE Trans. Inf. Theory 2018; docs/theory/subset-selection.md"
    )

    domain: FiniteDomain = field(converter=at_least_two_labels)
    epsilon: float = field(converter=number, validator=_loss_of_labels)
    set_size: int | None = field(default=None, converter=plain, validator=optional(whole_number(1)))

    def __attrs_post_init__(self) -> None:
        _ = self.channel  # rejects too many sets

    @property
    @override
    def report_domain(self) -> LabelSets:
        return LabelSets(domain=self.domain, members=self.channel.distribution.members)

    @cached_property
    def channel(self) -> SetChannel:
        """Distribution of a report given its answer, the same for every worker."""
        labels = self.domain.size
        members = self.set_size or best_members(labels, self.epsilon)
        return SetChannel(distribution=SetDistribution.of_epsilon(labels, members, self.epsilon))

    @property
    @override
    def claimed_epsilon(self) -> float:
        return self.epsilon

    @override
    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        distribution = self.channel.distribution.loss_distribution()
        return ReleaseLoss(
            answer=distribution, each=distribution, count=check_counts(answers, tasks)
        )

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        reports = self.channel.sample(answers.values, word_source(rng))
        table = answers.with_values(self.report_domain, reports)
        return Reports(table=table, mechanism=self, simulated=isinstance(rng, np.random.Generator))

    @override
    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        """Draw each report by the words of its task and answer; see `Mechanism.fixed_reports`."""
        cells = cells_of(answers, answers.values, null=0)
        reports = [
            self.channel.sample(
                cells[place : place + 1], secret.words("report", task, cell_name(cells[place]))
            )
            for place, task in enumerate(answers.tasks.to_pylist())
        ]
        return Reports(table=fixed_table(answers, self, np.concatenate(reports)), mechanism=self)

    def _parameters(self) -> dict[str, Any]:
        distribution = self.channel.distribution
        return {
            "epsilon": self.epsilon,
            "set_size": self.set_size,
            "members": distribution.members,
            "inside": distribution.inside,
            "outside": distribution.outside,
        }
