import math

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, LabelCrowd, least_epsilon, least_workers
from quietcrowd.planning.least import Curve, crossing

LAW = LabelCrowd(domain=qc.Categorical(["no", "yes"]), misled=0.0)
MAKER = qc.RandomizedResponse.from_claimed_epsilon
SIZE = CrowdSize(tasks=30, workers=10, answers=10)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_least_numbers_have_about_the_error_that_is_wanted():
    distribution = LabelCrowd(domain=LAW.domain, misled=0.0, guessers=0.0)
    size = CrowdSize(tasks=200, workers=40, answers=50)
    epsilon = least_epsilon(0.2, distribution, MAKER, size, draws=16).value
    workers = least_workers(0.2, distribution, MAKER, epsilon, tasks=200, answers=50, draws=16)
    assert 0.8 < workers.value / 40 < 1.25
    assert isinstance(workers.value, int)
    assert workers.crowds == 16


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"target": 0}, "target must be above 0"),
        ({"draws": 2}, "draws"),
        ({"random_state": -1}, "random_state"),
    ],
    ids=["target", "draws", "seed"],
)
def test_parameters_are_checked(changed, words):
    with pytest.raises(ParameterError, match=words):
        least_epsilon(**{"target": 0.2, "assumption": LAW, "maker": MAKER, "size": SIZE} | changed)


def curve(mean, *, deviation=0.0, theory=lambda _: None, whole=False):
    """Return a curve of errors whose chance parts are the same at every place."""

    def errors(place, crowds, first):
        chance = [np.random.default_rng(first + one).normal() for one in range(crowds)]
        return mean(place) * (1 + deviation * np.array(chance))

    return Curve(errors=errors, theory=theory, low=0.01, high=100, what="x", whole=whole)


def falling(place):
    return 0.5 * math.exp(-0.7 * place)


@pytest.mark.parametrize("start", [0.1, 1.0, 30.0], ids=str)
@pytest.mark.parametrize("target", [0.3, 0.05], ids=str)
def test_a_known_curve_is_inverted(start, target):
    found = crossing(curve(falling), target, start, 100)
    assert found.value == pytest.approx(math.log(0.5 / target) / 0.7, rel=0.03)
    told = crossing(curve(falling, theory=falling), target, start, 100)
    assert told.value == pytest.approx(math.log(0.5 / target) / 0.7, rel=1e-3)


def test_crowds_are_added_until_the_standard_error_is_small():
    """Chance of 30 % in a crowd, and a power of -1: 3 % takes about 100 crowds."""
    found = crossing(curve(lambda x: 1 / x, deviation=0.3), 0.2, 1.0, 1_000)
    assert found.sure
    assert 70 <= found.crowds <= 250
    assert found.low < 5 < found.high
    few = crossing(curve(lambda x: 1 / x, deviation=0.3), 0.2, 1.0, 24)
    assert few.crowds == 24
    assert not few.sure


def test_a_whole_number_is_rounded_up():
    found = crossing(curve(lambda x: 30 / x, whole=True), 0.62, 8.0, 100)
    assert found.value == 49
    assert isinstance(found.value, int)


def test_a_place_on_a_slight_slope_is_not_sure():
    found = crossing(curve(lambda x: 0.4 * x**-0.02, deviation=0.05), 0.4, 1.0, 40)
    assert found.crowds == 40
    assert not found.sure
    assert found.high > 1.5 * found.low


def test_a_flat_curve_leaves_the_whole_range_open():
    def errors(place, crowds, first):
        rng = np.random.default_rng((first, round(1_000 * place)))
        step = 0.5 if place < 1 else 0.3 if place > 1.9 else 0.4
        return step * (1 + (0.9 if first else 0.0) * rng.normal(size=crowds))

    flat = Curve(errors=errors, theory=lambda _: None, low=0.01, high=100, what="x")
    found = crossing(flat, 0.395, 1.0, 24)
    assert (found.low, found.high) == (0.01, 100)
    assert math.isinf(found.standard_error)


def test_what_no_number_or_the_least_one_reaches_is_said():
    with pytest.raises(ParameterError, match=r"no x up to 64 has an error of 0\.1"):
        crossing(curve(lambda _: 0.4), 0.1, 1.0, 10)
    with pytest.raises(ParameterError, match=r"x 0\.015625 reaches"):
        crossing(curve(lambda _: 0.05), 0.1, 1.0, 10)
