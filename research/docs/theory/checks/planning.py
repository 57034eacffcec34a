"""Checks of ``research/docs/theory/planning.md``: prints its blocks, in order."""

import numpy as np

rng = np.random.default_rng(1)
tasks, share = 400, 0.1
errors = rng.binomial(tasks, share, 200_000) / tasks
scale = np.arcsin(np.sqrt((errors * tasks + 0.375) / (tasks + 0.75)))
print(round(scale.var() * 4 * tasks, 2))


import numpy as np

from quietcrowd.planning.theory import chernoff_information

one, other = np.array([0.7, 0.3]), np.array([0.3, 0.7])
rng = np.random.default_rng(0)
for reports in (20, 40):
    wrong = (rng.binomial(reports, 0.3, 10**6) >= reports / 2).mean()
    print(reports, wrong < np.exp(-reports * chernoff_information(one, other)))


import numpy as np
from scipy.stats import binom

import quietcrowd as qc
from quietcrowd.planning import CrowdSize, LabelCrowd
from quietcrowd.planning.error_interval import smooth
from quietcrowd.planning.theory import theory_error

yes_no = qc.Categorical(["no", "yes"])
alike = LabelCrowd(domain=yes_no, accuracy=0.8, accuracy_sd=0, guessers=0, misled=0)
exact, theory = [], []
for votes in (11, 21, 41):
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        mechanism = qc.RandomizedResponse(domain=yes_no, epsilon=epsilon)
        right = np.array([0.8, 0.2]) @ mechanism.channel.probabilities[:2, 0]
        exact.append(binom.cdf(votes // 2, votes, right))
        size = CrowdSize(tasks=100, workers=votes, answers=100)
        theory.append(theory_error(alike, size, mechanism))
scale, place = np.arcsin(np.sqrt(exact)), np.arcsin(np.sqrt(theory))
curve = np.polynomial.Polynomial.fit(place, scale, 2)
print("error of the curve is below .005:", np.abs(curve(place) - scale).max() < 0.005)

rng, off = np.random.default_rng(0), []
for _ in range(300):
    draws = scale[:, np.newaxis] + 0.05 * rng.normal(size=(12, 12))
    means = [cell.draws.mean() for cell in smooth(draws, list(place))]
    off.append([means - scale, draws.mean(axis=1) - scale])
smoothed, raw = np.sqrt(np.mean(np.square(off), axis=(0, 2)))
print("error relative to that of the means:", round(smoothed / raw, 1))
