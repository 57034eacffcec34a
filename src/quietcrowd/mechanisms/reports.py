"""What leaves the workers' devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen
from attrs.validators import instance_of

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["Reports"]


@frozen(kw_only=True, eq=False)
class Reports:
    """Randomised answers and the mechanism that made them, kept together.

    Attributes
    ----------
    table : Answers
        One row per report, in the mechanism's report domain.
    mechanism : Mechanism
        What was done to the answers; public.
    simulated : bool
        Whether the noise came from a simulation: such reports protect nobody.

    Raises
    ------
    AnswerError
        Where the table is not in the report domain.
    """

    table: Answers
    mechanism: Mechanism
    simulated: bool = field(default=False, validator=instance_of(bool))

    def __attrs_post_init__(self) -> None:
        expected = self.mechanism.report_domain
        if self.table.domain != expected:
            raise AnswerError(
                f"the reports are in {self.table.domain.example()}, "
                f"the mechanism gives {expected.example()}"
            )

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"Reports({len(self.table):,} reports, {len(self.table.tasks):,} tasks, "
            f"{len(self.table.workers):,} workers, mechanism={self.mechanism!r}"
            f"{', simulated' * self.simulated})"
        )
