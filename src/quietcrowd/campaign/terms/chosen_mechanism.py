"""Mechanisms that follow from the possible answers and the privacy loss of a person.

A requester chooses the largest loss of all answers of a person, and perhaps a mechanism by name.
The mechanism is derived again whenever the answers, their number or the tasks change, until the
campaign opens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from attrs import asdict, field, frozen

from quietcrowd.accounting.equal_loss import mechanism_within, usual_makers, usual_total
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.domains import Categorical, Domain, FiniteDomain
from quietcrowd.mechanisms import Mechanism

LABELS = ("one-layer", "subset-selection", "optimal", "two-layer")
NUMBERS = ("laplace:fill=none", "laplace", "duchi", "hybrid", "piecewise")
"""Names of mechanisms that plans and campaigns support; the default first."""

_BINARY = (
    "With two possible answers, a device sends the answer or, at random, the other one. No "
    "mechanism is more accurate at the same privacy loss."
)
_LABELS = "By default, a device sends the answer or, at random, another one."
_NUMBERS = (
    "By default, a device adds random noise, and sends nothing for a question without an answer."
)


def _sorted(counts: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if counts is None else tuple(sorted(counts))


@frozen(kw_only=True)
class ChosenMechanism:
    """Total privacy loss and name of the mechanism; None for the defaults.

    `option_counts` is how many options tasks have, if each lists its own.
    """

    total_epsilon: float | None = None
    mechanism_name: str | None = None
    option_counts: tuple[int, ...] | None = field(default=None, converter=_sorted)

    @classmethod
    def read(cls, text: str | None) -> ChosenMechanism | None:
        """Return the stored choice, or None if the mechanism was described instead."""
        return None if text is None else cls(**json.loads(text))

    @property
    def text(self) -> str:
        """The choice in its stored form."""
        return json.dumps(asdict(self))

    def total(self, answers: int) -> float:
        """Return the largest loss of all answers of a person."""
        return usual_total(answers) if self.total_epsilon is None else self.total_epsilon

    def mechanism(self, domain: Mapping[str, Any], answers: int | None, tasks: int) -> Mechanism:
        """Return the mechanism for at most `answers` of each person, None for all tasks.

        Raises ParameterError if there is no such mechanism, and others for an invalid domain.
        """
        most = answers_of_person(answers, tasks)
        text = canonical_json(domain).decode()
        total, counts = self.total(most), self.option_counts or ()
        return _derived(text, total, self.mechanism_name, most, max(tasks, most), counts)


def answers_of_person(answers: int | None, tasks: int) -> int:
    """Return the most answers of a person; one if there are no tasks and no number yet."""
    return max(1, min(answers or tasks, tasks or answers or 1, MAX_REPORTS))


@lru_cache(maxsize=256)
def _derived(
    domain: str,
    total: float,
    name: str | None,
    answers: int,
    tasks: int,
    counts: tuple[int, ...],
) -> Mechanism:
    read = Domain.from_dict(json.loads(domain))
    if counts:
        most = Categorical(range(max(counts)))
        made = _derived(canonical_json(most.to_dict()).decode(), total, name, answers, tasks, ())
        return made.among(read, counts)
    usual = usual_makers(read)
    if name is None:
        [maker] = usual.values()
    else:
        maker = usual[name] if name in usual else Mechanism.registry()[name].from_claimed_epsilon
    return mechanism_within(maker, read, total, "worker", answers=answers, tasks=tasks)


@lru_cache(maxsize=1_024)
def losses(mechanism: str, answers: int | None, tasks: int) -> tuple[float | None, float | None]:
    """Return the loss of one answer and of all of a person under a stored mechanism.

    None for a loss without a bound, as with a delta above 0.
    """
    most = answers_of_person(answers, tasks)
    guarantee = parse_mechanism(mechanism).guarantee(answers=most, tasks=max(tasks, most))
    if guarantee.delta:
        return None, None
    found = (guarantee.epsilon, guarantee.total_epsilon)
    first, last = (loss if math.isfinite(loss) else None for loss in found)
    return first, last


def why_chosen(chosen: ChosenMechanism | None, domain: Domain) -> str:
    """Return in a sentence why a campaign has its mechanism."""
    if chosen is None:
        return "The requester described it."
    if chosen.mechanism_name is not None:
        return "The requester chose it by name."
    if not isinstance(domain, FiniteDomain):
        return _NUMBERS
    return _BINARY if domain.size == 2 else _LABELS
