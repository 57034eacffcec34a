"""Checks of ``research/docs/theory/subset-selection.md``: prints its blocks, in order."""

import math
from itertools import combinations

import numpy as np

import quietcrowd as qc

mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(6)), epsilon=1.0)
distribution = mechanism.channel.sets
sets = [set(one) for one in combinations(range(6), distribution.members)]
weights = np.array(
    [[distribution.inside if a in s else distribution.outside for s in sets] for a in range(6)],
    float,
)
chances = weights / weights.sum(axis=1, keepdims=True)
assert np.allclose(chances.sum(axis=1), 1)
assert math.isclose(np.log(chances.max(axis=0) / chances.min(axis=0)).max(), distribution.epsilon)
held = sum(chance for chance, s in zip(chances[0], sets) if 0 in s)
assert math.isclose(held, distribution.held)
alone = [sum(p for p, s in zip(chances[a], sets) if 0 in s and 1 not in s) for a in (0, 1)]
assert np.allclose(alone, [float(part) for part in distribution.parted])


sizes = {
    (k, e): qc.SubsetSelection(domain=qc.Ordinal(range(k)), epsilon=e).report_domain.members
    for k, e in [(2, 1.0), (10, 1.0), (20, 0.5), (20, 1.0), (20, 3.0), (64, 0.1)]
}
print(sizes)


reports = mechanism.report_domain
assert reports.members_of(np.array([0, reports.size - 1])) == [(0, 1), (4, 5)]
numbers = sorted(sum(math.comb(c, i) for i, c in enumerate(sorted(s), 1)) for s in sets)
assert numbers == list(range(reports.size))


import warnings

import pandas as pd

warnings.simplefilter("ignore")
answers = pd.DataFrame({"task": ["t"] * 40, "worker": range(40), "label": [3] * 40})
reports = mechanism.simulate(qc.Answers.from_frame(answers, mechanism.domain), random_state=1)
estimate = qc.NoiseAware(prior={str(label): 1 / 6 for label in range(6)}).fit(reports)
sets = mechanism.report_domain.members_of(reports.table.values)
held = [sum(label in one for one in sets) for label in range(6)]
assert estimate.posterior.set_index("label")["probability"].idxmax() == np.argmax(held) == 3


held, other = float(distribution.held), float(distribution.held_other)
ranks = np.arange(math.comb(6, distribution.members))
given = [np.exp(mechanism.channel.log_likelihood(ranks, np.full(len(ranks), a))) for a in (2, 5)]
sets = [set(one) for one in mechanism.report_domain.members_of(ranks)]
common = np.array([[len(one & two) for two in sets] for one in sets])
equal = (common - 2 * distribution.members * other + 6 * other**2) / (held - other) ** 2
assert math.isclose(given[0] @ equal @ given[0], 1)
assert abs(given[0] @ equal @ given[1]) < 1e-9
