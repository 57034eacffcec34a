"""Workers whose reports have a distribution, for tests of what is believed of a crowd."""

import numpy as np

import quietcrowd as qc
from quietcrowd.inference.labels.reports import WorkerReports
from quietcrowd.inference.partition import Summary


def reports_of(labels, workers=6, mechanism=None):
    """Return the reports of workers with 20 each; through a mechanism, made of the domain."""
    domain = qc.Categorical(list(range(labels)))
    made = None if mechanism is None else mechanism(domain)
    return WorkerReports.of(
        Summary(
            domain=domain,
            answers_per_worker=np.full(workers, 20),
            tasks=40,
            longest_task=workers,
            channel=None if made is None else made.channel,
            report_distribution=None if made is None else made.report_distribution,
        )
    )
