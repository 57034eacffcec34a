from functools import partial

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError, SimulatedNoiseWarning
from quietcrowd.inference.registry import METHODS
from quietcrowd.mechanisms import Reports

SUPPORTED = [qc.MajorityVote, qc.WeightedVote, qc.NoiseAware]
LABELS = 30
WORKER_COLUMNS = ["agreement", "accuracy", "accuracy_low", "accuracy_high"]


def crowd(sizes, *, tasks=120, workers=15, per_task=4, seed=0):
    """Return answers, the same as positions, the options of each task, and the truths."""
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(6, 2, workers)
    options, truths, rows, positions = {}, {}, [], []
    for number in range(tasks):
        task, size = f"t{number}", int(rng.choice(sizes))
        options[task] = [f"l{label}" for label in rng.choice(LABELS, size, replace=False)]
        truth = int(rng.integers(size))
        truths[task] = options[task][truth]
        for worker in rng.choice(workers, per_task, replace=False):
            other = (truth + int(rng.integers(1, max(size, 2)))) % size
            answer = truth if rng.random() < accuracy[worker] else other
            rows.append((task, f"w{worker}", options[task][answer]))
            positions.append((task, f"w{worker}", answer))
    names = ["task", "worker", "label"]
    return (
        pd.DataFrame(rows, columns=names),
        pd.DataFrame(positions, columns=names),
        options,
        truths,
    )


def assert_same(found, by_hand, options):
    """Compare an estimate with that of answers which were recoded to positions by hand."""
    truths, expected = found.truths, by_hand.truths
    decoded = [
        options[task][position]
        for task, position in zip(expected["task"], expected["truth"], strict=True)
    ]
    assert truths["task"].tolist() == expected["task"].tolist()
    assert truths["truth"].tolist() == decoded
    np.testing.assert_allclose(truths["confidence"], expected["confidence"], rtol=0, atol=1e-12)
    assert truths["tied"].equals(expected["tied"])
    for name in WORKER_COLUMNS:
        np.testing.assert_allclose(
            found.workers[name], by_hand.workers[name], rtol=0, atol=1e-12, err_msg=name
        )
    np.testing.assert_allclose(
        found.posterior["probability"], by_hand.posterior["probability"], rtol=0, atol=1e-12
    )
    assert (found.n_iter, found.history, found.notes) == (
        by_hand.n_iter,
        by_hand.history,
        by_hand.notes,
    )
    assert list(found.workers.columns) == list(by_hand.workers.columns)
    if "flag" in found.workers:
        assert found.workers["flag"].tolist() == by_hand.workers["flag"].tolist()


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("method", SUPPORTED)
def test_equally_many_options_give_what_recoding_by_hand_gives(method, size):
    frame, positions, options, truths = crowd([size], seed=size)
    answers = qc.Answers.from_frame(frame, options=options)
    by_hand = qc.Answers.from_frame(positions, qc.Categorical(range(size)))
    assert_same(method().fit(answers), method().fit(by_hand), options)
    known = {task: truths[task] for task in list(truths)[:15]}
    places = {task: options[task].index(label) for task, label in known.items()}
    if method is qc.NoiseAware:  # known truths of recoded answers tell of each position, too
        method = partial(method, shared_errors=False)
    assert_same(method().fit(answers, gold=known), method().fit(by_hand, gold=places), options)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoiseIgnoredWarning")
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("method", SUPPORTED)
def test_reports_give_what_recoding_by_hand_gives(method, size):
    frame, _, options, _ = crowd([size], seed=size)
    answers = qc.Answers.from_frame(frame, options=options)
    reports = qc.RandomizedResponse(domain=answers.domain, epsilon=2.0).simulate(
        answers, random_state=1
    )
    table = reports.table
    places = table.options.positions(table.task_codes, table.values).astype(np.uint8)
    labels = qc.Categorical(range(size))
    by_hand = Reports(
        table=table.with_values(labels, places),
        mechanism=qc.RandomizedResponse(domain=labels, epsilon=2.0),
        simulated=True,
    )
    assert_same(method().fit(reports), method().fit(by_hand), options)


@pytest.mark.parametrize("method", SUPPORTED)
def test_different_numbers_of_options_share_the_workers(method):
    frame, _, options, truths = crowd([1, 2, 2, 3, 4], tasks=300, workers=30)
    answers = qc.Answers.from_frame(frame, options=options)
    estimate = method().fit(answers)
    found = estimate.truths
    assert all(
        label in options[task] for task, label in zip(found["task"], found["truth"], strict=True)
    )
    assert qc.error_rate(estimate, truths) < 0.15
    assert estimate.workers["answers"].sum() == len(frame)
    alone = found["task"].map(lambda task: len(options[task]) == 1)
    assert found["confidence"][alone].eq(1.0).all()
    posterior = estimate.posterior
    assert len(posterior) == sum(map(len, options.values()))
    assert posterior.groupby("task")["probability"].sum().to_numpy() == pytest.approx(1.0)
    best = posterior.groupby("task")["probability"].max()
    assert best[found["task"]].to_numpy() == pytest.approx(found["confidence"].to_numpy())
    table = estimate.probabilities()
    assert table.shape == (300, answers.domain.size)
    assert table.loc["t0"].drop(options["t0"]).eq(0.0).all()


