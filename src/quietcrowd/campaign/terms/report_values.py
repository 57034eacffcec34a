"""From the whole numbers of reports to the labels or numbers that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from quietcrowd.domains import Domain

__all__ = ["decoded"]


def decoded(domain: Domain, codes: Sequence[int]) -> pa.Array:
    """Return stored values as the labels or numbers that they stand for."""
    dtype: np.dtype[Any] = domain.dtype  # type: ignore[attr-defined]
    return domain.decode(np.array(codes, dtype))
