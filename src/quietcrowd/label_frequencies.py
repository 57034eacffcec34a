"""Prior frequencies of labels, as far as they are publicly known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_real, plain

_DUST = 1e-9
"""Tolerance for sums of floats."""


def as_label_frequencies(prior: Any) -> Any:
    """Return (label, frequency) pairs, sorted by label as text; None for an empty prior."""
    if prior is None or prior == {}:
        return None
    pairs = prior.items() if isinstance(prior, Mapping) else prior
    try:
        found = sorted((str(label), plain(share)) for label, share in pairs)
        if len(dict(found)) < len(found) or isinstance(prior, str):
            raise ValueError
    except (TypeError, ValueError):
        raise ParameterError("answers.prior-not-a-mapping", prior=prior) from None
    return tuple(found)


def check_label_frequencies(_: object, __: object, prior: Any) -> None:
    """Validate pairs of `as_label_frequencies`: numbers of at least 0 that sum to at most 1."""
    for label, share in prior or ():
        check_real(f"prior of {label!r}", share, 0)
    if sum(share for _, share in prior or ()) > 1 + _DUST:
        raise ParameterError("answers.prior-exceeds-1", data=dict(prior))


def label_frequencies(domain: FiniteDomain, prior: Any) -> npt.NDArray[np.float64]:
    """Return the frequency of each label; those without a number share the rest."""
    known = dict(prior or {})
    names = [str(label) for label in domain.labels]
    unknown = sorted(known.keys() - set(names))
    if unknown:
        raise ParameterError("answers.prior-label-unknown", unknown=unknown[0], names=names)
    given = np.array([known.get(name, np.nan) for name in names], np.float64)
    rest = 1.0 - np.nansum(given)
    if rest > _DUST and not np.isnan(given).any():
        raise ParameterError("answers.prior-not-1", known=known, value=1.0 - rest)
    shares: npt.NDArray[np.float64] = np.where(
        np.isnan(given), max(rest, 0.0) / max(np.isnan(given).sum(), 1), given
    )
    return shares
