"""Checks of ``research/docs/theory/sparse-answers.md``: prints its blocks, in order."""

import numpy as np

import quietcrowd as qc
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

stars = qc.Ordinal(range(10))
two_layer = TwoLayerRandomizedResponse(
    domain=stars, epsilon=1.0, distribution="epsilon", missing="category"
)
for tasks in (1, 10, 100, 10_000):
    print(tasks, round(two_layer.guarantee(tasks=tasks).epsilon, 3))


from quietcrowd.mechanisms import MatrixFactorization

domain = qc.Ordinal(range(10))
for variant in ("fill", "statistics", "ridge", "paper"):
    mechanism = MatrixFactorization(domain=domain, epsilon=1.0, variant=variant)
    g = mechanism.guarantee(tasks=200)
    print(f"{variant:10} {g.epsilon:.1f} {g.participation_protected!s:5} {g.claim_holds}")


import itertools

import pyarrow as pa

from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile
from quietcrowd.privacy.sketches import largest_signed_norm, spectral_norm_bound

small = TaskProfile(rank=5, kind="gaussian", seed=0).matrix(pa.array(range(12)))
signs = itertools.product((-1, 1), repeat=12)
worst = max(int(np.abs(np.array(s) @ small).sum()) for s in signs)
print("all signs of 12 tasks:", worst == largest_signed_norm(small) <= spectral_norm_bound(small))
for rank, tasks in ((12, 100), (20, 1000), (20, 10_000)):
    for profile in ("gaussian", "rademacher"):
        rows = TaskProfile(rank=rank, kind=profile, seed=0).matrix(pa.array(range(tasks)))
        bound = spectral_norm_bound(rows) / UNIT
        mechanism = MatrixFactorization(domain=domain, epsilon=1.0, rank=rank, profile=profile)
        named = mechanism.guarantee(tasks=range(tasks)).total_epsilon
        print(f"rank {rank}, {tasks:6,} tasks, {profile:10} {named:8.1f}, bounded by {bound:8.1f}")


from quietcrowd.inference import WeightedMean

crowd = qc.make_crowd(kind="sparse", tasks=50, workers=40, sparsity=0.6, random_state=3)
history = WeightedMean().fit(crowd.answers).history
print(all(b >= a - 1e-9 for a, b in zip(history, history[1:])))  # minus F, per answer
