"""Checks of ``research/docs/error-bounds.md``: prints its blocks, in order."""

from quietcrowd_research import bounds

for workers in (1, 3, 5, 11):
    crowd = [0.9] * workers
    exact, valid = bounds.vote_error(crowd), bounds.vote_error_bound(crowd)
    printed = bounds.claimed_vote_error_bound(crowd)
    linear = bounds.claimed_vote_error_bound(crowd, linear=True)
    print(f"{workers:2}: exact {exact:.1e}, valid {valid:.1e}, printed {printed:.1e} {linear:.1e}")


import math

import numpy as np

f = 1 / (1 + math.e)  # claimed epsilon 1
edges = np.geomspace(1e-12, (2 * f) ** 3, 20_001)
middles = np.sqrt(edges[1:] * edges[:-1])
density = bounds.claimed_change_density(middles, workers=3, high=2 * f)
mean = (density * middles * np.diff(edges)).sum()
exact = bounds.vote_error(bounds.flipped_accuracy([1.0] * 3, f))
print(f"one layer {f**3:.4f}, two layers on average {mean:.4f}, true change {exact:.4f}")

draws = 2 * f * (np.arange(10_000) + 0.5) / 10_000
one_layer, two_layers = (1 / bounds.worker_importance(flips) for flips in (f, draws))
print(f"valid factor: one layer {one_layer[0]:.3f}, two layers {two_layers.mean():.3f}")


crowd = {"answered": 0.1, "sigma": 1.0, "epsilon": 1.0}
levels = np.arange(10)
theorem_2 = [
    bounds.laplace_error_bound(0.0, fill=levels, sensitivity=width, **crowd) for width in (10, 9)
]
theorem_3 = bounds.claimed_randomized_response_error_bound(0.0, levels=levels, **crowd)
q = 1 / (math.e + 10)  # probability of each label but the answer
at_one = 45 * q + 0.1 * (math.e - 1) * q
mean_answer = sum(math.erfc((x - 0.5) / math.sqrt(2)) / 2 for x in range(1, 10))  # rounded
without_null = (45 * q + 0.1 * (math.e - 1) * q * mean_answer) / (0.9 * 10 * q + 0.1 * (1 - q))
theorem_5 = bounds.claimed_factorization_error_bound(
    factors=100, tasks=1_000, sensitivity=10, epsilon=1
)
print("Theorem 2: {:.2f}, with the width {:.2f}".format(*theorem_2))
print(f"Theorem 3: {theorem_3:.3f}, at one {at_one:.4f}, procedure {without_null:.2f}")
print(f"Theorem 5: {theorem_5:.3f}")
