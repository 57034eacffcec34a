"""Checks of ``research/docs/theory/workers-quality.md``: prints its blocks, in order."""

import warnings

import numpy as np

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import ignores_noise

warnings.simplefilter("ignore", SimulatedNoiseWarning)
errors, inside, missing = [], [], []
for seed in range(5):
    crowd = qc.make_crowd(tasks=200, workers=100, answers_per_task=50, random_state=seed)
    frame = crowd.answers.to_frame().merge(crowd.truths.to_pandas(), on="task")
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    reports = mechanism.simulate(crowd.answers, random_state=seed)
    with ignores_noise():
        workers = qc.WeightedVote().fit(reports).workers.set_index("worker")
    right = (frame["label_x"] == frame["label_y"]).groupby(frame["worker"]).mean()
    errors.append(abs(workers["accuracy"] - right).mean())
    inside.append((workers["accuracy_low"] <= right) & (right <= workers["accuracy_high"]))
assert np.mean(errors) < 0.075
assert np.mean(inside) > 0.8  # of accuracies on 100 answers, which vary themselves
