import itertools

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.special import softmax
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.inference import DawidSkene, MajorityVote, method_from_dict
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.testing import crowds

ABC = Categorical(["a", "b", "c"])
NO_PRIORS = {"smoothing": 0.0, "trust": 0.0, "class_smoothing": 0.0}


def crowd_of(labels, seed=5, **options):
    options = {"tasks": 60, "workers": 12, "answers_per_task": 5, "accuracy": (0.3, 0.95)} | options
    return qc.make_crowd(labels=range(labels), random_state=seed, **options)


def dense_em(answers, labels, method, n_iter, gold=None):
    """Run EM with dense arrays of floats, as the paper says it.

    Returns posteriors, P(answer | truth) at place [worker, truth, answer], frequencies, objectives.
    """
    given = np.zeros((len(answers.tasks), len(answers.workers), labels))
    given[answers.task_codes, answers.worker_codes, answers.values] = 1
    gold = {} if gold is None else gold
    gamma = given.sum(axis=1) / given.sum(axis=(1, 2))[:, None]
    history = []
    for _ in range(n_iter):
        for task, label in gold.items():
            gamma[task] = np.eye(labels)[label]
        theta, log_prior = m_step(given, gamma, labels, method)
        frequencies = np.maximum(gamma.sum(axis=0) + method.class_smoothing, 1e-10)
        frequencies /= frequencies.sum()
        log_prior += method.class_smoothing * np.log(frequencies).sum()
        logs = np.log(frequencies) + np.einsum("jil,ikl->jk", given, np.log(theta))
        entropy = -(gamma * np.log(np.where(gamma > 0, gamma, 1))).sum()
        history.append(((gamma * logs).sum() + entropy + log_prior) / given.sum())
        gamma = np.exp(logs - logs.max(axis=1, keepdims=True))
        gamma /= gamma.sum(axis=1, keepdims=True)
    return gamma, theta, frequencies, history


def m_step(given, gamma, labels, method):
    """Return P(answer | truth) and the log of its prior, up to a constant."""
    counts = np.einsum("jil,jk->ikl", given, gamma)
    if not method.one_coin:
        added = method.smoothing + method.trust * np.eye(labels)
        theta = np.maximum(counts + added, 1e-10)
        theta /= theta.sum(axis=2, keepdims=True)
        return theta, (added * np.log(theta)).sum()
    right = np.trace(counts, axis1=1, axis2=2)
    wrong = np.maximum(counts.sum(axis=(1, 2)) - right + method.smoothing, 1e-10)
    right = np.maximum(right + method.smoothing + method.trust, 1e-10)
    accuracy = (right / (right + wrong))[:, None, None]
    error = (wrong / (right + wrong))[:, None, None] / (labels - 1)
    theta = np.where(np.eye(labels, dtype=bool), accuracy, error)
    log_prior = (method.smoothing + method.trust) * np.log(accuracy)
    return theta, (log_prior + method.smoothing * np.log(error)).sum()


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize(
    "priors", [{}, {"smoothing": 0.5, "trust": 0.0, "class_smoothing": 3.0}, NO_PRIORS]
)
def test_against_dense_arrays(labels, one_coin, priors):
    crowd = crowd_of(labels)
    known = crowd.truths.to_pandas().iloc[:7]
    codes = {int(task): label for task, label in zip(known["task"], known["label"], strict=True)}
    for n_iter, (frame, gold) in itertools.product((1, 2, 6), ((None, {}), (known, codes))):
        method = DawidSkene(one_coin=one_coin, max_iter=n_iter, tol=0, **priors)
        gamma, theta, frequencies, history = dense_em(crowd.answers, labels, method, n_iter, gold)
        estimate = method.fit(crowd.answers, gold=frame)
        inferred = ~estimate.known
        np.testing.assert_allclose(estimate.state.confusion, theta, atol=1e-8)
        np.testing.assert_allclose(estimate.state.priors, frequencies, atol=1e-8)
        np.testing.assert_allclose(
            estimate.estimates.confidence[inferred], gamma.max(axis=1)[inferred], atol=1e-8
        )
        np.testing.assert_allclose(estimate.history, history, atol=1e-8)


def float_em(answers, labels, method, n_iter):
    """Run EM in 64-bit floats on rows; return the log-odds of each label of each task."""
    tasks, workers, values = answers.task_codes, answers.worker_codes, answers.values
    votes = np.zeros((len(answers.tasks), labels))
    np.add.at(votes, (tasks, values), 1.0)
    logs = np.log(np.maximum(votes, 1e-28))
    for _ in range(n_iter):
        gamma = softmax(logs, axis=1)
        frequencies = gamma.sum(axis=0) + method.class_smoothing
        logs = np.tile(np.log(frequencies / frequencies.sum()), (len(votes), 1))
        if method.one_coin:
            right = np.bincount(workers, gamma[tasks, values]) + method.smoothing + method.trust
            wrong = np.bincount(workers) - right + 2 * method.smoothing + method.trust
            odds = np.log(right * (labels - 1) / wrong)
            np.add.at(logs, (tasks, values), odds[workers])
            continue
        added = method.smoothing + method.trust * np.eye(labels)
        record = np.tile(added, (len(answers.workers), 1, 1))
        np.add.at(record, (workers, values), gamma[tasks])
        np.add.at(logs, tasks, np.log(record / record.sum(axis=1, keepdims=True))[workers, values])
    return logs


