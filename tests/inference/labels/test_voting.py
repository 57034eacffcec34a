import itertools
import math

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import MajorityVote, WeightedVote, ignores_noise
from quietcrowd.inference.labels.voting import AccuracyState
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.testing import crowds

BINARY = Categorical([0, 1])


def by_hand(frame, labels, smoothing, n_iter):
    """Run weighted voting with dictionaries and fractions of agreements, as the paper says it."""
    weights = dict.fromkeys(frame["worker"], 1.0)
    for _ in range(n_iter):
        agreed, answered = dict.fromkeys(weights, 0.0), dict.fromkeys(weights, 0)
        for _, rows in frame.groupby("task"):
            votes = dict.fromkeys(labels, 0.0)
            for row in rows.itertuples():
                votes[row.label] += weights[row.worker]
            best = max(votes.values())
            winners = [label for label in labels if math.isclose(votes[label], best, abs_tol=1e-9)]
            for row in rows.itertuples():
                answered[row.worker] += 1
                agreed[row.worker] += (row.label in winners) / len(winners)
        for worker in weights:
            p = (agreed[worker] + smoothing) / (answered[worker] + 2 * smoothing)
            p = min(max(p, 1e-3), 1 - 1e-3)
            weights[worker] = math.log(p * (len(labels) - 1) / (1 - p))
            if len(labels) > 2:
                weights[worker] = max(weights[worker], 0.0)
    return weights


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 4])
@pytest.mark.parametrize("smoothing", [3.0, 1.0])
def test_against_the_papers_equations_by_hand(labels, smoothing):
    crowd = qc.make_crowd(
        tasks=40,
        workers=12,
        answers_per_task=5,
        labels=range(labels),
        accuracy=(0.2, 0.95),
        random_state=5,
    )
    frame = crowd.answers.to_frame()
    for n_iter in (1, 2, 3):
        estimate = WeightedVote(smoothing=smoothing, max_iter=n_iter).fit(crowd.answers)
        expected = by_hand(frame, range(labels), smoothing, n_iter)
        weights = estimate.state.weights / 2**32
        for place, worker in enumerate(crowd.answers.workers.to_pylist()):
            assert weights[place] == pytest.approx(expected[worker], abs=1e-7)


@pytest.mark.nightly
@pytest.mark.slow
@given(crowds(domain=BINARY, max_tasks=12))
def test_the_objective_never_falls_with_two_labels(frame):
    history = WeightedVote().fit(Answers.from_frame(frame, BINARY)).history
    for before, after in itertools.pairwise(history):
        assert after >= before - 1e-7


def test_unreliable_workers_are_found_and_outvoted():
    """Mean of ten crowds with workers from nearly always wrong to nearly always right."""
    rates = []
    for seed in range(10):
        crowd = qc.make_crowd(
            tasks=400, workers=30, answers_per_task=9, accuracy=(0.25, 0.95), random_state=seed
        )
        rates.append(
            [
                qc.error_rate(method.fit(crowd.answers), crowd.truths)
                for method in (MajorityVote(), WeightedVote())
            ]
        )
    plain, weighted = np.mean(rates, axis=0)
    assert weighted < plain / 2


@pytest.mark.parametrize("smoothing", [0.5, 3.0])
def test_the_objective_is_the_log_posterior_per_answer(smoothing):
    crowd = qc.make_crowd(tasks=50, workers=10, answers_per_task=5, labels=range(3), random_state=1)
    estimate = WeightedVote(smoothing=smoothing, max_iter=1).fit(crowd.answers)
    agreed = MajorityVote().fit(crowd.answers).agreement * crowd.answers.answers_per_worker
    expected = 0.0
    for a, n in zip(agreed, crowd.answers.answers_per_worker, strict=True):
        p = (a + smoothing) / (n + 2 * smoothing)
        expected += a * math.log(p) + (n - a) * math.log((1 - p) / 2)
        expected += smoothing * (math.log(p) + math.log(1 - p))
    assert estimate.history[0] == pytest.approx(expected / len(crowd.answers), abs=1e-7)


@pytest.mark.parametrize(
    ("labels", "accuracy", "weight"),
    [
        (1, 0.5, 1),
        (1, 0.75, round(math.log(3) * 2**32)),
        (2, 0.5, 1),
        (2, 0.25, -round(math.log(3) * 2**32)),
        (2, 0.75, round(math.log(3) * 2**32)),
        (3, 0.2, 1),
        (3, 1 / 3, 1),
        (3, 0.4, round(math.log(4 / 3) * 2**32)),
        (3, 0.6, round(math.log(3) * 2**32)),
        (4, 0.25, 1),
        (4, 0.1, 1),
        (4, 0.5, round(math.log(3) * 2**32)),
    ],
)
def test_weights_are_never_0_and_negative_with_two_labels_only(labels, accuracy, weight):
    state = AccuracyState.from_accuracy(np.array([accuracy]), labels)
    assert state.weights.tolist() == [weight]


