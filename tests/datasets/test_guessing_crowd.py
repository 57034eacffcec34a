import numpy as np
import pytest

from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import ParameterError

FOUR = ("a", "b", "c", "d")


def shares(crowd):
    """Return how often the crowd gave each answer, by truth."""
    answers = crowd.answers
    truth = crowd.truths["label"].to_pylist()
    codes = np.array([answers.domain.labels.index(label) for label in truth])
    counts = np.zeros((answers.domain.size,) * 2)
    np.add.at(counts, (codes[answers.task_codes], answers.values), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_a_seed_gives_the_same_crowd():
    one, same, other = (
        make_crowd(kind="guessing", tasks=20, workers=30, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.answers.values, same.answers.values)
    assert one.truths.equals(same.truths)
    assert not np.array_equal(one.answers.values, other.answers.values)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"labels": FOUR},
        {"labels": FOUR, "guesses": (0.7, 0.1, 0.1, 0.1)},
        {"labels": FOUR, "accuracy": (0.05, 0.2), "guesses": (0.4, 0.3, 0.2, 0.1)},
        {"accuracy": (0.1, 0.4), "guesses": (0.7, 0.3)},
    ],
)
def test_answers_follow_the_distribution(options):
    crowd = make_crowd(kind="guessing", tasks=4_000, workers=40, **options)
    distribution = crowd.distribution
    assert np.allclose(distribution.confusions.sum(axis=2), 1)
    assert (distribution.confusions >= 0).all()
    # 40,000 answers: each share of 1,000 tasks or more is within .03 but for less than 1e-9
    assert shares(crowd) == pytest.approx(distribution.confusions.mean(axis=0), abs=0.03)


def test_with_even_guesses_the_skill_is_the_accuracy():
    for labels in (("a", "b"), FOUR):
        distribution = make_crowd(
            kind="guessing", tasks=5, labels=labels, accuracy=(0.1, 0.9)
        ).distribution
        right = np.diagonal(distribution.confusions, axis1=1, axis2=2)
        assert distribution.accuracy == pytest.approx(right[:, 0])
        assert right == pytest.approx(np.repeat(right[:, :1], len(labels), axis=1))
        assert 0.1 <= right.min() < 0.2
        assert 0.8 < right.max() <= 0.9


def test_truths_follow_their_distribution():
    crowd = make_crowd(kind="guessing", tasks=5_000, truths=(0.9, 0.1))
    share = np.mean(np.array(crowd.truths["label"].to_pylist()) == "yes")
    assert share == pytest.approx(0.1, abs=0.025)  # beyond five standard deviations: 1e-6


def test_a_lure_pulls_all_workers():
    crowd = make_crowd(
        kind="guessing",
        tasks=2_000,
        labels=FOUR,
        accuracy=(1, 1),
        misled=1.0,
        pull=0.5,
        answers_per_task=20,
    )
    found = shares(crowd)
    assert np.diagonal(found) == pytest.approx(0.5, abs=0.03)
    labels = crowd.answers.values.reshape(-1, 20)
    assert all(len(np.unique(row)) <= 2 for row in labels)  # the truth and one lure


def test_guesses_of_one_label_alone():
    crowd = make_crowd(
        kind="guessing", tasks=50, workers=20, accuracy=(0.5, 0.5), guesses=(1.0, 0.0)
    )
    assert (crowd.answers.values == 0).all()
    low = make_crowd(kind="guessing", tasks=5, accuracy=(0.2, 0.2), guesses=(1.0, 0.0)).distribution
    assert np.allclose(low.confusions.sum(axis=2), 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tasks": 0}, "tasks"),
        ({"random_state": -1}, "random_state"),
        ({"workers": 5, "answers_per_task": 6}, "answers_per_task=6"),
        ({"tasks": 5, "answers_per_worker": 6}, "answers_per_worker=6"),
        ({"answers_per_worker": 0}, "answers_per_worker"),
        ({"skills": [0.5]}, "skills must be 100 numbers"),
        ({"skills": [1.5] * 100}, "skills"),
        ({"labels": ["one"]}, "two labels"),
        ({"accuracy": (0.9, 0.5)}, "accuracy"),
        ({"truths": (0.5, 0.6)}, "truths"),
        ({"guesses": (0.5, 0.25, 0.25)}, "guesses"),
        ({"misled": 1.5}, "misled"),
        ({"pull": -0.1}, "pull"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ParameterError, match=words):
        make_crowd(kind="guessing", **options)


def test_skills_and_answers_of_every_worker_can_be_given():
    skills = np.linspace(0.3, 1.0, 30)
    crowd = make_crowd(
        kind="guessing", tasks=50, workers=30, answers_per_worker=7, labels=FOUR, skills=skills
    )
    assert set(crowd.answers.answers_per_worker) == {7}
    assert set(crowd.answers.answers_per_task) == {4, 5}
    assert np.allclose(crowd.distribution.accuracy, skills)
    right = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    given = np.array(FOUR)[crowd.answers.values]
    assert (right == given)[crowd.answers.worker_codes == 29].all()
