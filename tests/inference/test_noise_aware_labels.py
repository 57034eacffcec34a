"""Labels from reports whose law is known."""

import warnings

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import NoSignalWarning
from quietcrowd.inference import NoiseAware

CROWD = qc.synthetic_crowd(tasks=300, workers=40, answers_per_task=10, seed=2)

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.SimulatedNoiseWarning")


def reports_of(answers, epsilon):
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon)
    return mechanism.randomize(answers, rng=np.random.default_rng(0))


def test_where_noise_hides_the_truths_it_says_so():
    with pytest.warns(NoSignalWarning, match="noise hides the truths: .* a guess that is always"):
        NoiseAware().fit(reports_of(CROWD.answers, 0.05))


@pytest.mark.parametrize("epsilon", [3.0, None])
def test_where_estimates_are_sure_it_says_nothing_also_if_truths_are_alike(epsilon):
    alike = CROWD.answers.with_values(CROWD.answers.domain, np.ones_like(CROWD.answers.values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)
        for answers in (alike, CROWD.answers):
            NoiseAware().fit(answers if epsilon is None else reports_of(answers, epsilon))
