"""Checks of ``research/docs/theory/weighted-vote.md``: prints its blocks, in order."""

import itertools

import quietcrowd as qc

crowd = qc.make_crowd(
    tasks=300, workers=25, answers_per_task=6, accuracy=(0.3, 0.9), random_state=3
)
history = qc.WeightedVote().fit(crowd.answers).history
assert all(after >= before - 1e-9 for before, after in itertools.pairwise(history))
print(f"J per answer from {history[0]:.4f} to {history[-1]:.4f} in {len(history)} steps")


import math


def printed(p):
    return (p / math.e + (1 - p) * math.e) ** (3 * math.log(p / (1 - p)))


p = 0.1
exact = 3 * p**2 * (1 - p) + p**3  # at least two of the three answer right, and are inverted
valid = (2 * math.sqrt(p * (1 - p))) ** 3
print(f"exact {exact:.4f}, valid {valid:.4f}")
print(f"printed {printed(p):.4f}, after flipping {printed(1 - p):.4f}")
assert printed(p) < exact <= valid
