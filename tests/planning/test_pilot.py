import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, assumption_of_pilot, plan
from quietcrowd.planning.pilot import MOST_MISLED, WIDENING, _size

SIZE = CrowdSize(tasks=60, workers=20, answers=30)


def label_pilot(accuracy):
    return qc.make_crowd(
        kind="guessing",
        tasks=60,
        workers=20,
        answers_per_worker=30,
        skills=[accuracy] * 20,
        random_state=1,
    )


def accuracy_of(assumed):
    return np.mean([np.mean(world.accuracies) for world in assumed.worlds])


@pytest.mark.nightly
@pytest.mark.slow
def test_a_better_crowd_is_seen_in_plain_answers_and_in_reports():
    found = {}
    for accuracy in (0.6, 0.9):
        answers = label_pilot(accuracy).answers
        mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0)
        reports = mechanism.simulate(answers, random_state=0)
        found["plain", accuracy] = accuracy_of(assumption_of_pilot(answers, worlds=4))
        found["reports", accuracy] = accuracy_of(assumption_of_pilot(reports, worlds=4))
    assert found["plain", 0.9] > found["plain", 0.6] + 0.1
    assert found["reports", 0.9] > found["reports", 0.6] + 0.1
    assert abs(found["plain", 0.9] - 0.9) < 0.1


@pytest.mark.nightly
@pytest.mark.slow
def test_reports_that_tell_little_leave_open_how_good_workers_are():
    answers = label_pilot(0.8).answers
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=0.2)
    reports = mechanism.simulate(answers, random_state=0)
    means = {}
    for pilot in (answers, reports):
        assumed = assumption_of_pilot(pilot, worlds=10)
        means[type(pilot)] = [np.mean(world.accuracies) for world in assumed.worlds]
        assert assumed.widening == (1.0 if pilot is answers else WIDENING)
    assert np.ptp(means[qc.Answers]) < 0.2
    assert np.ptp(means[type(reports)]) > 0.25
    assert max(means[type(reports)]) <= 1.0


def test_draws_take_the_distributions_in_turn_and_are_uncertain():
    assumed = assumption_of_pilot(label_pilot(0.8).answers, worlds=3)
    assert assumed.uncertain
    assert [assumed.world(draw) for draw in (0, 3, 4)] == [assumed.worlds[at] for at in (0, 0, 1)]
    assert all(0 <= world.misled <= MOST_MISLED for world in assumed.worlds)
    assert len({world.misled for world in assumed.worlds}) == 3
    assert "a pilot without truths cannot reveal" in assumed.sentence()
    assert assumed.crowd(SIZE, np.random.default_rng(0)).answers.domain == assumed.domain


@pytest.mark.slow
def test_the_same_pilot_and_seed_give_the_same_distributions():
    pilot = label_pilot(0.8).answers
    assert assumption_of_pilot(pilot, worlds=2) == assumption_of_pilot(pilot, worlds=2)
    assert assumption_of_pilot(pilot, worlds=2) != assumption_of_pilot(
        pilot, worlds=2, random_state=1
    )


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True], ids=["plain", "reports"])
def test_numbers_are_learnt_from_too(noisy):
    crowd = qc.make_crowd(
        kind="numbers",
        tasks=60,
        workers=20,
        answers_per_worker=30,
        middle=4.0,
        worker_sigmas=[0.5] * 20,
        spread=1,
    )
    pilot = crowd.answers
    if noisy:
        mechanism = qc.LaplaceMechanism(domain=pilot.domain, epsilon=20.0, fill=None)
        pilot = mechanism.simulate(pilot, random_state=0)
    for world in assumption_of_pilot(pilot, worlds=3).worlds:
        assert 0.2 < world.error < 1.2
        assert abs(world.middle - 4) < 0.7
        assert 0.7 < world.spread < 1.5


@pytest.mark.slow
def test_a_plan_takes_a_pilot():
    pilot = label_pilot(0.8).answers
    found = plan(
        tasks=80, workers=20, answers=20, domain=pilot.domain, pilot=pilot, epsilon=2.0, draws=4
    )
    assert "4 distributions that fit it" in found.assumed
    with pytest.raises(ParameterError, match="not both"):
        plan(tasks=80, workers=20, domain=pilot.domain, pilot=pilot, quality={"accuracy": 0.8})


def test_an_even_crowd_stands_for_the_pilots():
    assert _size(label_pilot(0.8).answers) == SIZE


def test_what_is_no_pilot_is_refused():
    with pytest.raises(ParameterError, match="pilot must be Answers or Reports"):
        assumption_of_pilot([1, 2])
    crowd = qc.make_crowd(kind="numbers", tasks=5, workers=4, answers_per_task=2)
    reports = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=1.0).simulate(
        crowd.answers, random_state=0
    )
    with pytest.raises(ParameterError, match="answered or not"):
        assumption_of_pilot(reports)
