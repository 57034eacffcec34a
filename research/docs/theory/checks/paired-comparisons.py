"""Checks of ``research/docs/theory/paired-comparisons.md``: prints its blocks, in order."""

import numpy as np
from scipy.special import expit

import quietcrowd as qc

domain = qc.Categorical(["left", "right"])
distribution = qc.RandomizedResponse(domain=domain, epsilon=1.0).channel.probabilities
(a, _), (b, _) = distribution
q = (a + b) / 2
print(f"{(a - b) ** 2 / 16 / (q * (1 - q)):.4f}")

d, h = np.linspace(-4, 4, 81), 1e-4


def logs(gap, report):
    return np.log(distribution[0, report] * expit(gap) + distribution[1, report] * expit(-gap))


for report in (0, 1):
    p = expit(d)
    w = expit(d + np.log(distribution[0, report] / distribution[1, report]))
    slope = (logs(d + h, report) - logs(d - h, report)) / (2 * h)
    bend = (logs(d + h, report) - 2 * logs(d, report) + logs(d - h, report)) / h**2
    assert np.abs(slope - (w - p)).max() < 1e-7
    assert np.abs(-bend - (p * (1 - p) - w * (1 - w))).max() < 1e-6


import warnings

import pandas as pd

from quietcrowd.exceptions import SimulatedNoiseWarning

warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose

rng = np.random.default_rng(1)
scores = rng.normal(0, 1, 12)
left = rng.integers(0, 12, 600)
right = (left + rng.integers(1, 12, 600)) % 12
wins = rng.random(600) < expit(scores[left] - scores[right])
columns = {"worker": range(600), "left": left, "right": right, "label": np.where(wins, left, right)}
device = qc.RandomizedResponse(domain=domain, epsilon=1.0)
answers = qc.Answers.from_comparisons(pd.DataFrame(columns))
found = qc.BradleyTerry().fit(device.simulate(answers, random_state=rng))
assert (np.diff(found.history) >= 0).all() and found.converged
