import itertools

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logsumexp, softmax
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import GLAD, MajorityVote
from quietcrowd.inference.labels.glad import AbilityState, GladTally
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.testing import crowds

ABC = Categorical(["a", "b", "c"])


def crowd_of(labels, seed=5, **options):
    options = {"tasks": 60, "workers": 12, "answers_per_task": 5, "accuracy": (0.3, 0.95)} | options
    return qc.make_crowd(labels=range(labels), random_state=seed, **options)


def log_joint(answers, labels, alpha, ease):
    """Return ln P(answers of the task, truth) for every task and truth, as the paper says it."""
    x = alpha[answers.worker_codes] * np.exp(ease[answers.task_codes])
    right, wrong = log_expit(x), log_expit(-x) - np.log(max(labels - 1, 1))
    rows = np.where(answers.values[:, None] == np.arange(labels), right[:, None], wrong[:, None])
    joint = np.full((len(answers.tasks), labels), -np.log(labels))
    np.add.at(joint, answers.task_codes, rows)
    return joint


def log_posterior(answers, labels, alpha, ease, gold):
    """Return the log-posterior of abilities and easiness per answer, the truths summed out."""
    joint = log_joint(answers, labels, alpha, ease)
    for task, label in gold.items():
        joint[task, np.arange(labels) != label] = -np.inf
    priors = ((alpha - 1) ** 2).sum() / 2 + ((ease - 1) ** 2).sum() / 2
    return (logsumexp(joint, axis=1).sum() - priors) / len(answers)


def best_ease(answers, labels, alpha, gold):
    """Return the log-easiness of each task that maximises its log-posterior, by brute force."""
    found = np.ones(len(answers.tasks))
    for task in range(len(found)):
        rows = slice(*answers.offsets[task : task + 2])
        workers, values, known = answers.worker_codes[rows], answers.values[rows], gold.get(task)

        def loss(ease, workers=workers, values=values, known=known):
            x = alpha[workers] * np.exp(ease)
            wrong = log_expit(-x) - np.log(max(labels - 1, 1))
            joint = [
                np.where(values == label, log_expit(x), wrong).sum() for label in range(labels)
            ]
            return (ease - 1) ** 2 / 2 - (logsumexp(joint) if known is None else joint[known])

        coarse = min(np.linspace(-4, 6, 51), key=loss)
        bounds = (max(coarse - 0.2, -4), min(coarse + 0.2, 6))
        found[task] = minimize_scalar(loss, bounds=bounds, options={"xatol": 1e-10}).x
    return found


def by_hand(answers, labels, n_iter, gold):
    """Run the updates with floats, task by task; return abilities and the objectives."""
    alpha = np.ones(len(answers.workers))
    history = []
    for _ in range(n_iter):
        ease = best_ease(answers, labels, alpha, gold)
        gamma = softmax(log_joint(answers, labels, alpha, ease), axis=1)
        for task, label in gold.items():
            gamma[task] = np.eye(labels)[label]
        beta = np.exp(ease)[answers.task_codes]
        x = alpha[answers.worker_codes] * beta
        curve = np.tanh(x / 2) / (4 * x)
        pull = (gamma[answers.task_codes, answers.values] - 0.5) * beta
        by_worker = [
            np.bincount(answers.worker_codes, weights=w, minlength=len(alpha))
            for w in (pull, 2 * curve * beta**2)
        ]
        start = log_posterior(answers, labels, alpha, ease, gold) * len(answers)
        new = (1 + by_worker[0]) / (1 + by_worker[1])
        old, top = [
            (by_worker[0] * a - by_worker[1] * a**2 / 2 - (a - 1) ** 2 / 2).sum()
            for a in (alpha, new)
        ]
        history.append((start + top - old) / len(answers))
        alpha = new
    return alpha, history


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(("labels", "known"), [nightly(2, 0), (3, 0), (2, 7), nightly(3, 7)])
def test_against_floats_and_brute_force(labels, known):
    crowd = crowd_of(labels, tasks=15)
    truths = crowd.truths.to_pandas().iloc[:known]
    gold = {int(task): label for task, label in zip(truths["task"], truths["label"], strict=True)}
    alpha, history = by_hand(crowd.answers, labels, 4, gold)
    estimate = GLAD(max_iter=4, tol=0).fit(crowd.answers, gold=truths if known else None)
    np.testing.assert_allclose(estimate.state.alpha, alpha, atol=1e-6)
    np.testing.assert_allclose(estimate.history, history, atol=1e-8)
    ease = best_ease(crowd.answers, labels, alpha, gold)
    np.testing.assert_allclose(np.log(estimate.estimates.easiness), ease, atol=1e-5)
    gamma = softmax(log_joint(crowd.answers, labels, alpha, ease), axis=1)
    inferred = ~estimate.known
    confidence = estimate.estimates.confidence[inferred]
    np.testing.assert_allclose(confidence, gamma.max(axis=1)[inferred], atol=1e-6)
    assert estimate.known.sum() == known


