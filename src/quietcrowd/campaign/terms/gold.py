"""Known truths of tasks, as the campaign's answers have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quietcrowd.campaign.terms.task_files import TaskRow
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import FormatError

__all__ = ["encode_gold"]


def encode_gold(domain: Domain, rows: Sequence[TaskRow]) -> list[str | None]:
    """Return known truths as they are stored, in JSON; None where there is none.

    Parameters
    ----------
    domain : Domain
        Of answers.
    rows : sequence of TaskRow
        Their truths are labels or numbers, or texts that spell one.

    Raises
    ------
    FormatError
        Where a truth is outside of the domain: the message names the row, and not the truth.
    """
    stored: list[str | None] = []
    for row in rows:
        known = None if row.gold is None else _known(domain, row.gold)
        if row.gold is not None and known is None:
            raise FormatError(f"row {row.row}: gold must be one of the campaign's possible answers")
        stored.append(None if known is None else json.dumps(known))
    return stored


def _known(domain: Domain, gold: Any) -> Any:
    if isinstance(domain, FiniteDomain):
        code = domain.code(gold)
        return None if code is None else domain.labels[code]
    try:
        number = float(gold)
    except (OverflowError, ValueError):
        return None
    return number if domain.low <= number <= domain.high else None  # type: ignore[attr-defined]
