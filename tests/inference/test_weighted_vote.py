import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import MajorityVote, WeightedVote, noise_ignored
from quietcrowd.inference.weighted_vote import AccuracyState
from quietcrowd.testing import crowds

BINARY = Categorical([0, 1])


def by_hand(frame, labels, smoothing, iterations):
    """Run weighted voting with dictionaries and fractions of agreements, as the paper says it."""
    weights = dict.fromkeys(frame["worker"], 1.0)
    for _ in range(iterations):
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


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("smoothing", [1.0, 3.0])
def test_against_the_papers_equations_by_hand(labels, smoothing):
    crowd = qc.synthetic_crowd(
        tasks=40, workers=12, answers_per_task=5, labels=range(labels), accuracy=(0.2, 0.95), seed=5
    )
    frame = crowd.answers.to_frame()
    for iterations in (1, 2, 3):
        estimate = WeightedVote(smoothing=smoothing, max_iterations=iterations).fit(crowd.answers)
        expected = by_hand(frame, range(labels), smoothing, iterations)
        weights = estimate.state.weights / 2**32
        for place, worker in enumerate(crowd.answers.workers.to_pylist()):
            assert weights[place] == pytest.approx(expected[worker], abs=1e-7)


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
        crowd = qc.synthetic_crowd(
            tasks=400, workers=30, answers_per_task=9, accuracy=(0.25, 0.95), seed=seed
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
    crowd = qc.synthetic_crowd(tasks=50, workers=10, answers_per_task=5, labels=range(3), seed=1)
    estimate = WeightedVote(smoothing=smoothing, max_iterations=1).fit(crowd.answers)
    agreed = MajorityVote().fit(crowd.answers).agreement * crowd.answers.answers_per_worker
    expected = 0.0
    for a, n in zip(agreed, crowd.answers.answers_per_worker, strict=True):
        p = (a + smoothing) / (n + 2 * smoothing)
        expected += a * math.log(p) + (n - a) * math.log((1 - p) / 2)
        expected += smoothing * (math.log(p) + math.log(1 - p))
    assert estimate.history[0] == pytest.approx(expected / len(crowd.answers), abs=1e-7)


@pytest.mark.parametrize(
    ("labels", "accuracy", "weight"),
    [(2, 0.5, 1), (2, 0.25, -math.log(3) * 2**32), (4, 0.25, 1), (4, 0.1, 1), (4, 0.5, None)],
)
def test_weights_are_never_0_and_negative_with_two_labels_only(labels, accuracy, weight):
    state = AccuracyState.from_accuracy(np.array([accuracy]), labels)
    expected = math.log(3) * 2**32 if weight is None else weight
    assert state.weights[0] == pytest.approx(expected, abs=1)


def test_smoothing_0_leaves_a_perfect_worker_a_finite_weight():
    frame = pd.DataFrame({"task": [1, 2], "worker": ["u", "u"], "label": [0, 1]})
    estimate = WeightedVote(smoothing=0).fit(frame)
    assert estimate.state.accuracy[0] == 1 - 1e-3


@given(st.integers(2, 6))
def test_confidence_is_the_posterior_of_the_model(labels):
    crowd = qc.synthetic_crowd(
        tasks=30,
        workers=8,
        answers_per_task=4,
        labels=range(labels),
        accuracy=(0.5, 0.9),
        seed=labels,
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


@pytest.mark.parametrize("smoothing", [-1, math.nan, math.inf, "1", None])
def test_bad_smoothing(smoothing):
    with pytest.raises(ParameterError, match="smoothing must be a finite number"):
        WeightedVote(smoothing=smoothing)


@pytest.mark.parametrize(
    "options",
    [{"max_iterations": 0}, {"tolerance": -1}, {"seed": -1}, {"seed": 2**64}, {"seed": 1.5}],
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
    with noise_ignored():
        estimate = WeightedVote().fit(mechanism.randomize(Answers.from_frame(frame, domain)))
    most = math.exp(epsilon) / (math.exp(epsilon) + labels - 1)
    assert estimate.estimates.confidence[0] <= most + 1e-9
    assert estimate.estimates.confidence[0] > 1 / labels


@pytest.mark.parametrize("null", [None, "category"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 2.0])
@pytest.mark.filterwarnings("ignore::quietcrowd.NoSignalWarning")
def test_no_report_moves_the_odds_by_more_than_epsilon(epsilon, null):
    crowd = qc.synthetic_crowd(tasks=200, workers=40, answers_per_task=5, seed=2)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon, null=null)
    with noise_ignored():
        estimate = WeightedVote().fit(mechanism.randomize(crowd.answers))
    confidence = estimate.estimates.confidence
    log_odds = np.log(confidence / (1 - confidence))
    assert (log_odds <= estimate.answers.answers_per_task * epsilon + 1e-6).all()
    bound = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert estimate.state.accuracy.max() <= bound + 1e-9
    assert estimate.state.accuracy.min() >= 1 - bound - 1e-9
