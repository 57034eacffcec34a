"""Checks of ``research/docs/theory/groups-of-workers.md``: prints its blocks, in order."""

import numpy as np

from quietcrowd.inference.labels.groups.finding import find_groups
from quietcrowd.inference.labels.groups.reports import GroupReports

for copies in (0, 12):
    rng = np.random.default_rng(1)
    truths, source = rng.integers(4, size=(2, 300))
    honest = np.arange(40 + copies)[:, np.newaxis] < 40
    skill = np.where(honest, rng.uniform(0.4, 0.8, (40 + copies, 1)), 0.9)
    follows = rng.random((40 + copies, 300)) < skill
    answers = np.where(
        follows, np.where(honest, truths, source), rng.integers(4, size=(40 + copies, 300))
    )
    task, worker = np.nonzero(rng.random((300, 40 + copies)) < 0.3)
    reports = GroupReports(
        draws=rng.integers(2**64, size=300, dtype=np.uint64)[task],
        workers=worker.astype(np.int32),
        values=answers[worker, task].astype(np.int32),
        known_truths=np.full(len(task), -1, np.int32),
    )
    groups = find_groups(reports, np.eye(4))
    print(copies, [(group.named.tolist(), round(group.following, 2)) for group in groups])
