"""Checks of ``research/docs/theory/glad.md``: prints its blocks, in order."""

import numpy as np

x = np.linspace(-30, 30, 1201)
for xi in (0.01, 0.5, 3.0, 20.0):
    slope = np.tanh(xi / 2) / (4 * xi)
    bound = -np.logaddexp(0, xi) - (x - xi) / 2 - slope * (x**2 - xi**2)
    gap = -np.logaddexp(0, x) - bound
    assert gap.min() > -1e-12


import itertools

import quietcrowd as qc

crowd = qc.make_crowd(
    tasks=300, workers=25, answers_per_task=6, labels=range(3), accuracy=(0.3, 0.9), random_state=3
)
history = qc.GLAD().fit(crowd.answers).history
assert all(after >= before - 1e-9 for before, after in itertools.pairwise(history))
print(f"B per answer from {history[0]:.4f} to {history[-1]:.4f} in {len(history)} steps")
