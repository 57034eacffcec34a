"""Known truths of tasks, as the campaign's answers have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quietcrowd.domains import Domain, FiniteDomain

__all__ = ["encode_gold"]


def encode_gold(domain: Domain, golds: Sequence[Any]) -> list[str | None] | None:
    """Return known truths as they are stored, in JSON; None where one is outside of the domain.

    Parameters
    ----------
    domain : Domain
        Of answers.
    golds : sequence
        Labels or numbers, or texts that spell one; None where a truth is not known.
    """
    stored: list[str | None] = []
    for gold in golds:
        known = None if gold is None else _known(domain, gold)
        if gold is not None and known is None:
            return None
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
