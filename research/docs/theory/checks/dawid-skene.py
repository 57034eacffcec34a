"""Checks of ``research/docs/theory/dawid-skene.md``: prints its blocks, in order."""

import itertools

import quietcrowd as qc

crowd = qc.make_crowd(
    tasks=300, workers=25, answers_per_task=6, labels=range(3), accuracy=(0.3, 0.9), random_state=3
)
for one_coin in (False, True):
    estimate = qc.DawidSkene(one_coin=one_coin).fit(crowd.answers)
    history = estimate.history
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(history))
    print(f"J per answer from {history[0]:.4f} to {history[-1]:.4f} in {len(history)} steps")


import numpy as np

crowds = [
    qc.make_crowd(
        tasks=300,
        workers=300,
        answers_per_task=3,
        labels=range(5),
        accuracy=(0.4, 0.9),
        random_state=seed,
    )
    for seed in range(5)
]
for smoothing, trust in ((0.1, 1.0), (0.1, 0.0), (1.0, 1.0), (1.0, 0.0)):
    method = qc.DawidSkene(smoothing=smoothing, trust=trust)
    rates = [qc.error_rate(method.fit(crowd.answers), crowd.truths) for crowd in crowds]
    print(f"smoothing {smoothing}, trust {trust}: {np.mean(rates):.2f} of the truths are wrong")
