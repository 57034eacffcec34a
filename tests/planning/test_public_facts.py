import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import LabelCrowd, PublicFacts

ABC = qc.Categorical(["a", "b", "c"])
NUMBERS = qc.Interval(low=0, high=10)


def test_each_worker_has_as_many_answers():
    facts = PublicFacts(domain=ABC, epsilon=1.0, tasks=300, workers=60, answers_per_task=7)
    assert facts.size.answers == 35
    few = PublicFacts(domain=ABC, epsilon=1.0, tasks=10, workers=100, answers_per_task=1)
    assert few.size.answers == 1


def test_a_prior_is_that_of_the_truths():
    facts = PublicFacts(domain=ABC, epsilon=1.0, prior={"a": 0.6}, quality={"accuracy": 0.9})
    assert facts.assumption.truths == pytest.approx((0.6, 0.2, 0.2))
    assert facts.assumption.accuracy == 0.9


def test_rare_labels_are_more_frequent_among_answers():
    """0.8 of the answers are right: 0.9 x 0.8 + 0.1 x 0.2, and 0.1 x 0.8 + 0.9 x 0.2."""
    facts = PublicFacts(
        domain=qc.Categorical(["no", "yes"]),
        epsilon=1.0,
        prior={"no": 0.9},
        quality={"accuracy": 0.8, "guessers": 0.0},
    )
    assert facts.answer_frequencies == pytest.approx({"no": 0.74, "yes": 0.26})
    sample = PublicFacts(
        domain=facts.domain,
        epsilon=1.0,
        quality=LabelCrowd(
            domain=facts.domain, truths=(0.9, 0.1), accuracies=(0.7, 0.9), accuracy=0.0
        ),
    )
    assert sample.answer_frequencies == pytest.approx({"no": 0.74, "yes": 0.26})


@pytest.mark.parametrize("domain", [ABC, NUMBERS], ids=["even", "numbers"])
def test_without_a_prior_nothing_is_said_of_answers(domain):
    assert PublicFacts(domain=domain, epsilon=1.0).answer_frequencies is None


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": -1}, "epsilon must be a finite number, at least 0"),
        ({"workers": 5}, "at most the number of workers, 5; got 10"),
        ({"answers_per_task": 0}, "answers_per_task must be above 0"),
        ({"tasks": 1.5}, "tasks must be a whole number"),
        ({"prior": {"x": 0.5}}, "prior: 'x' is not a label"),
        ({"prior": {"a": 0.5}, "quality": {"truths": [1, 0, 0]}}, "not both"),
        ({"prior": {"a": 0.5}, "domain": NUMBERS}, "prior requires labels"),
        ({"quality": {"colour": 1}}, "colour"),
    ],
)
def test_facts_that_cannot_be_are_refused(facts, message):
    with pytest.raises(ParameterError, match=message):
        PublicFacts(**{"domain": ABC, "epsilon": 1.0, **facts})
