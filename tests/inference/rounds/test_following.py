"""Rounds of answers, of which each estimate extends the one before."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    ParameterError,
    SuddenChangeWarning,
)
from quietcrowd.inference.numbers.learning import learn

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")

FOLLOW = qc.NoiseAware(over_time="follow", shared_errors=False)
ABC = qc.Categorical(["a", "b", "c"])
RANGE = qc.Interval(low=0, high=10)
NOISE = {
    "labels": qc.RandomizedResponse(domain=ABC, epsilon=1.0),
    "laplace": qc.LaplaceMechanism(domain=RANGE, epsilon=2.0, fill=None),
    "piecewise": qc.PiecewiseMechanism(domain=RANGE, epsilon=2.0),
    "non-private": None,
}


def reports_of(kind, number, *, tasks=40, workers=60, each=8, first=0, shift=0):
    """Return the reports of a round; the truths stay, or labels are the next by `shift`."""
    rng = np.random.default_rng(number)
    names = [f"t{place}" for place in range(first, first + tasks)]
    truths = np.random.default_rng(77).integers(3, size=200)[first : first + tasks]
    truths = (truths + shift) % 3
    chosen = np.argsort(rng.random((workers, tasks)), axis=1)[:, :each]
    worker, task = np.repeat(np.arange(workers), each), chosen.ravel()
    right = rng.random(len(task)) < np.linspace(0.5, 0.95, workers)[worker]
    codes = np.where(right, truths[task], rng.integers(3, size=len(task)))
    values = np.array([*"abc"])[codes] if kind == "labels" else 2.0 + 2.5 * codes
    frame = pd.DataFrame({"task": np.array(names)[task], "worker": worker, "label": values})
    answers = Answers.from_frame(frame, ABC if kind == "labels" else RANGE)
    mechanism = NOISE[kind]
    return answers if mechanism is None else mechanism.simulate(answers, random_state=number)


def chain(kind, numbers=(1, 2, 3), method=FOLLOW):
    estimate = method.fit(reports_of(kind, numbers[0]), round=numbers[0])
    for number in numbers[1:]:
        estimate = method.extend(estimate, reports_of(kind, number), round=number)
    return estimate


def test_reports_that_were_sent_again_count_in_their_first_round_only():
    day1, day2 = (reports_of("labels", number).to_frame() for number in (1, 2))
    marked = pd.concat(
        [day2.assign(again=False), day1.assign(again=True, worker=day1["worker"] + 1000)]
    )
    first = FOLLOW.fit(day1, round=1)
    expected = FOLLOW.extend(first, day2, round=2)
    with pytest.warns(DroppedRowsWarning, match="were sent again"):
        found = FOLLOW.extend(first, marked.assign(campaign="day2"), round=2)
    pd.testing.assert_frame_equal(found.truths, expected.truths, check_exact=True)
    with pytest.raises(AnswerError, match="all of these reports were sent again"):
        FOLLOW.extend(first, day1.assign(again=True, campaign="day2"), round=2)


@pytest.mark.parametrize("kind", NOISE)
def test_the_same_rounds_give_the_same_bits(kind):
    first, second = chain(kind), chain(kind)
    for name in ("truths", "workers", "rounds", "posterior"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name), check_exact=True)
    pd.testing.assert_frame_equal(first.smoothed(), second.smoothed(), check_exact=True)


@pytest.mark.parametrize("kind", NOISE)
def test_truths_are_those_of_the_last_round(kind):
    estimate = chain(kind)
    error = "confidence" if kind == "labels" else "standard_error"
    last = estimate.rounds.query("round == 3").drop(columns="round").reset_index(drop=True)
    pd.testing.assert_frame_equal(last, estimate.truths[["task", "truth", error, "answers"]])
    assert estimate.round == 3
    assert estimate.smoothed().shape == estimate.rounds.shape == (120, 5)


@pytest.mark.parametrize("kind", NOISE)
def test_a_task_without_reports_keeps_its_truth_with_less_confidence(kind):
    first = chain(kind, (1, 2))
    others = reports_of(kind, 3, first=30)
    estimate = FOLLOW.extend(first, others)
    before, after = (one.truths.set_index("task") for one in (first, estimate))
    assert list(after.index[:40]) == list(before.index)
    assert set(after.index) == {f"t{place}" for place in range(70)}
    gone = [f"t{place}" for place in range(30)]
    assert (after["answers"][gone] == 0).all()
    if kind == "labels":
        sure = before.loc[gone].query("confidence > 0.5").index
        assert (after["truth"][sure] == before["truth"][sure]).mean() > 0.9
        assert after["confidence"][sure].mean() < before["confidence"][sure].mean()
    else:
        assert (after["truth"][gone] - before["truth"][gone]).abs().mean() < 0.3
        assert (after["standard_error"] > 0).all()


def test_a_round_counts_once():
    estimate = chain("labels", (3, 5))
    for number in (3, 4, 5):
        with pytest.raises(ParameterError, match=f"round {number} is not after round 5"):
            FOLLOW.extend(estimate, reports_of("labels", 6), round=number)
    assert FOLLOW.extend(estimate, reports_of("labels", 6)).round == 6


def test_missing_rounds_only_move_truths():
    near, far = chain("labels", (1, 2)), chain("labels", (1, 20))
    assert far.truths["confidence"].mean() < near.truths["confidence"].mean()


def test_rounds_need_a_method_that_follows():
    data = reports_of("labels", 1)
    for method in (qc.NoiseAware(), qc.MajorityVote()):
        with pytest.raises(ParameterError, match="over_time='follow'"):
            method.fit(data, round=1)
        with pytest.raises(ParameterError, match="over_time='follow'"):
            _ = method.fit(data).rounds


@pytest.mark.parametrize("kind", NOISE)
def test_messages_contain_no_prior(kind):
    estimate = chain(kind, (1, 2))
    model = estimate.model
    rng = np.random.default_rng(0)
    states = model.task_priors.shape[1]
    others = np.log(rng.dirichlet(np.full(states, 3.0), len(model.task_priors)))
    found, moved = (
        evolve(model, task_priors=priors).messages(estimate.partition, estimate.state)
        for priors in (np.full_like(others, -np.log(states)), others)
    )
    found, moved = (one - one.mean(axis=1, keepdims=True) for one in (found, moved))
    # the echo of a report that is taken out depends on what the truth is taken for
    np.testing.assert_allclose(moved, found, atol=0.15 if kind == "labels" else 1e-9)
    assert np.abs(found).max() > 1.0


def test_known_truths_are_of_their_round_only():
    reports = [reports_of("labels", number) for number in (1, 2)]
    wrong = {f"t{place}": "abc"[place % 3] for place in range(10)}
    first = FOLLOW.fit(reports[0], gold=wrong, round=1)
    truths = first.truths.set_index("task")["truth"]
    assert [truths[task] for task in wrong] == list(wrong.values())
    after = FOLLOW.extend(first, reports[1]).truths.set_index("task")
    assert (after["confidence"] < 1.0).all()
    smoothed = FOLLOW.extend(first, reports[1]).smoothed().query("round == 1").set_index("task")
    assert [smoothed["truth"][task] for task in wrong] == list(wrong.values())


@pytest.mark.parametrize("kind", ["laplace", "piecewise", "non-private"])
def test_evidence_of_many_reports_stays_what_it_is(kind):
    rounds = [reports_of(kind, number, each=35, workers=20) for number in (1, 2)]
    estimate = FOLLOW.extend(FOLLOW.fit(rounds[0]), rounds[1])
    model = estimate.model
    assert len(model.table_workers[0]) == len(estimate.workers)
    tally, state = model.at_rest(estimate.tally, estimate.state)
    assert not tally.residuals.any()
    before, after = (
        learn(model, one, evolve(estimate.state, passes=-1)).beliefs
        for one in (estimate.tally, tally)
    )
    np.testing.assert_allclose(after, before, atol=1e-9)
    assert state.passes == -1


def test_new_workers_and_old_ones():
    first = chain("labels", (1, 2))
    more = FOLLOW.extend(first, reports_of("labels", 3, workers=90))
    counts = more.workers.set_index("worker")["answers"]
    assert (counts[range(60)] == 24).all()
    assert (counts[range(60, 90)] == 8).all()


@pytest.mark.parametrize("kind", ["labels", "laplace", "piecewise"])
def test_truths_that_all_change_at_once_are_found_in_that_round(kind, monkeypatch):
    """The errors of that round are less than half of those without sudden changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuddenChangeWarning)
        before = chain(kind, (1, 2, 3, 4))
    reports = reports_of(kind, 5, shift=1)
    with pytest.warns(SuddenChangeWarning, match="in round 5 about [0-9]+% of the truths seem"):
        found = FOLLOW.extend(before, reports)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuddenChangeWarning)
        later = FOLLOW.extend(found, reports_of(kind, 6, shift=1)).smoothed().groupby("round")
        monkeypatch.setattr("quietcrowd.inference.rounds.changes.SUDDEN", 0.0)
        without = FOLLOW.extend(before, reports)

    def error(frame, number):
        truths = np.random.default_rng(77).integers(3, size=40) + (number > 4)
        right = frame["task"].map({f"t{place}": truth % 3 for place, truth in enumerate(truths)})
        if kind == "labels":
            return (frame["truth"] != right.map(dict(enumerate("abc")))).mean()
        return (frame["truth"] - (2.0 + 2.5 * right)).abs().mean()

    assert error(found.truths, 5) < 0.5 * error(without.truths, 5)
    assert error(later.get_group(5), 5) < 0.5 * error(without.truths, 5)
    assert error(later.get_group(4), 4) < 1.1 * error(before.truths, 4) + 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_claims_are_honest_in_a_round_in_which_many_labels_change(share):
    """Six crowds of 60 labels, of which a share changes in the eighth round."""
    device = qc.RandomizedResponse(domain=qc.Categorical([*"abcd"]), epsilon=1.0)
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truths, right, estimate = rng.integers(4, size=60), rng.beta(8, 2, 60), None
        for number in range(8):
            moved = rng.random(60) < (share if number == 7 else 0.0)
            truths = np.where(moved, (truths + rng.integers(1, 4, 60)) % 4, truths)
            task = np.repeat(np.arange(60), 12)
            worker = np.argsort(rng.random((60, 60)), axis=1)[:, :12].ravel()
            wrong = rng.random(len(task)) >= right[worker]
            codes = (truths[task] + wrong * rng.integers(1, 4, len(task))) % 4
            rows = {"task": task, "worker": worker, "label": np.array([*"abcd"])[codes]}
            answers = Answers.from_frame(pd.DataFrame(rows), device.domain)
            reports = device.simulate(answers, random_state=100 * seed + number)
            estimate = FOLLOW.extend(estimate, reports) if number else FOLLOW.fit(reports)
        alone = evolve(FOLLOW, over_time="anew").fit(reports)
        right_labels = np.array([*"abcd"])[truths]
        errors = [
            (one.truths.set_index("task")["truth"][range(60)] != right_labels).mean()
            for one in (estimate, alone)
        ]
        found.append([*errors, 1.0 - estimate.truths["confidence"].mean()])
    followed, by_itself, claimed = np.mean(found, axis=0)
    assert followed < by_itself + 0.02
    assert claimed == pytest.approx(followed, abs=0.05)


