import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import MACE

LABELS = [*"abc"]


def drawn(tasks=2_000, workers=40, answers=10, seed=1):
    """Sample a crowd from the model: workers copy the truth or answer from their distribution."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(len(LABELS), size=tasks)
    competence = rng.uniform(0.1, 0.9, workers)
    spam = rng.dirichlet([0.5] * len(LABELS), workers)
    rows = []
    for task in range(tasks):
        for worker in rng.choice(workers, answers, replace=False):
            knows = rng.random() < competence[worker]
            label = truths[task] if knows else rng.choice(len(LABELS), p=spam[worker])
            rows.append((task, worker, LABELS[label]))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return frame, {task: LABELS[truth] for task, truth in enumerate(truths)}, competence, spam


@pytest.fixture(scope="module")
def crowd():
    return drawn()


def test_a_crowd_drawn_from_the_model_is_found_again(crowd):
    frame, truths, competence, spam = crowd
    estimate = MACE().fit(frame, non_private=True)
    workers = estimate.answers.workers.to_pylist()
    # Of 500 answers of a worker a rate has a standard deviation of at most .023: 6 of them.
    assert np.abs(estimate.state.competence - competence[workers]).max() < 0.14
    given = (1 - competence[:, np.newaxis]) * spam
    assert np.abs(estimate.state.spam - given[workers]).max() < 0.14
    assert np.corrcoef(estimate.state.competence, competence[workers])[0, 1] > 0.98
    vote = qc.error_rate(qc.MajorityVote().fit(frame, non_private=True), truths)
    assert qc.error_rate(estimate, truths) < 0.7 * vote


def test_the_probabilities_of_a_worker_sum_to_one(crowd):
    state = MACE().fit(crowd[0], non_private=True).state
    assert state.spam.sum(axis=1) + state.competence == pytest.approx(1, abs=1e-6)
    assert (state.competence > 0).all()
    assert state.confusion.sum(axis=2) == pytest.approx(1, abs=1e-6)


def test_the_objective_cannot_fall(crowd):
    history = MACE(tol=0, max_iter=60).fit(crowd[0], non_private=True).history
    assert np.diff(history).min() > -1e-9


def by_hand(frame, n_iter, smoothing, trust):
    """Run the model in plain NumPy, as its docstring says it."""
    workers, tasks = frame["worker"].max() + 1, frame["task"].max() + 1
    codes = frame["label"].map(LABELS.index).to_numpy()
    task, worker = frame["task"].to_numpy(), frame["worker"].to_numpy()
    posterior = np.zeros((tasks, len(LABELS)))
    np.add.at(posterior, (task, codes), 1.0)
    posterior /= posterior.sum(axis=1, keepdims=True)
    c, s = np.full(workers, 0.5), np.full((workers, len(LABELS)), 0.5 / len(LABELS))
    for _ in range(n_iter):
        right = posterior[task, codes]
        copied = right * c[worker] / (c[worker] + s[worker, codes])
        copies, spam = np.full(workers, trust), np.full(s.shape, smoothing)
        np.add.at(copies, worker, copied)
        np.add.at(spam, (worker, codes), 1.0 - copied)
        total = copies + spam.sum(axis=1)
        c, s = copies / total, spam / total[:, np.newaxis]
        votes = np.zeros(posterior.shape)
        for label in range(len(LABELS)):
            odds = np.log(s[worker, codes] + c[worker] * (codes == label))
            votes[:, label] = np.bincount(task, weights=odds, minlength=tasks)
        odds = np.exp(votes - votes.max(axis=1, keepdims=True))
        posterior = odds / odds.sum(axis=1, keepdims=True)
    return posterior, c, s


def test_it_is_its_equations():
    frame = drawn(tasks=60, workers=12, answers=5, seed=3)[0]
    posterior, competence, spam = by_hand(frame, 7, 0.4, 1.5)
    estimate = MACE(max_iter=7, tol=0, smoothing=0.4, trust=1.5).fit(frame, non_private=True)
    order = estimate.answers.workers.to_pylist()
    assert estimate.state.competence == pytest.approx(competence[order], abs=1e-6)
    assert estimate.state.spam == pytest.approx(spam[order], abs=1e-6)
    assert estimate.probabilities().to_numpy() == pytest.approx(posterior, abs=1e-5)


def test_who_always_says_the_same_is_no_evidence():
    frame = drawn(tasks=300, workers=12, answers=5, seed=2)[0]
    same = pd.DataFrame({"task": range(300), "worker": 99, "label": "a"})
    estimate = MACE().fit(pd.concat([frame, same]), non_private=True)
    place = estimate.answers.workers.to_pylist().index(99)
    # It copies what it knows, or spams "a": of the other labels it gives none.
    assert estimate.state.competence[place] < 0.1
    assert estimate.state.spam[place] == pytest.approx([1, 0, 0], abs=0.1)


@pytest.mark.parametrize("parameters", [{"smoothing": 0}, {"trust": -1}, {"trust": "x"}])
def test_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        MACE(**parameters)


def test_one_label_tells_nothing_of_competence():
    frame = pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": ["a", "a"]})
    estimate = MACE().fit(frame, non_private=True)
    assert estimate.truths["truth"].tolist() == ["a", "a"]
    assert np.isnan(estimate.state.competence).all()


def test_too_many_workers_and_labels_name_the_way_out():
    count = 520
    frame = pd.DataFrame({"task": 1, "worker": range(count), "label": range(count)})
    with pytest.raises(ParameterError, match="Use WeightedVote"):
        MACE().fit(frame, non_private=True)
