import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, LabelCrowd, NumberCrowd
from quietcrowd.planning.crowd_assumption import assumption_for

LABELS = qc.Categorical(["a", "b", "c", "d"])
NUMBERS = qc.Interval(low=0, high=10)
SIZE = CrowdSize(tasks=2_000, workers=200, answers=100)


def test_guessers_and_others_are_as_right_as_assumed():
    """10^4 answers of 100 guessers: a share that is off by .04 has a chance below 1e-8."""
    assumed = LabelCrowd(domain=LABELS, accuracy=0.9, accuracy_sd=0, guessers=0.5, misled=0)
    distribution = assumed.draw(SIZE, draw=0).distribution
    assert np.allclose(np.unique(distribution.accuracy.round(9)), [0.25, 0.9])
    assert abs(np.mean(distribution.accuracy < 0.5) - 0.5) < 0.2


def test_a_sample_of_accuracies_is_drawn_from():
    assumed = LabelCrowd(domain=LABELS, accuracies=(0.3, 0.8), misled=0)
    distribution = assumed.draw(SIZE, draw=0).distribution
    assert np.allclose(np.unique(distribution.accuracy.round(9)), [0.3, 0.8])


def test_numbers_are_as_far_off_as_assumed():
    assumed = NumberCrowd(domain=NUMBERS, error=0.5, error_factor=1, guessers=0.5, shared=0.4)
    distribution = assumed.draw(SIZE, draw=0).distribution
    assert set(zip(distribution.sigma, distribution.scale, strict=True)) == {(0.5, 1.0), (2.0, 0.0)}
    assert (distribution.bias, distribution.spread, distribution.middle) == (0.2, 2.0, 5.0)
    own = NumberCrowd(domain=NUMBERS, errors=(0.1, 3.0), middle=4)
    distribution = own.draw(SIZE, draw=0).distribution
    assert set(distribution.sigma) == {0.1, 3.0}
    assert distribution.middle == 4


def test_a_draw_is_the_same_again_and_another_one_is_not():
    assumed = LabelCrowd(domain=LABELS)
    one, same, other = (assumed.draw(SIZE, draw, 3) for draw in (1, 1, 2))
    assert np.array_equal(one.answers.values, same.answers.values)
    assert not np.array_equal(one.answers.values, other.answers.values)


def test_the_same_workers_come_first_in_a_larger_crowd():
    assumed = LabelCrowd(domain=LABELS, guessers=0)
    few = assumed.draw(CrowdSize(tasks=50, workers=10, answers=5), 0).distribution.accuracy
    many = assumed.draw(CrowdSize(tasks=50, workers=20, answers=5), 0).distribution.accuracy
    assert np.array_equal(few, many[:10])


@pytest.mark.parametrize(
    ("domain", "quality", "words"),
    [
        (LABELS, {"accuracy": 1.2}, "accuracy must be a number from 0 to 1"),
        (LABELS, {"misled": -1}, "misled"),
        (LABELS, {"accuracy_sd": -1}, "accuracy_sd"),
        (LABELS, {"truths": (0.5, 0.5)}, "truths must be 4 probabilities that sum to 1"),
        (LABELS, {"accuracies": (0.5, 2)}, "skills must be"),
        (LABELS, {"error": 1}, "LabelCrowd"),
        (NUMBERS, {"error": 0}, "error must be a finite number above 0"),
        (NUMBERS, {"error_factor": 0.5}, "error_factor"),
        (NUMBERS, {"spread": 0}, "spread must be a finite number above 0"),
        (NUMBERS, {"middle": 11}, "middle must lie in the domain"),
        (NUMBERS, {"shared": -1}, "shared"),
        ("numbers", {}, "domain must be Categorical"),
        (NUMBERS, LabelCrowd(domain=LABELS), "the assumption is about answers in"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_cannot_be_assumed_is_refused(domain, quality, words):
    with pytest.raises(ParameterError, match=words):
        assumption_for(domain, quality)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [((0, 1, 1), "tasks"), ((1, 0, 1), "workers"), ((5, 1, 0), "answers"), ((5, 1, 6), "once")],
    ids=["tasks", "workers", "answers", "twice"],
)
def test_sizes_are_checked(sizes, words):
    tasks, workers, answers = sizes
    with pytest.raises(ParameterError, match=words):
        CrowdSize(tasks=tasks, workers=workers, answers=answers)


def test_what_is_assumed_is_said():
    assert "10% of the workers guess" in LabelCrowd(domain=LABELS).sentence()
    assert "a mean accuracy of 0.55" in LabelCrowd(domain=LABELS, accuracies=(0.3, 0.8)).sentence()
    assert "truths with a standard deviation of 2" in NumberCrowd(domain=NUMBERS).sentence()
    assert "errors of 1 (median)" in NumberCrowd(domain=NUMBERS, errors=(1.0,)).sentence()


def test_levels_stay_levels():
    levels = qc.Ordinal([1, 2, 3])
    crowd = LabelCrowd(domain=levels, accuracy=1, accuracy_sd=0, guessers=0, misled=0).draw(
        CrowdSize(tasks=9, workers=3, answers=9), 0
    )
    assert crowd.answers.domain == levels
    right = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    assert np.array_equal(np.array(levels.levels)[crowd.answers.values], right)


@pytest.mark.parametrize(
    ("quality", "message"),
    [
        ({"accuracy_sd": 0.6}, "accuracy_sd must be at most 0.5"),
        ({"worker": 50}, "quality, a LabelCrowd, has no parameter 'worker'; it has accuracy"),
        ({"truths": {"no": 0.5, "yes": 0.5}}, "lists of numbers; .* got {'no'"),
        ({"guesses": "ab"}, "lists of numbers; .* got 'ab'"),
        ({"accuracies": 0.5}, "lists of numbers; .* got 0.5"),
        (3, "quality must be a LabelCrowd, or a mapping of its parameters"),
    ],
    ids=["deviation", "unknown", "mapping", "text", "one", "number"],
)
def test_what_cannot_be_assumed_is_told(quality, message):
    with pytest.raises(ParameterError, match=message):
        assumption_for(LABELS, quality)


def test_one_label_is_told_as_such():
    with pytest.raises(ParameterError, match=r"domain must have at least two labels; got .*'a'"):
        LabelCrowd(domain=qc.Categorical(["a"]))


def test_the_error_that_stays_is_that_of_shared_errors():
    labels = qc.Categorical(["a", "b", "c"])
    assert LabelCrowd(domain=labels, misled=0.2, pull=0.6).floor() == 0.2
    assert LabelCrowd(domain=labels, misled=0.2, pull=0.1).floor() == 0.0
    assert LabelCrowd(domain=labels, misled=0.2, pull=0.3, accuracies=[0.4, 0.3]).floor() == 0.2
    numbers = NumberCrowd(domain=qc.Interval(low=0, high=10), error=2.0, shared=0.5)
    assert numbers.floor() == pytest.approx(0.8, abs=0.01)
