"""Mechanisms of campaigns: parse descriptions, and decode reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channel_config import ReportRule, describe_channel, report_rule
from quietcrowd.domains import Domain
from quietcrowd.exceptions import FormatError, QuietcrowdError, RemovedMechanismError
from quietcrowd.mechanisms import MatrixFactorization, Mechanism

__all__ = [
    "UNREADABLE",
    "decoded",
    "parse_mechanism",
    "stored_rule",
    "usable_mechanism",
    "why_not_in_page",
]

_MOST_LEVELS = 1_000
_IN_PAGE = ("fill", "statistics")
UNREADABLE = (QuietcrowdError, ArithmeticError, AttributeError, TypeError, ValueError)
"""Exceptions that an invalid description may raise."""


def usable_mechanism(described: Mapping[str, Any]) -> Mechanism:
    """Return a described mechanism if a campaign can use it; otherwise raise `FormatError`.

    The message does not quote the description. Mechanisms of earlier versions raise
    `RemovedMechanismError`.
    """
    domain = described.get("domain")
    levels = (
        [len(one) for one in domain.values() if isinstance(one, list)]
        if isinstance(domain, dict)
        else []
    )
    try:
        if max(levels, default=0) > _MOST_LEVELS:
            raise ValueError
        mechanism = Mechanism.from_dict(described)
        report_rule(mechanism, 1)
        canonical_json(mechanism.to_dict())
        canonical_json(describe_channel(mechanism))
        return mechanism
    except RemovedMechanismError:
        raise
    except UNREADABLE:
        raise FormatError(
            "It must be what Mechanism.to_dict gives, of a mechanism whose reports a campaign can "
            "take in: at most 64 labels, 20,000 numbers of a sketch, whole numbers below 2^53."
        ) from None


def why_not_in_page(mechanism: Mechanism) -> str | None:
    """Return why a web page cannot run a mechanism, and a remedy; None if it can.

    ``whyNot`` in ``campaign/web/worker/mechanisms/draw.js`` rejects the same mechanisms.
    """
    if not isinstance(mechanism, MatrixFactorization) or mechanism.variant in _IN_PAGE:
        return None
    return (
        f'Workers answer in a page, and variant "{mechanism.variant}" solves for numbers that no '
        'page can compute to the last digit. Take variant "fill" or "statistics".'
    )


@lru_cache(maxsize=256)
def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism of a stored description."""
    return Mechanism.from_dict(json.loads(text))


def stored_rule(text: str, tasks: int = 1) -> ReportRule:
    """Return the range of a stored mechanism's reports.

    The length and the type of a sketch do not depend on `tasks`, but its bounds do.
    """
    return report_rule(parse_mechanism(text), tasks)


def decoded(domain: Domain, codes: Sequence[int]) -> pa.Array:
    """Decode stored values of reports into labels or numbers."""
    dtype: np.dtype[Any] = domain.dtype
    return domain.decode(np.array(codes, dtype))
