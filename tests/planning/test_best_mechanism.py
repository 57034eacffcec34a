import json

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.planning import PublicFacts, best_mechanism
from quietcrowd.planning.best_mechanism import MOST_LEFT, candidates, may_be_best

LABELS = qc.Categorical([f"kind {place}" for place in range(10)])
NUMBERS = qc.Interval(low=0, high=10)
SMALL = {"tasks": 40, "workers": 40, "answers_per_task": 30, "draws": 3}


@pytest.mark.nightly
def test_the_same_facts_give_the_same_choice():
    one, other = (best_mechanism(domain=LABELS, epsilon=1.0, **SMALL) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    json.dumps(one.to_dict(), allow_nan=False)
    assert one.best == one.rows[0].mechanism
    assert one.name in one.why
    assert one.best.guarantee().epsilon <= 1.0


@pytest.mark.nightly
def test_with_many_labels_and_a_small_loss_it_is_not_randomised_response():
    """With 10 labels at epsilon 1 the other two need about half of the reports."""
    ranking = best_mechanism(domain=LABELS, epsilon=1.0, **SMALL)
    errors = {row.name: row.error for row in ranking.rows}
    assert ranking.name in ("optimal", "subset-selection")
    assert errors[ranking.name] < 0.85 * errors["one-layer"]
    assert ranking.plain < errors[ranking.name] < ranking.constant


@pytest.mark.slow
def test_levels_are_labels_to_be_ranked():
    ranking = best_mechanism(domain=qc.Ordinal(range(3)), epsilon=2.0, **SMALL)
    assert ranking.rows[0].error < ranking.constant


@pytest.mark.nightly
@pytest.mark.slow
def test_numbers_have_mechanisms_of_their_own():
    ranking = best_mechanism(domain=NUMBERS, epsilon=2.0, **SMALL)
    assert {row.name for row in ranking.rows} == {
        "laplace:fill=none",
        "piecewise",
        "duchi",
        "hybrid",
    }
    assert ranking.rows[0].times_least == 1.0
    assert ranking.rows[0].error == min(row.error for row in ranking.rows[:2])


def test_two_labels_have_one_distribution():
    """Randomised response by every name; the one whose reports are the labels is kept."""
    chosen, left_out = candidates(PublicFacts(domain=qc.Categorical(["no", "yes"]), epsilon=1.0))
    assert "one-layer" in chosen
    assert not {"optimal", "subset-selection"} & set(chosen)
    assert "optimal: its distribution equals that of one-layer" in left_out
    assert "subset-selection: its distribution equals that of one-layer" in left_out


def test_every_mechanism_is_ranked_or_left_out_with_a_reason():
    for domain in (LABELS, NUMBERS, qc.Ordinal(range(5))):
        chosen, left_out = candidates(PublicFacts(domain=domain, epsilon=1.5))
        said = [*chosen, *(one.partition(": ")[0] for one in left_out)]
        assert {name.partition(":")[0] for name in said} == set(Mechanism.registry())
        for mechanism in chosen.values():
            assert not mechanism.participation_protected
            assert mechanism.independent_reports
            assert mechanism.guarantee(answers=50, tasks=100).epsilon <= 1.5


def test_a_known_prior_adds_a_candidate_that_can_be_written_down():
    from quietcrowd.commands.choices import choose_mechanism

    domain = qc.Categorical(["a/b", "c:d", "e%"])
    facts = PublicFacts(domain=domain, epsilon=1.0, prior={"a/b": 0.8})
    chosen, _ = candidates(facts)
    [name] = [name for name in chosen if "prior" in name]
    _, maker = choose_mechanism(name)
    assert maker(domain=domain, epsilon=1.0) == chosen[name]


def test_further_crowds_are_for_those_that_may_be_best():
    rng = np.random.default_rng(1)
    crowds = 0.2 + 0.1 * rng.random(8)
    near, far = crowds * 1.005, crowds + 0.1
    assert may_be_best([far, crowds, near]) == [1, 2]
    assert may_be_best([crowds]) == [0]
    assert len(may_be_best([crowds * (1 + place / 1e4) for place in range(9)])) == MOST_LEFT


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"draws": 2}, "draws must be a whole number, at least 3"),
        ({"domain": qc.Categorical(["one"])}, "2 labels|at least two|2 to"),
    ],
    ids=["draws", "one label"],
)
def test_what_cannot_be_ranked_is_refused(facts, message):
    with pytest.raises(ParameterError, match=message):
        best_mechanism(**{"domain": LABELS, "epsilon": 1.0, **SMALL, **facts})
