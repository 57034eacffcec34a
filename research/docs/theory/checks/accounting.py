"""Checks of ``research/docs/theory/accounting.md``: prints its blocks, in order."""

import math

import quietcrowd as qc


def exact_delta(k, n, epsilon):
    keep, other = math.e / (math.e + k - 1), 1 / (math.e + k - 1)
    delta = 0.0
    for i in range(n + 1):
        for j in range(n + 1 - i):
            ways = math.comb(n, i) * math.comb(n - i, j) * ((k - 2) * other) ** (n - i - j)
            one, two = keep**i * other**j, keep**j * other**i
            delta += ways * max(0.0, one - math.exp(epsilon) * two)
    return delta


for k in (2, 4):
    mechanism = qc.RandomizedResponse(domain=qc.Ordinal(range(k)), epsilon=1.0)
    ledger = qc.PrivacyLedger().charge("ann", mechanism, answers=50)
    epsilon = ledger.spent("ann", delta=1e-6).total_epsilon
    print(f"{k} labels: {epsilon:.4f}, where delta is {exact_delta(k, 50, epsilon):.6e}")


import numpy as np
from scipy.stats import binom


def binomial_epsilon(count, weights, delta):
    keep = weights[0, 0] / 2**32
    one = math.log(keep / (1 - keep))
    low, high = count * one * (2 * keep - 1), count * one  # from the mean on
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        start = max(0, math.ceil((middle / one + count) / 2))
        agree = np.arange(start, min(count, start + 10**5) + 1)
        part = -np.expm1(middle - (2 * agree - count) * one)
        found = float(binom.pmf(agree, count, keep) @ part)
        low, high = (low, middle) if found <= delta else (middle, high)
    return high


for claimed in (1.0, 0.001):
    mechanism = qc.RandomizedResponse(domain=qc.Categorical([0, 1]), epsilon=claimed)
    stated = qc.PrivacyLedger().charge("ann", mechanism, answers=10**7).spent("ann", 1e-6)
    exact = binomial_epsilon(10**7, mechanism.channel.weights, 1e-6)
    more = (stated.total_epsilon - exact) / (exact - 10**7 * claimed * math.tanh(claimed / 2))
    print(f"epsilon {claimed}: above the exact loss by less than 0.2 %: {0 <= more < 0.002}")


import itertools

from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.privacy.two_layer.flips import cell_delta

total, k, n, low, high = 256, 3, 4, 10, 100
weights = range(low, high + 1)
rows = {"labels": k, "low": low, "high": high, "total": total}


def probability(reports, answers):
    agree = sum(r == a for r, a in zip(reports, answers, strict=True))
    terms = (((total - (k - 1) * w) / total) ** agree * (w / total) ** (n - agree) for w in weights)
    return sum(terms) / len(weights)


for epsilon in (0.5, 1.0):
    exact = sum(
        max(0, probability(r, (0, 0, 0, 0)) - math.exp(epsilon) * probability(r, (1, 0, 0, 0)))
        for r in itertools.product(range(k), repeat=n)
    )
    print(f"{exact:.6f} {cell_delta(epsilon, n, **rows):.6f}")
for claimed in (1.0, 0.0):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=qc.Categorical([0, 1]), epsilon=claimed
    )
    low, high = mechanism.worker_distribution.bounds
    least = [cell_delta(claimed, n, labels=2, low=low, high=high) for n in (5, 277)]
    print(f"claimed {claimed}: delta is", *(f"{delta:.3f}" for delta in least))
