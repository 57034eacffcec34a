"""What mechanisms for labels share: NULL, "no answer", as one more label, or not at all."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import MAX_SIZE
from quietcrowd.mechanisms.parameters import at_least_two_labels
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism
from quietcrowd.report_domains import OrNull
from quietcrowd.validation import one_of

__all__ = ["LabelMechanism"]

Null: TypeAlias = Literal["category"] | None


def _fits(mechanism: Any, _: Any, null: Null) -> None:
    if null is not None and mechanism.domain.size >= MAX_SIZE:
        raise ParameterError(
            f"domain must have at most {MAX_SIZE - 1:,} labels beside NULL; "
            f"got {mechanism.domain.size:,}"
        )


@frozen(kw_only=True, slots=False)
class LabelMechanism(TaskwiseMechanism):
    """A mechanism whose reports are labels.

    Attributes
    ----------
    domain : Categorical or Ordinal
        At least two labels.
    null : {None, "category"}
        What becomes of a task without an answer: no report, or NULL as one more label.
    """

    domain: FiniteDomain = field(validator=at_least_two_labels)
    null: Null = field(default=None, validator=[one_of(None, "category"), _fits])

    @property
    def every_task(self) -> bool:
        """Whether every worker reports every task; see `Mechanism.every_task`."""
        return self.null is not None

    @property
    def report_domain(self) -> Domain:
        """What a report can be: a label, or NULL where that is one."""
        return self.domain if self.null is None else OrNull(domain=self.domain)

    @property
    def size(self) -> int:
        """How many values a report can have."""
        return self.domain.size + (self.null is not None)
