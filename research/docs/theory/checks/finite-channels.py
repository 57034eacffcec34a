"""Checks of ``research/docs/theory/finite-channels.md``: prints its blocks, in order."""

import math

import quietcrowd as qc

worst = 0.0
for k in (2, 3, 10, 64):
    for epsilon in (0.01, 0.5, 1.0, 5.0, 10.0):
        mechanism = qc.RandomizedResponse(domain=qc.Ordinal(range(k)), epsilon=epsilon)
        exact = mechanism.guarantee().epsilon
        assert exact <= epsilon
        worst = max(worst, epsilon - exact)
print(f"largest gap {worst:.1e}")


import quietcrowd as qc
from quietcrowd.task_options import TaskOptions

options = TaskOptions.read({"capital": ["Bern", "Basel"], "river": ["Rhine", "Aare", "Rhone"]})
mechanism = qc.RandomizedResponse(domain=options.domain, epsilon=1.0).for_options(options)
for m in (2, 3):
    plain = qc.RandomizedResponse(domain=qc.Ordinal(range(m)), epsilon=1.0)
    assert mechanism.channel_for(m) == plain.channel
print(mechanism.guarantee().epsilon <= 1.0)


channel = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0).channel
keep, other = channel.keep_and_other
q = 0.8
r = other + (keep - other) * q
assert math.isclose(((math.e + 1) * r - 1) / (math.e - 1), q, rel_tol=1e-8)
