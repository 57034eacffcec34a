import numpy as np
import pandas as pd
import pytest
from tests.campaign.mechanisms import MECHANISMS, reports_of

import quietcrowd as qc
from quietcrowd.campaign.agreement import agreement

LABELS = qc.Categorical(["a", "b", "c"])


def crowd(domain, values, workers):
    tasks = len(values) // workers
    frame = {
        "task": np.repeat(np.arange(tasks), workers),
        "worker": np.tile(np.arange(workers), tasks),
        "label": values,
    }
    return qc.Answers.from_frame(pd.DataFrame(frame), domain)


@pytest.mark.parametrize("share", [0.4, 0.7, 1.0])
def test_the_agreement_of_answers_is_found_behind_the_noise(share):
    rng = np.random.default_rng(1)
    truths = np.repeat(rng.integers(0, 3, 2_000), 20)
    own = np.where(rng.random(len(truths)) < share, truths, rng.integers(0, 3, len(truths)))
    answers = crowd(LABELS, np.array(LABELS.labels)[own].tolist(), 20)
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=1.0)
    true = agreement(
        qc.RandomizedResponse(domain=LABELS, epsilon=16.0).randomize(answers, rng=rng)
    )[0]
    observed, corrected = agreement(mechanism.randomize(answers, rng=rng))
    assert observed < true
    assert corrected == pytest.approx(true, abs=0.02)


def test_so_it_is_with_numbers():
    rng = np.random.default_rng(2)
    truths = np.repeat(rng.uniform(2, 8, 2_000), 20)
    domain = qc.Interval(low=0, high=10)
    answers = crowd(domain, np.clip(truths + rng.normal(0, 0.5, len(truths)), 0, 10), 20)
    mechanism = qc.LaplacePerturbation(domain=domain, epsilon=5.0, fill=None)
    observed, corrected = agreement(mechanism.randomize(answers, rng=rng))
    assert corrected == pytest.approx(1 - 0.25 / (3 + 0.25), abs=0.02)
    assert observed < corrected


@pytest.mark.parametrize("name", MECHANISMS)
def test_where_no_answer_is_reported_too_nothing_is_corrected(name):
    mechanism = MECHANISMS[name]
    observed, corrected = agreement(reports_of(mechanism, 6, 20, seed=1))
    assert observed is not None
    assert corrected is None or (not mechanism.every_task and 0 <= corrected <= 1)


def test_one_report_per_task_tells_nothing():
    for mechanism in (MECHANISMS["one-layer"], MECHANISMS["laplace"]):
        assert agreement(reports_of(mechanism, 6, 1, seed=1)) == (None, None)


def test_reports_that_tell_nothing_are_not_corrected():
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=0.0)
    assert agreement(reports_of(mechanism, 6, 5, seed=1))[1] is None