@pytest.mark.parametrize("method", SUPPORTED)
def test_order_and_threads_change_no_bit(method):
    frame, _, options, _ = crowd([2, 3])
    shuffled = frame.sample(frac=1.0, random_state=1)
    first = method().fit(qc.Answers.from_frame(frame, options=options), n_jobs=1)
    other = method().fit(qc.Answers.from_frame(shuffled, options=options), n_jobs=2)
    for name, column in (("truths", "task"), ("workers", "worker")):
        one, another = (
            getattr(estimate, name).sort_values(column, ignore_index=True)
            for estimate in (first, other)
        )
        pd.testing.assert_frame_equal(one, another, check_exact=True)


def test_answers_to_one_group_tell_about_the_workers_of_another():
    frame, _, options, _ = crowd([2], tasks=40, workers=3, per_task=3)
    more, _, others, _ = crowd([3], tasks=200, workers=3, per_task=3, seed=1)
    bad = more["worker"] == "w0"
    more.loc[bad, "label"] = [others[task][0] for task in more["task"][bad]]
    more["task"] += "b"
    both = {**options, **{f"{task}b": labels for task, labels in others.items()}}
    answers = qc.Answers.from_frame(pd.concat([frame, more]), options=both)
    for method in (qc.WeightedVote(), qc.NoiseAware()):
        apart = method.fit(qc.Answers.from_frame(frame, options=options))
        together = method.fit(answers)
        confidence = [
            estimate.truths.set_index("task")["confidence"][list(options)]
            for estimate in (apart, together)
        ]
        assert not np.allclose(*confidence, atol=1e-3)
        accuracy = together.workers.set_index("worker")["accuracy"]
        assert accuracy["w0"] < accuracy[["w1", "w2"]].min()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_other_methods_say_which_ones_read_options(name):
    frame, _, options, _ = crowd([2], tasks=10)
    answers = qc.Answers.from_frame(frame, options=options)
    if METHODS[name] in SUPPORTED:
        assert qc.Answers.from_frame(
            METHODS[name]().fit(answers).answers.to_frame(), options=options
        )
        return
    message = f"{METHODS[name].__name__} does not read options per task. MajorityVote, WeightedVote"
    with pytest.raises(AnswerError, match=message):
        METHODS[name]().fit(answers)


def test_the_default_method_reads_options():
    frame, _, options, _ = crowd([2, 3])
    answers = qc.Answers.from_frame(frame, options=options)
    assert qc.fit(answers).method == qc.NoiseAware()
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=2.0)
    with pytest.warns(SimulatedNoiseWarning):
        assert qc.fit(mechanism.simulate(answers, random_state=1)).method == qc.NoiseAware()


def test_a_known_truth_is_an_option_of_its_task():
    frame, _, options, _ = crowd([2])
    answers = qc.Answers.from_frame(frame, options=options)
    other = next(label for label in answers.domain.labels if label not in options["t3"])
    with pytest.raises(AnswerError, match=f"'{other}' is not an option of task 't3', whose"):
        qc.NoiseAware().fit(answers, gold={"t3": other})


def test_a_task_without_answers_has_a_known_truth_or_none():
    frame, _, options, _ = crowd([2, 3], tasks=20)
    tasks = [*options, "u1", "u2", "u3"]
    options |= {"u1": ["l1", "l2"], "u2": ["l1", "l2"], "u3": ["l1"]}
    answers = qc.Answers.from_frame(frame, options=options, tasks=tasks)
    for method in SUPPORTED:
        found = method().fit(answers, gold={"u1": "l2"}).truths.set_index("task")
        assert found.loc["u1", ["truth", "confidence"]].tolist() == ["l2", 1.0]
        assert found.loc[["u2", "u3"], ["truth", "confidence"]].isna().all(axis=None)


def test_what_needs_one_list_of_labels_is_refused():
    frame, _, options, _ = crowd([2], tasks=30)
    answers = qc.Answers.from_frame(frame, options=options)
    plain = qc.Answers.from_frame(frame, answers.domain)
    estimate = qc.NoiseAware().fit(answers)
    with pytest.raises(AnswerError, match="neither a start nor an extension"):
        qc.NoiseAware().fit(answers, init=estimate)
    with pytest.raises(AnswerError, match="neither a start nor an extension"):
        qc.NoiseAware().extend(estimate, frame)
    with pytest.raises(AnswerError, match="neither a start nor an extension"):
        qc.NoiseAware().fit(plain, init=estimate)
    with pytest.raises(AnswerError, match="neither a start nor an extension"):
        qc.MajorityVote().extend(qc.MajorityVote().fit(plain.canonical), answers)
    with pytest.raises(ParameterError, match="prior is about labels"):
        qc.NoiseAware(prior={"l1": 0.5}).fit(answers)
    with pytest.raises(ParameterError, match="cannot be suggested"):
        estimate.suggest_tasks(3)
    single = qc.Answers.from_frame(
        pd.DataFrame({"task": ["t"], "worker": ["w"], "label": ["l"]}), options={"t": ["l"]}
    )
    with pytest.raises(AnswerError, match="every task has one option"):
        qc.MajorityVote().fit(single)


def test_groups_may_have_labels_of_several_sizes_in_memory():
    many = [f"l{place}" for place in range(300)]
    rows = [
        (task, worker, label) for task, label in (("a", "l299"), ("b", "l1")) for worker in "uv"
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = qc.Answers.from_frame(frame, options={"a": many, "b": ["l0", "l1"]})
    for method in (qc.MajorityVote(), qc.WeightedVote()):
        assert method.fit(answers).truths["truth"].tolist() == ["l299", "l1"]