@pytest.mark.parametrize("labels", [2, 3])
def test_the_objective_bounds_the_log_posterior_and_reaches_it(labels):
    answers = crowd_of(labels).answers
    for n_iter in (1, 2, 5):
        estimate = GLAD(max_iter=n_iter, tol=0).fit(answers)
        ease = np.log(estimate.estimates.easiness)
        value = log_posterior(answers, labels, estimate.state.alpha, ease, {})
        assert estimate.history[-1] <= value + 1e-9
    estimate = GLAD(max_iter=3000, tol=1e-11).fit(answers)
    assert estimate.converged
    alpha, ease = estimate.state.alpha, np.log(estimate.estimates.easiness)
    best = log_posterior(answers, labels, alpha, ease, {})
    assert estimate.history[-1] == pytest.approx(best, abs=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(20):  # the top: every step away leads down
        away = rng.normal(0, 0.02, len(alpha)), rng.normal(0, 0.02, len(ease))
        assert log_posterior(answers, labels, alpha + away[0], ease + away[1], {}) < best


@pytest.mark.nightly
@pytest.mark.slow
@given(crowds(domain=ABC, max_tasks=12))
def test_the_objective_never_falls(frame):
    history = GLAD().fit(Answers.from_frame(frame, ABC)).history
    for before, after in itertools.pairwise(history):
        assert after >= before - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls_in_crowds_with_clear_tasks(seed):
    crowd = crowd_of(3, seed=seed, tasks=200, workers=25, answers_per_task=12, accuracy=(0.2, 0.99))
    history = GLAD(tol=0).fit(crowd.answers).history
    assert len(history) == 100
    assert np.diff(history).min() > -1e-9


def model_crowd(seed, tasks=1500, workers=40, labels=3):
    """Return answers drawn from the model, the truths, abilities and log-easiness."""
    rng = np.random.default_rng(seed)
    alpha, ease = rng.normal(1, 1, workers), rng.normal(0, 0.7, tasks)
    truths = rng.integers(0, labels, tasks)
    rows = []
    for task in range(tasks):
        for worker in rng.choice(workers, 8, replace=False):
            right = rng.random() < expit(alpha[worker] * np.exp(ease[task]))
            other = (truths[task] + rng.integers(1, labels)) % labels
            rows.append((task, worker, truths[task] if right else other))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = Answers.from_frame(frame, Categorical(range(labels)))
    known = pd.DataFrame({"task": range(tasks), "label": truths})
    return answers, known, alpha[answers.workers.to_pylist()], ease[answers.tasks.to_pylist()]


def test_abilities_and_easiness_are_recovered():
    answers, truths, alpha, ease = model_crowd(seed=3)
    estimate = GLAD().fit(answers)
    assert np.corrcoef(estimate.state.alpha, alpha)[0, 1] > 0.96
    assert np.corrcoef(np.log(estimate.estimates.easiness), ease)[0, 1] > 0.5
    rates = [qc.error_rate(m.fit(answers), truths) for m in (GLAD(), MajorityVote())]
    assert rates[0] < 0.8 * rates[1]


def test_a_task_that_workers_agree_on_is_easier():
    rows = [(task, worker, "a") for task in range(5) for worker in range(6)]
    rows += [("split", worker, "ab"[worker % 2]) for worker in range(6)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"]).astype(str)
    truths = GLAD().fit(frame, non_private=True).truths.set_index("task")
    assert list(truths.columns) == ["truth", "confidence", "answers", "tied", "easiness"]
    assert (truths["easiness"].drop("split") > 2 * truths["easiness"]["split"]).all()
    assert truths["easiness"].between(np.exp(-4), np.exp(6)).all()


def test_a_task_without_answers_has_no_easiness():
    frame = pd.DataFrame({"task": [1], "worker": ["u"], "label": ["a"]})
    answers = Answers.from_frame(frame, ABC, tasks=[1, 2])
    assert GLAD().fit(answers).truths["easiness"].isna().tolist() == [False, True]
    gold = pd.DataFrame({"task": [2], "label": ["c"]})
    assert GLAD().fit(answers, gold=gold).truths["easiness"][1] == pytest.approx(np.e)


def test_a_worker_who_always_errs_is_evidence():
    rows = [(t, w, t % 2) for t in range(40) for w in "uv"] + [
        (t, "x", 1 - t % 2) for t in range(50)
    ]
    estimate = GLAD().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]), non_private=True)
    truths = estimate.truths.set_index("task")["truth"]
    assert (truths == truths.index % 2).all()
    names = estimate.answers.workers.to_pylist()
    assert dict(zip(names, estimate.state.alpha < 0, strict=True)) == {"u": 0, "v": 0, "x": 1}