def test_of_three_labels_a_worker_worse_than_chance_still_breaks_a_tie():
    """Nobody is counted against an answer, and the answer of a task's only worker is its truth."""
    rows = [(task, worker, task % 3) for task in range(12) for worker in "abc"]
    rows += [(task, "bad", (task + 1) % 3) for task in range(12)]
    rows += [(12, "bad", 2), (13, "a", 0), (13, "b", 1), (13, "bad", 1)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    estimate = WeightedVote().fit(Answers.from_frame(frame, Categorical([0, 1, 2])))
    weights = dict(zip(estimate.workers["worker"], estimate.state.weights.tolist(), strict=True))
    assert weights["bad"] == 1
    assert min(weights[worker] for worker in "abc") > 2**32
    assert estimate.truths["truth"].tolist() == [*[0, 1, 2] * 4, 2, 1]
    assert not estimate.estimates.tied.any()


@pytest.mark.parametrize("labels", [2, 3])
def test_very_long_tasks_are_refused(labels):
    crowd = qc.make_crowd(
        tasks=9, workers=3, answers_per_task=2, labels=range(labels), random_state=1
    )
    partition, known = Partition.of(crowd.answers), Summary.of(crowd.answers)
    most = int(2**31 / math.log((labels - 1) / 1e-3))
    summary = attrs.evolve(known, longest_task=most)
    WeightedVote().bind(summary).sweep(partition, None, None)
    longer = WeightedVote().bind(attrs.evolve(summary, longest_task=most + 1))
    with pytest.raises(ParameterError, match=f"at most {most:,} answers; one has {most + 1:,}"):
        longer.sweep(partition, None, None)


def test_smoothing_0_leaves_a_perfect_worker_a_finite_weight():
    frame = pd.DataFrame({"task": [1, 2], "worker": ["u", "u"], "label": [0, 1]})
    estimate = WeightedVote(smoothing=0).fit(frame, non_private=True)
    assert estimate.state.accuracy[0] == 1 - 1e-3


@given(st.sampled_from([2, 3, 6]))  # each is a kernel to compile
def test_confidence_is_the_posterior_of_the_model(labels):
    crowd = qc.make_crowd(
        tasks=30,
        workers=8,
        answers_per_task=4,
        labels=range(labels),
        accuracy=(0.5, 0.9),
        random_state=labels,
    )
    estimate = WeightedVote().fit(crowd.answers)
    accuracy = estimate.state.accuracy
    assume(labels == 2 or (estimate.state.weights > 1).all())  # a cut weight is not the model's
    frame = estimate.truths
    for task in range(30):
        rows = slice(*crowd.answers.offsets[task : task + 2])
        likelihood = np.array(
            [
                math.prod(
                    accuracy[w] if value == label else (1 - accuracy[w]) / (labels - 1)
                    for w, value in zip(
                        crowd.answers.worker_codes[rows], crowd.answers.values[rows], strict=True
                    )
                )
                for label in range(labels)
            ]
        )
        expected = likelihood.max() / likelihood.sum()
        assert frame["confidence"][task] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("accuracy", "median"), [([0.9, 0.6, 0.7, 0.8], 0.8), ([0.9, 0.6, 0.95, 0.7, 0.8], 0.8)]
)
def test_a_new_worker_is_worth_the_median_of_the_known(accuracy, median):
    known = AccuracyState.from_accuracy(np.array(accuracy), 2)
    taken = known.take(np.array([-1, 0, 3, 1, -1]))
    expected = [median, accuracy[0], accuracy[3], accuracy[1], median]
    assert taken.accuracy.tolist() == expected
    again = AccuracyState.from_accuracy(np.array(expected), 2)
    assert taken.weights.tolist() == again.weights.tolist()


def test_before_anything_is_known_of_workers_votes_are_counts():
    rows = [("t", worker, int(worker != "a")) for worker in "abc"]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = Answers.from_frame(frame, BINARY)
    summary = Summary.of(answers)
    model = WeightedVote().bind(summary)
    room = model.empty(1)
    tally = model.sweep(Partition.of(answers), None, room)
    assert room.truths.tolist() == [1]
    assert room.confidence[0] == pytest.approx(2 / 3)
    assert tally.agreed.tolist() == [0, 2**30, 2**30]


def test_by_default_one_answer_of_each_kind_is_added():
    assert WeightedVote() == WeightedVote(smoothing=1.0)


@pytest.mark.parametrize("smoothing", [-1, math.nan, math.inf, "1", None])
def test_bad_smoothing(smoothing):
    with pytest.raises(ParameterError, match="smoothing must be a finite number"):
        WeightedVote(smoothing=smoothing)


