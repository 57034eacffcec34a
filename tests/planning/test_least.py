import math

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, LabelAssumption, least_epsilon, least_workers
from quietcrowd.planning.least import _solved

LAW = LabelAssumption(domain=qc.Categorical(["no", "yes"]), misled=0.0)
MAKER = qc.RandomizedResponse.from_claimed_epsilon
SIZE = CrowdSize(tasks=30, workers=10, answers=10)


@pytest.mark.parametrize("start", [0.1, 1.0, 30.0], ids=str)
@pytest.mark.parametrize("target", [0.3, 0.05], ids=str)
def test_a_known_curve_is_inverted(start, target):
    found = _solved(lambda place: 0.5 * math.exp(-0.7 * place), target, start, 0.01, 100, "x")
    assert found == pytest.approx(math.log(0.5 / target) / 0.7, rel=0.01)


def test_what_no_number_or_the_least_one_reaches_is_said():
    with pytest.raises(ParameterError, match=r"no x up to 64 has an error of 0\.1"):
        _solved(lambda _: 0.4, 0.1, 1.0, 0.01, 100, "x")
    with pytest.raises(ParameterError, match=r"x 0\.015625 reaches"):
        _solved(lambda _: 0.05, 0.1, 1.0, 0.01, 100, "x")


@pytest.mark.slow
def test_the_least_numbers_have_about_the_error_that_is_wanted():
    law = LabelAssumption(domain=LAW.domain, misled=0.0, guessers=0.0)
    size = CrowdSize(tasks=200, workers=40, answers=50)
    epsilon = least_epsilon(0.2, law, MAKER, size, draws=4)
    workers = least_workers(0.2, law, MAKER, epsilon, tasks=200, answers=50, draws=4)
    assert 0.8 < workers / 40 < 1.25


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"target": 0}, "target must be above 0"), ({"draws": 2}, "draws"), ({"seed": -1}, "seed")],
    ids=["target", "draws", "seed"],
)
def test_parameters_are_checked(changed, words):
    with pytest.raises(ParameterError, match=words):
        least_epsilon(**{"target": 0.2, "assumption": LAW, "maker": MAKER, "size": SIZE} | changed)
