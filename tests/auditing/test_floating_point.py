"""The attack on noise in floats: an exact decoder that reads answers off the last bits.

A device that adds NumPy's Laplace noise to an answer in double precision sends numbers that other
answers cannot give: the noise is ``ln(2 u)`` or ``-ln(2 - 2 u)`` of one of 2^53 numbers u, and
after rounding most numbers near 0 are no such thing plus 1. The decoder checks, for a number that
was sent, whether each of two answers can give it. (I. Mironov, "On Significance of the Least
Significant Bits for Differential Privacy", CCS 2012.)
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quietcrowd import Answers, Interval, LaplaceMechanism
from quietcrowd.mechanisms import MatrixFactorization

UNIT = 2.0**-53
DOMAIN = Interval(low=0, high=1)
COUNT = 20_000


def can_give(answer, sent):
    """Return whether NumPy's Laplace noise of scale 1, in floats, leads from `answer` to `sent`."""
    noise = sent - answer
    uniform = math.exp(noise) / 2 if noise < 0 else 1 - math.exp(-noise) / 2
    nearest = round(uniform / UNIT)
    for place in range(nearest - 4, nearest + 5):
        drawn = place * UNIT
        if 0 < drawn < 1:
            made = -math.log(2 - drawn - drawn) if drawn >= 0.5 else math.log(drawn + drawn)
            if answer + made == sent:
                return True
    return False


def decode(sent):
    """Return the only one of the answers 0 and 1 that can give a number; None: it does not tell."""
    zero, one = can_give(0.0, sent), can_give(1.0, sent)
    return None if zero == one else float(one)


def real_reports(answer):
    """Return what COUNT devices with that answer send."""
    frame = pd.DataFrame({"task": 0, "worker": np.arange(COUNT), "label": answer})
    mechanism = LaplaceMechanism(domain=DOMAIN, epsilon=1.0, fill=None)
    reports = mechanism.randomize(Answers.from_frame(frame, DOMAIN))
    return reports.table.domain.numbers(reports.table.values)


def near_zero(numbers):
    return numbers[np.abs(numbers) < 0.25][:2000]


@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_noise_in_floats_tells_the_answer(answer):
    """Far more often than an epsilon of 1 allows, and without a single error."""
    rng = np.random.default_rng(1)
    sent = near_zero(np.array([answer + rng.laplace() for _ in range(COUNT)]))
    guesses = [decode(number) for number in sent]
    told = [guess for guess in guesses if guess is not None]
    assert all(guess == answer for guess in told)
    assert len(told) > 0.9 * len(sent)  # at epsilon 1 a guess is right 73 times of 100 at best


@pytest.mark.slow
def test_real_reports_do_not_tell():
    """Both answers give the same set of numbers, and the decoder is no better than epsilon says."""
    sent = {answer: near_zero(real_reports(answer)) for answer in (0.0, 1.0)}
    step = LaplaceMechanism(domain=DOMAIN, epsilon=1.0, fill=None).grid.step
    for numbers in sent.values():
        assert (numbers / step == np.rint(numbers / step)).all()
    told = {
        answer: sum(decode(number) == answer for number in numbers)
        for answer, numbers in sent.items()
    }
    wrongly = {
        answer: sum(decode(number) == 1 - answer for number in numbers)
        for answer, numbers in sent.items()
    }
    for answer in (0.0, 1.0):
        right = stats.binomtest(told[answer], len(sent[answer])).proportion_ci(1 - 1e-6, "exact")
        false = stats.binomtest(wrongly[1 - answer], len(sent[1 - answer])).proportion_ci(
            1 - 1e-6, "exact"
        )
        assert right.low <= math.e * false.high


@pytest.mark.slow
def test_every_number_of_the_grid_comes_from_either_answer():
    """Near the domain, where reports are many, no number is one answer's alone."""
    seen = [set(np.rint(real_reports(answer) * 8).astype(int)) for answer in (0.0, 1.0)]
    assert seen[0] >= set(range(-8, 16)) <= seen[1]


def test_sketches_are_whole_numbers_before_any_algebra():
    mechanism = MatrixFactorization(domain=DOMAIN, epsilon=1.0, rank=3)
    frame = pd.DataFrame({"task": [0, 1], "worker": [0, 0], "label": [0.3, 0.7]})
    reports = mechanism.randomize(Answers.from_frame(frame, DOMAIN))
    assert reports.sketches.dtype == np.int64
