"""Mixtures: the mechanisms of reports that are read together, and that of non-private answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from attrs import Factory, evolve, field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import (
    Domain,
    FiniteDomain,
    Interval,
    Ordinal,
    check_finite,
    check_numeric,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import TOTAL, Channel
from quietcrowd.mechanisms.channels.bounded_distribution import BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import Floats
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution
from quietcrowd.mechanisms.channels.table import MAX_SIZE
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import Randomness
from quietcrowd.privacy.guarantee import (
    ABOUT_TASKS,
    PrivacyGuarantee,
    Tasks,
    check_counts,
    check_linked,
)
from quietcrowd.report_domains import OneOf, stored_codes

ONE_PART = "each worker uses one of the mechanisms for all answers"


class _Descriptive(Mechanism):
    """A mechanism that describes reports, and makes none."""

    randomizes: ClassVar[bool] = False

    @override
    def _randomize(self, answers: Answers, rng: Randomness) -> NoReturn:
        raise ParameterError("mechanisms.makes-no-reports", type_name=type(self).__name__)


@frozen(kw_only=True)
class IdentityChannel(Channel):
    """Channel that reports the answers: labels, or places on a grid."""

    labels: int = 0
    grid: Grid | None = None

    @property
    @override
    def epsilon(self) -> float:
        return math.inf

    @property
    @override
    def probabilities(self) -> Floats | None:
        return np.eye(self.labels) if self.labels else None

    @property
    @override
    def bounded_distribution(self) -> BoundedDistribution | None:
        if self.grid is None:
            return None
        ends = (0, self.grid.steps)
        return BoundedDistribution(
            grid=self.grid, base=0, window=1, lift=TOTAL, ends=ends, least=0, slope=0
        )


@frozen(kw_only=True, slots=False)
class NonPrivate(_Descriptive):
    """Non-private answers, described as reports, to be joined with reports of other mechanisms.

    Their privacy loss is infinite. If `as_numbers`, they are rounded to the public grid of the
    domain; by default levels are labels.
    """

    name: ClassVar[str] = "non-private"

    domain: Domain
    as_numbers: bool = field(
        default=Factory(lambda self: not isinstance(self.domain, FiniteDomain), takes_self=True)
    )

    @cached_property
    @override
    def channel(self) -> IdentityChannel:
        if self.as_numbers:
            assert isinstance(self.domain, Ordinal | Interval)
            return IdentityChannel(grid=Grid.over(self.domain))
        return IdentityChannel(labels=check_finite(self.domain, type(self).__name__).size)

    @property
    @override
    def report_domain(self) -> Domain:
        numbers = self.channel.bounded_distribution
        return self.domain if numbers is None else numbers.numbers

    def reports_of(self, answers: Answers) -> Reports:
        """Return answers in the domain as reports."""
        self.check_domain(answers.domain)
        if answers.options is not None:
            raise _not_joinable(self, "each task has its own options")
        values, grid = answers.values, self.channel.grid
        if grid is not None:
            places = grid.places(check_numeric(self.domain, self.name).numbers(values))
            values = places.astype(self.report_domain.dtype)
        return Reports(table=answers.with_values(self.report_domain, values), mechanism=self)

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        return PrivacyGuarantee(
            answers=answers,
            epsilon=math.inf,
            total_epsilon=math.inf,
            linked=check_linked(linked, check_counts(answers, tasks)),
            participation_protected=False,
            claimed_epsilon=math.inf,
            claimed_by_paper=False,
            assumptions=ABOUT_TASKS,
            source="docs/theory/finite-channels.md",
        )


@frozen(kw_only=True)
class MixedChannel(Channel):
    """Channels of reports that state which channel they are of: a report is a value of `OneOf`."""

    channels: tuple[Channel, ...]

    @property
    @override
    def parts(self) -> tuple[Channel, ...]:
        return self.channels

    @property
    @override
    def epsilon(self) -> float:
        return max(part.epsilon for part in self.parts)


def _listed(mechanism: Mechanism) -> ReportDistribution | None:
    """Return the table of a mechanism with sets as reports; None for others, and for many sets."""
    sets = mechanism.channel.sets
    if sets is None or sets.count > MAX_SIZE:
        return None
    answers, ranks = np.arange(sets.labels)[:, np.newaxis], np.arange(sets.count)
    return ReportDistribution(
        chances=np.ones(1),
        tables=np.exp(sets.log_likelihood(ranks, answers))[np.newaxis],
        loss=float(sets.epsilon),
    )


def _described(mechanism: Mechanism) -> str:
    if not hasattr(type(mechanism), "name"):
        raise _not_joinable(mechanism, "its class has no name")
    return json.dumps(mechanism.to_dict(), sort_keys=True)


def _not_joinable(mechanism: Mechanism, reason: str) -> ParameterError:
    return ParameterError(
        "mechanisms.not-joinable", type_name=type(mechanism).__name__, reason=reason
    )


def _distinct(parts: Iterable[Mechanism]) -> tuple[Mechanism, ...]:
    by_description = {_described(part): part for part in parts}
    return tuple(by_description[text] for text in sorted(by_description))


def check_joinable(mechanism: Mechanism) -> None:
    """Raise ParameterError if reports of a mechanism cannot be joined with others.

    Each report must be one integer, with a known distribution given its answer.
    """
    if mechanism.options is not None or mechanism.option_counts:
        reason = "each task has its own options"
    elif mechanism.every_task:
        reason = "tasks without an answer are reported too"
    elif mechanism.worker_channel is None and mechanism.report_distribution is None:
        reason = "the distribution of a worker's reports is not known"
    elif stored_codes(mechanism.report_domain) is None:
        reason = "its reports are not integers"
    else:
        return
    raise _not_joinable(mechanism, reason)


def _check_parts(mixture: Mixture, _: Any, parts: tuple[Mechanism, ...]) -> None:
    for part in parts:
        part.check_domain(mixture.domain)
        check_joinable(part)


@frozen(kw_only=True, slots=False)
class Mixture(_Descriptive):
    """Mechanisms of reports that are read together: each report states which one made it.

    `join_reports` makes it. It has no reports of its own: each worker uses one of the `parts`, or
    several for different tasks. A report is a value of `OneOf`. The order of `parts` does not
    depend on how they are given.

    Guarantee
    ---------
    The largest loss of any part, for a worker who uses one of them.
    """

    name: ClassVar[str] = "mixture"

    parts: tuple[Mechanism, ...] = field(converter=_distinct, validator=_check_parts)

    @classmethod
    def of(cls, mechanisms: Iterable[Mechanism]) -> Mechanism:
        """Return the mixture of mechanisms over one domain; the mechanism if all are equal."""
        parts = _distinct(mechanisms)
        return parts[0] if len(parts) == 1 else cls(domain=parts[0].domain, parts=parts)

    @cached_property
    @override
    def report_domain(self) -> OneOf:
        return OneOf(parts=tuple(part.report_domain for part in self.parts))

    @cached_property
    @override
    def channel(self) -> MixedChannel:
        return MixedChannel(channels=tuple(part.channel for part in self.parts))

    @property
    @override
    def worker_channel(self) -> Channel | None:
        secret = any(part.worker_channel is None for part in self.parts)
        return None if secret else self.channel

    @cached_property
    @override
    def report_distribution(self) -> ReportDistribution | None:
        """Tables of all parts, side by side; None if one has none, or more than 4,096 reports."""
        found = []
        for part in self.parts:
            own = part.report_distribution or _listed(part)
            if own is None or own.tables.shape[2] > MAX_SIZE:
                return None
            found.append(own)
        return ReportDistribution.side_by_side(tuple(found))

    @property
    @override
    def channel_identity(self) -> Mapping[str, Any]:
        return {"parts": [part.channel_identity for part in self.parts]}

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        found = [part.guarantee(answers, tasks, linked=linked) for part in self.parts]
        names = ("epsilon", "linked_epsilon", "total_epsilon", "delta", "claimed_epsilon")
        worst = max(found, key=lambda one: one.total_epsilon)
        return evolve(
            worst,
            **{name: max(getattr(one, name) for one in found) for name in names},
            assumptions=(ONE_PART, *worst.assumptions),
        )

    @override
    def _parameters(self) -> dict[str, Any]:
        return {"parts": [part.to_dict() for part in self.parts]}

    @classmethod
    @override
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mixture:
        return cls(domain=domain, parts=map(Mechanism.from_dict, parameters["parts"]))
