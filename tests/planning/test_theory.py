import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.planning import CrowdSize, LabelCrowd, NumberCrowd
from quietcrowd.planning.theory import chernoff_information, theory_error

SIZE = CrowdSize(tasks=100, workers=40, answers=30)
LABELS = LabelCrowd(domain=qc.Categorical(list("abcd")), misled=0.0)
NUMBERS = NumberCrowd(domain=qc.Interval(low=0, high=10))


def test_two_coins_have_a_known_information():
    """With p and 1 - p exchanged s is one half: - ln 2 sqrt(p (1 - p))."""
    found = chernoff_information([0.8, 0.2], [0.2, 0.8])
    assert found == pytest.approx(-np.log(2 * np.sqrt(0.16)))
    assert chernoff_information([0.3, 0.7], [0.3, 0.7]) < 1e-12


@pytest.mark.parametrize(
    ("distribution", "kind"),
    [
        (LABELS, qc.RandomizedResponse),
        (LABELS, qc.SubsetSelection),
        (NUMBERS, qc.LaplaceMechanism),
    ],
    ids=["table", "sets", "numbers"],
)
def test_more_epsilon_and_more_answers_help_and_plain_ones_most(distribution, kind):
    made = [
        kind.from_claimed_epsilon(domain=distribution.domain, epsilon=e)
        for e in (0.5, 1.0, 2.0, 4.0)
    ]
    errors = [theory_error(distribution, SIZE, one) for one in [*made, None]]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 5
    more = CrowdSize(tasks=100, workers=80, answers=30)
    assert theory_error(distribution, more, made[0]) < errors[0]


def test_sets_of_one_label_are_randomised_response():
    one = qc.SubsetSelection(domain=LABELS.domain, epsilon=3.0, set_size=1)
    same = qc.RandomizedResponse(domain=LABELS.domain, epsilon=3.0)
    assert theory_error(LABELS, SIZE, one) == pytest.approx(
        theory_error(LABELS, SIZE, same), rel=1e-4
    )
