"""Checks of ``research/docs/theory/facts.md``: prints its blocks, in order."""

import numpy as np

rest, own, other = 0.016, 0.05, 3 * 0.016
of_kind = np.full((10, 10), other) + (own - other) * np.eye(10)
table = np.vstack([of_kind, np.full(10, rest)])
table = np.hstack([table, 1 - table.sum(axis=1, keepdims=True)])


def exceeds(one, another):
    """Return P(loss > ln 3) under the first of two distributions of reports."""
    return float(one[one > 3 * another * (1 + 1e-9)].sum())


pairs = [exceeds(one, another) for one in table for another in table]
print(f"two answers: at most {max(pairs):.3f}")
print(f"the fact: {exceeds(table[:10].mean(axis=0), table[10]):.3f}")
