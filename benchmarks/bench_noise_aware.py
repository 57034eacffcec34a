"""What a pass of `NoiseAware` over labels costs, against one of weighted voting."""

import pytest

import quietcrowd as qc
from quietcrowd.inference.reading import Observations
from timing import least_seconds

PER_TASK = 10
LABELS = 4

WANTED = {10: 40.0, 100: 12.0, 1_000: 6.0}
"""Most times the weighted vote's sweep and update, by answers per worker."""


def passes(method, reports):
    """Return a function that sweeps and updates once, from what two passes made of the crowd."""
    model, partition, _ = method.prepare(Observations.read(reports, method))
    state = None
    for _ in range(2):
        tally = model.sweep(partition, state, None)
        first = model.first_state(tally) if state is None else None
        state = first or model.update(tally, state)[0]

    def once():
        model.update(model.sweep(partition, state, None), state)

    return once


@pytest.mark.parametrize("answers", WANTED)
def test_one_pass(answers, compare):
    """One sweep and update of 10^6 reports, on one core each, in turn."""
    crowd = qc.make_crowd(
        tasks=100_000,
        workers=10**6 // answers,
        answers_per_task=PER_TASK,
        labels=range(LABELS),
        random_state=1,
    )
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    reports = mechanism.simulate(crowd.answers, random_state=1)
    aware, voting = passes(qc.NoiseAware(), reports), passes(qc.WeightedVote(), reports)
    compare(
        f"noise-aware sweep and update, 10^6 reports, {answers:,} a worker",
        least_seconds(aware),
        "those of the weighted vote",
        least_seconds(voting),
        1.0 / WANTED[answers],
    )
