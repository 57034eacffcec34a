"""Checks of ``research/docs/theory/two-layer.md``: prints its blocks, in order."""

import math

import quietcrowd as qc
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

for claimed in (1.0, 0.5, 0.0):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=qc.Categorical([0, 1]), epsilon=claimed
    )
    exact = [mechanism.guarantee(answers=n).epsilon for n in (1, 5, 26, 277, 1834)]
    print(f"claimed {claimed}:", " ".join(f"{epsilon:.3f}" for epsilon in exact))


import numpy as np

from quietcrowd.accounting.calibration import two_layer_bounds
from quietcrowd.privacy.loss_grid import compose_losses
from quietcrowd.privacy.two_layer.rows import own_row_distributions

labels, made_for = qc.Categorical([0, 1]), two_layer_bounds(1.0, 277, labels=2)
for low, high in ((0.0, 2 / (1 + math.e)), made_for):
    mechanism = TwoLayerRandomizedResponse(domain=labels, low=low, high=high)
    distributions = list(own_row_distributions(mechanism.worker_distribution.row_chances(277)))
    own = [compose_losses([(distribution, 1)], 1e-6) for distribution in distributions]
    ledger = qc.PrivacyLedger().charge("ann", mechanism, answers=277)
    pure, at_delta = (ledger.spent("ann", delta).total_epsilon for delta in (0.0, 1e-6))
    print(f"low {low:.3f}: {pure:.1f}, at delta {at_delta:.1f};", end=" ")
    print(f"opposite rows {own[-1]:.1f}, worst rows {max(own):.1f} ({np.argmax(own) + 1} places)")


import itertools
from fractions import Fraction

from quietcrowd.privacy.two_layer.flips import row_chances
from quietcrowd.privacy.two_layer.rows import row_distribution

total, k, n, low, high = 256, 3, 4, 10, 100


def chance(reports, answers):
    agree = sum(r == a for r, a in zip(reports, answers, strict=True))
    weights = range(low, high + 1)
    terms = (Fraction(total - (k - 1) * w) ** agree * Fraction(w) ** (n - agree) for w in weights)
    return sum(terms) / len(weights) / total**n


distribution = row_distribution(row_chances(n, labels=k, low=low, high=high, total=total))
reports = list(itertools.product(range(k), repeat=n))
for epsilon in (0.5, 1.5, 2.5):
    factor = Fraction(math.exp(epsilon))
    worst = max(
        sum(max(0, chance(r, (0,) * n) - factor * chance(r, row)) for r in reports)
        for row in ((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 1, 1))
    )
    stated = np.sum(distribution.masses * np.maximum(0, 1 - np.exp(epsilon - distribution.losses)))
    print(f"{float(worst):.4f} <= {stated:.4f}")


import itertools
import math
from fractions import Fraction

from quietcrowd.privacy.two_layer.flips import cell_epsilon, row_epsilon

total, k, n, low, high = 256, 3, 4, 10, 100


def likelihood(reports, answers):
    agree = sum(r == a for r, a in zip(reports, answers, strict=True))
    return sum(
        Fraction(total - (k - 1) * w) ** agree * Fraction(w) ** (n - agree)
        for w in range(low, high + 1)
    )


rows = list(itertools.product(range(k), repeat=n))
start, neighbor = (0, 0, 0, 0), (1, 0, 0, 0)
cell = max(abs(math.log(likelihood(r, start) / likelihood(r, neighbor))) for r in rows)
of_answers = [likelihood(start, answers) for answers in rows]
row = math.log(max(of_answers) / min(of_answers))
grid = {"labels": k, "low": low, "high": high, "total": total}
print(f"one answer {cell:.4f} <= {cell_epsilon(n, **grid):.4f}")
print(f"all answers {row:.4f} <= {row_epsilon(n, **grid):.4f}")


for distribution in ({}, {"distribution": "beta", "alpha": 2, "beta": 2}):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=qc.Categorical([0, 1]), epsilon=1.0, **distribution
    )
    exact = [mechanism.guarantee(answers=n).epsilon for n in (1, 5, 26, 277, 1834)]
    print(" ".join(f"{epsilon:.3f}" for epsilon in exact))


mechanism = TwoLayerRandomizedResponse(
    domain=qc.Categorical([0, 1]), low=0.1, high=0.9, distribution="beta", alpha=2, beta=3
)
table, n = mechanism.worker_distribution.table, 3
chances = [sum((2**32 - w) ** c * w ** (n - c) for w in table) for c in range(n + 1)]
cell = max(abs(math.log(Fraction(chances[c + 1], chances[c]))) for c in range(n))
row = math.log(Fraction(max(chances), min(chances)))
stated = mechanism.guarantee(answers=n)
print(f"one answer {cell:.4f} <= {stated.epsilon:.4f}")
print(f"all answers {row:.4f} <= {stated.total_epsilon:.4f}")
