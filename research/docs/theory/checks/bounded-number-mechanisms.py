"""Checks of ``research/docs/theory/bounded-number-mechanisms.md``: prints its blocks, in order."""

from fractions import Fraction

import numpy as np

import quietcrowd as qc
from quietcrowd.mechanisms import DuchiMechanism, HybridMechanism

KINDS = {kind.name: kind for kind in (DuchiMechanism, qc.PiecewiseMechanism, HybridMechanism)}
domain = qc.Interval(low=-1, high=1)
bias, gap = 0.0, 0.0
for kind in KINDS.values():
    for epsilon in (0.5, 1.0, 4.0):
        distribution = kind(domain=domain, epsilon=epsilon, step=2**-5).channel.distribution
        table = distribution.weights(
            np.arange(distribution.reports), np.arange(distribution.steps + 1)[:, np.newaxis]
        )
        assert (table.sum(axis=1) == 2**32).all()
        worst = max(Fraction(int(column.max()), int(column.min())) for column in table.T)
        gap = max(gap, epsilon - float(np.log(float(worst))))
        numbers = [
            Fraction(x)
            for x in distribution.numbers.numbers(np.arange(distribution.reports)).tolist()
        ]
        for place, row in enumerate(table.tolist()):
            mean = sum(w * x for w, x in zip(row, numbers)) / 2**32
            bias = max(bias, abs(float(mean - Fraction(distribution.grid.number(place)))))
print(f"bias below 1e-15: {bias < 1e-15}; loss at most {gap:.0e} below epsilon")


print("epsilon  laplace  duchi  piecewise  hybrid")
for epsilon in (1.0, 2.0, 3.0):
    found = [kind(domain=domain, epsilon=epsilon).channel.variance for kind in KINDS.values()]
    row = [8 / epsilon**2, *found]
    print(f"{epsilon:7g}" + "".join(f"{x:{n}.2f}" for x, n in zip(row, (9, 7, 11, 8))))
    half, whole = np.expm1(epsilon / 2), np.expm1(epsilon)
    formulas = [(1 + 2 / whole) ** 2, 4 / 3 * (half + 1) / half**2]
    assert np.allclose(found[:2], formulas, rtol=2e-3)


tail = {
    name: kind(domain=domain, epsilon=1.0).tail(1e-6, answers=50) for name, kind in KINDS.items()
}
print({name: round(bound.total_epsilon, 1) for name, bound in tail.items()})


from quietcrowd.inference.numbers.bounded_bins import bounded_columns, bounded_distributions
from quietcrowd.inference.numbers.report_bins import BINS

distribution = qc.PiecewiseMechanism(domain=domain, epsilon=2.0).channel.distribution
columns = bounded_columns(distribution, np.arange(distribution.reports))
distributions = bounded_distributions(distribution)
total = sum(np.exp(distributions.logs[column : column + BINS]) for column in columns)
print(
    f"the probabilities of all {distribution.reports} reports sum to 1 within {np.abs(total - 1).max():.0e}"
)
