"""Checks of ``research/docs/theory/shuffling.md``: prints its blocks, in order."""

import math
from itertools import combinations_with_replacement, product

import numpy as np

import quietcrowd as qc
from quietcrowd.privacy.shuffling import (
    KeepOrReplace,
    blanket_delta,
    clones_delta,
    exact_delta,
    fewest_others,
    shuffled_loss,
)


def response(size, epsilon):
    other = 1 / (math.exp(epsilon) + size - 1)
    return KeepOrReplace(size=size, keep=math.exp(epsilon) * other, other=other)


def table_of(mechanism):
    same = np.eye(mechanism.size, dtype=bool)
    return np.where(same, mechanism.keep, mechanism.other)


def enumerated(table, others, epsilon):
    """Return the largest divergence of two answers over all answers of the other workers."""
    most = 0.0
    for answers in combinations_with_replacement(range(len(table)), others):
        distributions = ({}, {})
        for own, distribution in enumerate(distributions):
            for reports in product(range(table.shape[1]), repeat=others + 1):
                p = math.prod(table[one] for one in zip((own, *answers), reports))
                seen = tuple(sorted(reports))
                distribution[seen] = distribution.get(seen, 0.0) + p
        parts = [
            p - math.exp(epsilon) * distributions[1][seen] for seen, p in distributions[0].items()
        ]
        most = max(most, sum(part for part in parts if part > 0))
    return most


for size, local, others, epsilon in (
    (2, 1, 4, 0.1),
    (2, 2, 6, 0.5),
    (3, 1, 3, 0.1),
    (4, 2, 3, 0.5),
):
    mechanism = response(size, local)
    true = enumerated(table_of(mechanism), others, epsilon)
    bounds = [blanket_delta(mechanism, others, epsilon), clones_delta(local, others, epsilon)]
    if size == 2:
        assert 0 <= exact_delta(mechanism.keep, others, epsilon) - true < 1e-12
    assert true <= bounds[0] + 1e-12 and bounds[0] <= bounds[1]
    print(
        f"{size} labels, loss {local}, {others} others: {true:.4f} <= {bounds[0]:.4f}, {bounds[1]:.4f}"
    )


mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(4)), epsilon=1.0, set_size=2)
table = np.exp(mechanism.channel.log_likelihood(*np.meshgrid(np.arange(6), np.arange(4))))
assert np.allclose(table.sum(axis=1), 1)
for others in (1, 2, 3):
    true = enumerated(table, others, 0.2)
    bound = clones_delta(mechanism.channel.epsilon, others, 0.2)
    assert true <= bound
    print(f"sets, loss 1, {others} other(s): {true:.4f} <= {bound:.4f}")


for size, local, others in (
    (2, 1, 100),
    (2, 1, 1000),
    (2, 1, 10_000),
    (2, 3, 1000),
    (10, 1, 1000),
    (10, 3, 1000),
):
    found = shuffled_loss(local, others, 1e-7, response(size, local))
    general = shuffled_loss(local, others, 1e-7)
    print(
        f"{size:2} labels, loss {local}, {others:6,} others: {found.epsilon:.3f} ({found.bound}), "
        f"by clones {general.epsilon:.3f}"
    )


def published(local, honest, delta):
    """Return the closed form of Feldman, McMillan and Talwar, or None outside its range."""
    if local > math.log(honest / (16 * math.log(2 / delta))):
        return None
    e = math.exp(local)
    part = 8 * math.sqrt(e * math.log(4 / delta) / honest) + 8 * e / honest
    return math.log1p((e - 1) / (e + 1) * part)


for local in (0.5, 1, 2, 4, 6):
    row = []
    for honest in (100, 1000, 10_000, 100_000, 1_000_000):
        ours, closed = (
            shuffled_loss(local, honest - 1, 1e-6).epsilon,
            published(local, honest, 1e-6),
        )
        assert closed is None or ours <= min(closed, local)
        row.append(f"{ours:.3f} <= {closed:.3f}" if closed else f"{ours:.3f} <= -----")
    print(f"loss {local:3}, lower from n ={fewest_others(local, 1e-6) + 1:5,}:", ", ".join(row))