def check_labels(answers, method):
    """Check that labels are those of 64-bit floats, but where two are the same to 1e-6."""
    logs = float_em(answers, answers.domain.size, method, method.max_iter)
    estimate = method.fit(answers)
    best = np.sort(logs, axis=1)
    clear = (best[:, -1] - best[:, -2] > 1e-6) & (answers.answers_per_task > 0)
    assert clear.mean() > 0.97
    assert (estimate.estimates.truths == logs.argmax(axis=1))[clear].all()


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, nightly(4), 10])
@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("answers_per_task", [3, nightly(12)])
def test_32_bits_lose_no_label_of_drawn_crowds(labels, one_coin, answers_per_task):
    crowd = crowd_of(labels, tasks=3000, workers=200, answers_per_task=answers_per_task)
    check_labels(crowd.answers, DawidSkene(one_coin=one_coin, max_iter=30, tol=0))


@pytest.mark.parametrize("name", ["duck", *map(nightly, ("dog", "web", "wsd"))])
@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.usefixtures("data_folder")
def test_32_bits_lose_no_label_of_real_crowds(name, one_coin):
    answers = qc.load_dataset(name).answers
    check_labels(answers, DawidSkene(one_coin=one_coin, max_iter=50, tol=0))


def test_one_step_by_hand():
    """Two tasks: the votes on the first are 2 to 1, on the second 1 to 0."""
    rows = [(1, "u", 0), (1, "v", 0), (1, "w", 1), (2, "u", 1)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    estimate = DawidSkene(smoothing=1, trust=2, class_smoothing=1, max_iter=1, tol=0).fit(
        frame, non_private=True
    )
    u = [[(2 / 3 + 3) / (2 / 3 + 4), 1 / (2 / 3 + 4)], [4 / 3 / (4 / 3 + 4), 4 / (4 / 3 + 4)]]
    np.testing.assert_allclose(estimate.state.confusion[0], u, atol=1e-9)
    np.testing.assert_allclose(estimate.state.priors, [(2 / 3 + 1) / 4, (4 / 3 + 1) / 4])
    coin = DawidSkene(one_coin=True, smoothing=1, trust=2, max_iter=1).fit(frame, non_private=True)
    accuracy = coin.state.confusion[:, 0, 0]
    np.testing.assert_allclose(accuracy, [(5 / 3 + 3) / 6, (2 / 3 + 3) / 5, (1 / 3 + 3) / 5])


@pytest.mark.nightly
@pytest.mark.slow
@given(crowds(domain=ABC, max_tasks=12))
def test_the_objective_never_falls(frame):
    answers = Answers.from_frame(frame, ABC)
    for method in (
        DawidSkene(),
        DawidSkene(one_coin=True),
        DawidSkene(smoothing=0.01, trust=0, class_smoothing=0),
    ):
        history = method.fit(answers).history
        for before, after in itertools.pairwise(history):
            assert after >= before - 1e-9


def confused_crowd(seed, tasks=3000, workers=20):
    """Return answers of workers with matrices of their own, the truths, and the matrices."""
    rng = np.random.default_rng(seed)
    tables = np.array(
        [
            [rng.dirichlet(1 + 6 * (np.arange(3) == truth)) for truth in range(3)]
            for _ in range(workers)
        ]
    )
    truths = rng.choice(3, size=tasks, p=[0.6, 0.3, 0.1])
    rows = [
        (task, worker, "abc"[rng.choice(3, p=tables[worker, truths[task]])])
        for task in range(tasks)
        for worker in rng.choice(workers, 5, replace=False)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = pd.DataFrame({"task": range(tasks), "label": [*map("abc".__getitem__, truths)]})
    answers = Answers.from_frame(frame, ABC)
    return answers, known, tables[answers.workers.to_pylist()]


@pytest.mark.slow
def test_matrices_and_frequencies_are_recovered():
    answers, truths, tables = confused_crowd(seed=1)
    estimate = DawidSkene().fit(answers)
    assert np.abs(estimate.state.confusion[:, :2] - tables[:, :2]).mean() < 0.03
    assert np.abs(estimate.state.confusion - tables).mean() < 0.05
    assert np.abs(estimate.state.priors - [0.6, 0.3, 0.1]).max() < 0.03
    rates = [qc.error_rate(m.fit(answers), truths) for m in (DawidSkene(), MajorityVote())]
    assert rates[0] < 0.75 * rates[1]


def test_accuracies_are_recovered_with_one_coin():
    crowd = qc.make_crowd(
        tasks=4000,
        workers=20,
        answers_per_task=6,
        labels=range(3),
        accuracy=(0.4, 0.9),
        random_state=3,
    )
    estimate = DawidSkene(one_coin=True).fit(crowd.answers)
    truths = crowd.truths.to_pandas().set_index("task")["label"]
    frame = crowd.answers.to_frame()
    right = (frame["label"] == frame["task"].map(truths)).groupby(frame["worker"]).mean()
    expected = right.loc[crowd.answers.workers.to_pylist()]
    assert np.abs(estimate.state.confusion[:, 0, 0] - expected).max() < 0.03


def test_a_worker_who_always_inverts_is_evidence():
    rows = [(t, w, t % 2) for t in range(40) for w in "uv"] + [
        (t, "x", 1 - t % 2) for t in range(50)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    for one_coin in (False, True):
        truths = (
            DawidSkene(one_coin=one_coin)
            .fit(frame, non_private=True)
            .truths.set_index("task")["truth"]
        )
        assert (truths == truths.index % 2).all()


def test_known_truths_count_where_nobody_answered():
    frame = pd.DataFrame({"task": [1, 2], "worker": ["u", "u"], "label": ["a", "b"]})
    answers = Answers.from_frame(frame, ABC, tasks=[1, 2, 3, 4])
    gold = pd.DataFrame({"task": [3], "label": ["c"]})
    estimate = DawidSkene(class_smoothing=0, max_iter=1).fit(answers, gold=gold)
    np.testing.assert_allclose(estimate.state.priors, [1 / 3] * 3, atol=1e-9)
    assert estimate.truths["truth"].isna().tolist() == [False, False, False, True]


METHODS = [
    DawidSkene(),
    DawidSkene(one_coin=True),
    DawidSkene(**NO_PRIORS),
    DawidSkene(one_coin=True, **NO_PRIORS),
]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
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
def test_degenerate_answers(method, rows):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    votes = MajorityVote().fit(Answers.from_frame(frame, ABC))
    for data in (frame, Answers.from_frame(frame, ABC)):  # the first has what occurs as labels
        estimate = method.fit(data, non_private=True)
        assert np.isfinite(estimate.history).all()
        assert estimate.truths["confidence"].between(0, 1).all()
        assert estimate.truths["truth"].tolist() == votes.truths["truth"].tolist()
        np.testing.assert_allclose(estimate.state.confusion.sum(axis=2), 1)
        np.testing.assert_allclose(estimate.state.priors.sum(), 1)


def test_a_label_that_nobody_gave_is_improbable():
    crowd = crowd_of(2)
    wide = Answers.from_frame(crowd.answers.to_frame(), Categorical([0, 1, 2]))
    estimate = DawidSkene().fit(wide)
    assert estimate.state.priors[2] < 0.02
    assert not (estimate.truths["truth"] == 2).any()


def test_a_new_worker_starts_as_the_median():
    crowd = crowd_of(3)
    cold = DawidSkene().fit(crowd.answers)
    state = cold.state.take(np.array([3, -1, 0]))
    np.testing.assert_array_equal(state.log_odds[[0, 2]], cold.state.log_odds[[3, 0]])
    np.testing.assert_allclose(state.confusion.sum(axis=2), 1)
    diagonals = np.diagonal(cold.state.confusion, axis1=1, axis2=2)
    new = np.diagonal(state.confusion[1])
    assert (diagonals.min(axis=0) <= new).all()
    assert (new <= diagonals.max(axis=0)).all()
    coin = DawidSkene(one_coin=True).fit(crowd.answers).state
    assert coin.take(np.array([-1])).log_odds[0, 0, 0] == np.sort(coin.log_odds[:, 0, 0])[6]


def test_too_many_cells_are_refused_before_room_is_made():
    crowd = crowd_of(2)
    partition = Partition.of(crowd.answers)
    domain = qc.Categorical(range(40_000))
    summary = attrs.evolve(Summary.of(crowd.answers), domain=domain)
    with pytest.raises(ParameterError, match=r"12 workers and 40,000 labels.*Use one_coin=True"):
        DawidSkene().bind(summary).sweep(partition, None, None)


def test_very_long_tasks_are_refused():
    crowd = crowd_of(2)
    summary = attrs.evolve(Summary.of(crowd.answers), longest_task=2**27)
    with pytest.raises(ParameterError, match="a task may have at most"):
        DawidSkene().bind(summary).sweep(Partition.of(crowd.answers), None, None)


def test_a_start_with_the_other_kind_of_worker_is_refused():
    crowd = crowd_of(3)
    for one_coin in (False, True):
        start = DawidSkene(one_coin=not one_coin).fit(crowd.answers)
        with pytest.raises(ParameterError, match=f"one_coin={one_coin}"):
            DawidSkene(one_coin=one_coin).fit(crowd.answers, init=start)


@pytest.mark.parametrize("name", ["smoothing", "trust", "class_smoothing"])
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1", None])
def test_bad_priors(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be a finite number"):
        DawidSkene(**{name: value})


def test_descriptions():
    method = DawidSkene(one_coin=True, smoothing=0.5, trust=0, class_smoothing=2)
    assert method_from_dict(method.to_dict()) == method
    with pytest.raises(FormatError, match="one_coin"):
        method_from_dict(method.to_dict() | {"one_coin": "yes"})
