import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, LabelAssumption, least_epsilon, least_workers

LAW = LabelAssumption(domain=qc.Categorical(["no", "yes"]), misled=0.0)
MAKER = qc.RandomizedResponse.from_claimed_epsilon
SIZE = CrowdSize(tasks=30, workers=10, answers=10)


@pytest.mark.slow
def test_the_least_numbers_have_about_the_error_that_is_wanted():
    law = LabelAssumption(domain=LAW.domain, misled=0.0, guessers=0.0)
    size = CrowdSize(tasks=200, workers=40, answers=50)
    epsilon = least_epsilon(0.2, law, MAKER, size, draws=4).value
    workers = least_workers(0.2, law, MAKER, epsilon, tasks=200, answers=50, draws=4)
    assert 0.8 < workers.value / 40 < 1.25
    assert isinstance(workers.value, int)
    assert workers.crowds == 4


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"target": 0}, "target must be above 0"), ({"draws": 2}, "draws"), ({"seed": -1}, "seed")],
    ids=["target", "draws", "seed"],
)
def test_parameters_are_checked(changed, words):
    with pytest.raises(ParameterError, match=words):
        least_epsilon(**{"target": 0.2, "assumption": LAW, "maker": MAKER, "size": SIZE} | changed)