@pytest.mark.parametrize("kind", NOISE)
def test_truths_are_followed(kind):
    """Ten rounds err less than one, and smoothed ones less than followed ones."""
    rounds = range(1, 11)
    estimate = chain(kind, rounds)
    truths = np.random.default_rng(77).integers(3, size=200)[:40]
    wanted = {f"t{place}": truth for place, truth in enumerate(truths)}

    def errors(frame):
        right = frame["task"].map(wanted)
        if kind == "labels":
            wrong = frame["truth"] != right.map(dict(enumerate("abc")))
        else:
            wrong = (frame["truth"] - (2.0 + 2.5 * right)).abs()
        return wrong.groupby(frame["round"]).mean()

    followed, smoothed = errors(estimate.rounds), errors(estimate.smoothed())
    assert followed[10] < 0.6 * followed[1]
    assert smoothed.mean() < followed.mean()
    assert list(followed.index) == [*rounds]


def test_only_the_last_rounds_are_stored(monkeypatch):
    monkeypatch.setattr("quietcrowd.inference.rounds.following.KEPT_ROUNDS", 2)
    estimate = chain("labels", (1, 2, 3, 4))
    assert (
        sorted(set(estimate.rounds["round"])) == sorted(set(estimate.smoothed()["round"])) == [3, 4]
    )


def test_an_estimate_goes_on_after_pickling():
    estimate = chain("piecewise", (1, 2))
    again = pickle.loads(pickle.dumps(estimate))
    reports = reports_of("piecewise", 3)
    first, second = (FOLLOW.extend(one, reports) for one in (estimate, again))
    pd.testing.assert_frame_equal(first.smoothed(), second.smoothed(), check_exact=True)


def test_reports_far_outside_of_the_range_extend():
    mechanism = qc.LaplaceMechanism(domain=RANGE, epsilon=0.1, fill=None)
    answers = [reports_of("non-private", number) for number in (1, 2, 3)]
    estimate = FOLLOW.fit(mechanism.simulate(answers[0], random_state=1))
    for number in (1, 2):
        estimate = FOLLOW.extend(estimate, mechanism.simulate(answers[number], random_state=number))
    assert estimate.truths["truth"].between(0, 10).all()


def test_sets_are_rejected():
    mechanism = qc.SubsetSelection(domain=ABC, epsilon=1.0)
    reports = mechanism.simulate(reports_of("labels", 1).table, random_state=1)
    with pytest.raises(AnswerError, match="sets of labels"):
        FOLLOW.fit(reports)