@pytest.mark.parametrize(
    "rows",
    [
        [("t", "u", "a")],
        [("t", "u", "a"), ("t", "v", "a"), ("t", "w", "b")],
        [("s", "u", "a"), ("t", "u", "b"), ("r", "u", "b")],
        [(task, worker, "c") for task in "rst" for worker in "uvw"],
        [(task, worker, "ab"[worker == "w"]) for task in "rst" for worker in "uvw"],
        [(task, worker, "a") for task in "rst" for worker in "uv"] + [("r", "w", "b")],
    ],
    ids=["one answer", "one task", "one worker", "all equal", "constant", "a worker once"],
)
def test_degenerate_answers(rows):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    votes = MajorityVote().fit(Answers.from_frame(frame, ABC))
    for data in (frame, Answers.from_frame(frame, ABC)):  # the first has what occurs as labels
        estimate = GLAD().fit(data, non_private=True)
        assert np.isfinite(estimate.history).all()
        assert np.diff(estimate.history).min() > -1e-9
        assert estimate.truths["confidence"].between(0, 1).all()
        assert estimate.truths["truth"].tolist() == votes.truths["truth"].tolist()


def test_a_new_worker_starts_as_the_median():
    state = AbilityState(ability=np.array([30, 10, 20]))
    assert state.take(np.array([2, -1, 0])).ability.tolist() == [20, 20, 30]


def test_abilities_stay_in_range():
    summary = Summary.of(crowd_of(2).answers)
    model = GLAD().bind(summary)
    unit = model.units[0]
    pulls = np.zeros(summary.workers, np.int64)
    pulls[:2] = [round(1e5 * unit), -round(1e5 * unit)]
    nothing = np.zeros_like(pulls)
    tally = GladTally(pulls=pulls, bends=nothing, rest=0, agreed=nothing)
    alpha = model.update(tally, None)[0].alpha
    assert alpha.tolist() == [20, -20] + [1] * (summary.workers - 2)


def test_very_long_tasks_are_refused():
    crowd = crowd_of(2)
    summary = attrs.evolve(Summary.of(crowd.answers), longest_task=2**19)
    with pytest.raises(ParameterError, match="a task may have at most 266"):
        GLAD().bind(summary).sweep(Partition.of(crowd.answers), None, None)