@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 0},
        {"tol": -1},
        {"random_state": -1},
        {"random_state": 2**64},
        {"random_state": 1.5},
    ],
)
def test_bad_loop_parameters(options):
    with pytest.raises(ParameterError):
        WeightedVote(**options)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_single_report_says_no_more_than_its_channel(labels, epsilon):
    domain = qc.Categorical(range(labels))
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=epsilon)
    frame = pd.DataFrame({"task": ["t"], "worker": ["w"], "label": [1]})
    with ignores_noise():
        estimate = WeightedVote().fit(mechanism.randomize(Answers.from_frame(frame, domain)))
    most = math.exp(epsilon) / (math.exp(epsilon) + labels - 1)
    assert estimate.estimates.confidence[0] <= most + 1e-9
    assert estimate.estimates.confidence[0] > 1 / labels


@pytest.mark.parametrize("null", [None, "category"])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
def test_accuracies_are_cut_off_at_those_of_the_channel(labels, epsilon, null):
    """Without smoothing workers who are always right, and never, are at both ends."""
    domain = qc.Categorical(range(labels))
    channel = qc.RandomizedResponse(domain=domain, epsilon=epsilon, missing=null).channel
    rows = [(task, worker, int(worker == "e")) for task in range(9) for worker in "abcde"]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = Answers.from_frame(frame, domain)
    model = WeightedVote(smoothing=0.0).bind(Summary.of(answers, channel))
    state, _ = model.update(model.sweep(Partition.of(answers), None, None), None)
    most = 1 / (1 + (labels - 1) * math.exp(-epsilon))
    least = 1 / (math.exp(epsilon) + labels - 1)
    assert state.accuracy[:4] == pytest.approx(min(most, 1 - 1e-3), rel=1e-6)
    assert state.accuracy[4] == pytest.approx(max(least, 1e-3), rel=1e-6)


@pytest.mark.parametrize("null", [None, "category"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 2.0])
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
def test_no_report_moves_the_odds_by_more_than_epsilon(epsilon, null):
    crowd = qc.make_crowd(tasks=200, workers=40, answers_per_task=5, random_state=2)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon, missing=null)
    with ignores_noise():
        estimate = WeightedVote().fit(mechanism.randomize(crowd.answers))
    confidence = estimate.estimates.confidence
    log_odds = np.log(confidence / (1 - confidence))
    assert (log_odds <= estimate.answers.answers_per_task * epsilon + 1e-6).all()
    bound = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert estimate.state.accuracy.max() <= bound + 1e-9
    assert estimate.state.accuracy.min() >= 1 - bound - 1e-9


DOMAIN = Categorical(["a", "b", "c"])


@pytest.mark.nightly
@given(crowds(domain=DOMAIN))
def test_against_counting_by_hand(frame):
    truths = MajorityVote().fit(Answers.from_frame(frame, DOMAIN)).truths.set_index("task")
    for task, labels in frame.groupby("task")["label"]:
        counts = labels.value_counts()
        row = truths.loc[task]
        assert counts[row["truth"]] == counts.max()
        assert row["confidence"] == counts.max() / len(labels)
        assert row["tied"] == ((counts == counts.max()).sum() > 1)
        assert row["answers"] == len(labels)


@pytest.mark.nightly
@given(crowds(domain=DOMAIN))
def test_agreement_counts_a_tie_as_a_share(frame):
    workers = MajorityVote().fit(Answers.from_frame(frame, DOMAIN)).workers.set_index("worker")
    shares = []
    for _, rows in frame.groupby("task"):
        counts = rows["label"].value_counts()
        winners = counts.index[counts == counts.max()]
        shares.append(rows.assign(share=rows["label"].isin(winners) / len(winners)))
    expected = pd.concat(shares).groupby("worker")["share"].mean()
    np.testing.assert_allclose(workers.loc[expected.index, "agreement"], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("frame", "way_out"),
    [
        (
            {"task": [1], "who": [1], "label": ["a"]},
            r"from_frame\(frame, domain, task=\.\.\., worker",
        ),
        (
            {"task": [1], "worker": [1], "said": ["a"]},
            r"from_frame\(frame, domain, task=\.\.\., worker",
        ),
        ({"task": [1, 1], "worker": [1, 1], "label": ["a", "b"]}, r"from_frame\(.*duplicates="),
        ({"task": [1, 1], "worker": [1, 2], "label": ["a", None]}, r"from_frame\(.*out_of_domain="),
    ],
)
def test_advice_about_a_frame_is_what_can_be_done(frame, way_out):
    with pytest.raises(AnswerError, match=way_out) as error:
        MajorityVote().fit(pd.DataFrame(frame), non_private=True)
    assert "--" not in str(error.value)
