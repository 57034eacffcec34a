"""The model of labels that knows the noise."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    NoSignalWarning,
    ParameterError,
    SimulatedNoiseWarning,
)
from quietcrowd.inference import ignores_noise
from quietcrowd.inference.labels import noise_aware as noise_aware_labels
from quietcrowd.inference.labels.crowd import CrowdState, CrowdTally
from quietcrowd.inference.labels.noise_aware import check_has_table
from quietcrowd.inference.loop import run_loop
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.scale import infer_store, partition_parquet

pytestmark = [
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning"),
    pytest.mark.filterwarnings(
        "ignore::quietcrowd.exceptions.NoSignalWarning"
    ),  # has tests of its own
]

VOTE = 2.0**-24
"""What votes are rounded to."""

ROUNDING = 1e-10
"""What the objective per answer may fall by: what rounding of the sums does is about 1e-13."""

CROWD = qc.make_crowd(
    kind="guessing",
    tasks=150,
    workers=24,
    answers_per_task=5,
    labels=["a", "b", "c"],
    random_state=1,
)
DOMAIN = CROWD.answers.domain

MECHANISMS = {
    "plain": None,
    "one layer": lambda domain, epsilon: qc.RandomizedResponse(domain=domain, epsilon=epsilon),
    "NULL": lambda domain, epsilon: qc.RandomizedResponse(
        domain=domain, epsilon=epsilon, missing="category"
    ),
    "flips": lambda domain, epsilon: TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=domain, epsilon=epsilon + np.log(domain.size - 1)
    ),
    "epsilons": lambda domain, epsilon: TwoLayerRandomizedResponse(
        domain=domain, epsilon=epsilon, distribution="epsilon"
    ),
    "two layers, NULL": lambda domain, epsilon: TwoLayerRandomizedResponse(
        domain=domain, epsilon=epsilon, distribution="epsilon", missing="category"
    ),
}


def reported(crowd, name, epsilon=2.0, seed=2):
    if MECHANISMS[name] is None:
        return crowd.answers
    mechanism = MECHANISMS[name](crowd.answers.domain, epsilon)
    return mechanism.simulate(crowd.answers, random_state=seed)


def frame_of_truths(crowd, count):
    return crowd.truths.to_pandas().iloc[:count]


def prepared(data, method, gold=None):
    return method.prepare(Observations.read(data, method), gold)[:2]


crowds = st.builds(
    lambda labels, seed, workers, answers, low: qc.make_crowd(
        kind="guessing",
        tasks=40,
        workers=workers,
        answers_per_task=min(answers, workers),
        labels=range(labels),
        accuracy=(low, 0.95),
        random_state=seed,
    ),
    st.sampled_from([2, 3, 5]),  # each is a kernel to compile
    st.integers(0, 2**31 - 1),
    st.integers(1, 30),
    st.integers(1, 9),
    st.sampled_from([0.05, 0.5, 0.8]),
)


@pytest.mark.nightly
@pytest.mark.slow
@given(
    crowds,
    st.sampled_from(list(MECHANISMS)),
    st.sampled_from([0.3, 2.0, 6.0]),
    st.sampled_from([0, 7]),
    st.booleans(),
)
def test_the_objective_rises_in_every_sweep(crowd, name, epsilon, known, with_prior):
    labels = crowd.answers.domain.labels
    prior = {str(labels[0]): 0.6} if with_prior else None
    method = qc.NoiseAware(prior=prior, max_iter=25, tol=0.0)
    history = method.fit(
        reported(crowd, name, epsilon), gold=frame_of_truths(crowd, known) if known else None
    ).history
    assert np.diff(history).min(initial=0.0) > -ROUNDING


@pytest.mark.nightly
@pytest.mark.slow
@given(crowds, st.sampled_from(list(MECHANISMS)[1:]), st.sampled_from([0.3, 2.0, 6.0]))
def test_no_vote_says_more_than_its_report_may_tell(crowd, name, epsilon):
    reports = reported(crowd, name, epsilon)
    estimate = qc.NoiseAware(max_iter=8).fit(reports)
    votes = estimate.state.votes.astype(np.int64)
    spread = np.ptp(votes, axis=2).max(axis=1) * VOTE
    counts = np.append(estimate.summary.answers_per_worker, 1)
    mechanism = reports.mechanism
    if mechanism.every_task:
        counts[:] = estimate.summary.tasks
    exact = [
        mechanism.guarantee(
            answers=int(count),
            **({"tasks": int(count)} if mechanism.every_task else {}),
        ).epsilon
        for count in np.maximum(counts, 1)
    ]
    assert (spread <= np.array(exact) + 2 * VOTE).all()


@pytest.mark.nightly
@given(st.integers(0, 2**32 - 1), st.sampled_from([(2, 2), (3, 4), (3, 3)]), st.booleans())
def test_of_any_table_the_objective_rises_and_votes_are_bounded(seed, shape, shared):
    labels, reports = shape
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(reports), labels).clip(1e-3)
    channel = TableChannel.rounded(table / table.sum(axis=1, keepdims=True))
    assume(channel.epsilon > 0)
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=40,
        workers=12,
        answers_per_task=5,
        labels=range(labels),
        random_state=seed % 1000,
    )
    answers = crowd.answers
    distribution = channel.probabilities[answers.values]
    drawn = (distribution.cumsum(axis=1) < rng.random((len(distribution), 1))).sum(axis=1)
    noisy = Partition.of(answers)
    noisy = type(noisy)(
        offsets=noisy.offsets,
        worker_codes=noisy.worker_codes,
        values=np.minimum(drawn, reports - 1).astype(np.uint8),
        draws=noisy.draws,
        known_truths=noisy.known_truths,
    )
    summary = Summary.of(answers, channel)
    if shared:  # one of two channels for all reports of a worker
        tables = np.stack([channel.probabilities, channel.probabilities[::-1]])
        summary = Summary.of(
            answers,
            channel,
            report_distribution=ReportDistribution(
                chances=np.array([0.5, 0.5]), tables=tables, loss=np.log1p
            ),
        )
    summary = evolve(summary, other_reports=reports > labels)
    method = qc.NoiseAware(max_iter=20, tol=0.0)
    result = run_loop(method.bind(summary), [noisy], n_jobs=1)
    assert np.diff(result.history).min(initial=0.0) > -ROUNDING
    counts = np.append(answers.answers_per_worker, 1)
    most = np.log1p(counts) if shared else np.full(len(counts), channel.epsilon)
    spread = np.ptp(result.state.votes.astype(np.int64), axis=2).max(axis=1) * VOTE
    assert (spread <= most + 2 * VOTE).all()


@pytest.mark.parametrize("name", ["plain", "NULL", "flips"])
def test_neither_threads_nor_partitions_change_a_bit(name):
    method = qc.NoiseAware(max_iter=5)
    model, partition = prepared(reported(CROWD, name), method, frame_of_truths(CROWD, 25))
    whole = run_loop(model, [partition], n_jobs=1)
    for parts, n_jobs in ((partition.split(7), 1), (partition.split(3), 3)):
        split = run_loop(model, parts, n_jobs=n_jobs)
        assert split.history == whole.history
        for found, expected in zip(split.estimates.arrays, whole.estimates.arrays, strict=True):
            np.testing.assert_array_equal(found, expected)
        for field in ("log_odds", "votes", "constancy", "communities", "mistakes"):
            np.testing.assert_array_equal(getattr(split.state, field), getattr(whole.state, field))
        for field in ("shares", "tilt"):
            found, expected = (getattr(run.state.truth_map, field) for run in (split, whole))
            np.testing.assert_array_equal(found, expected)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", ["one layer", "NULL", "flips", "two layers, NULL"])
def test_a_store_with_a_checkpoint_gives_the_bits_of_memory(name, tmp_path):
    reports, gold = reported(CROWD, name), frame_of_truths(CROWD, 30)
    qc.write_reports(reports, tmp_path / "reports.parquet")
    store = partition_parquet(tmp_path / "reports.parquet", tmp_path / "store", partitions=4)
    whole = qc.NoiseAware(max_iter=9, tol=0.0)
    expected = qc.NoiseAware(max_iter=9, tol=0.0).fit(reports, gold=gold)
    run = {"gold": gold, "checkpoint": tmp_path / "run.checkpoint", "n_jobs": 2}
    for updates in (4, 9):  # the second run goes on from the first
        method = qc.NoiseAware(max_iter=updates, tol=0.0)
        found = infer_store(store, method, tmp_path / "t.parquet", **run)
    assert found.history == expected.history
    assert isinstance(found.state, CrowdState)
    assert type(found.state.updates) is int
    assert (found.shared_errors, found.state.updates) == (expected.shared_errors, 9)
    assert found.shared_errors.known_truths == 30
    np.testing.assert_array_equal(found.state.truth_map.tilt, expected.state.truth_map.tilt)
    assert found.state.truth_map.tilt.any()
    truths = pa.parquet.read_table(found.truths).to_pandas().set_index("task")
    truths = truths.loc[expected.truths["task"].astype(truths.index.dtype)].reset_index()
    np.testing.assert_array_equal(truths["truth"], expected.truths["truth"])
    np.testing.assert_array_equal(truths["confidence"], expected.truths["confidence"])
    pd.testing.assert_frame_equal(found.workers.to_pandas(), expected.workers, check_exact=True)
    assert whole.fit(reports, gold=gold).history == expected.history


@pytest.mark.parametrize("name", ["plain", "one layer"])
def test_of_many_labels_the_last_state_alone_has_the_reports_that_nobody_gave(name):
    crowd = qc.make_crowd(
        kind="guessing", tasks=60, workers=9, answers_per_task=4, labels=range(20), random_state=5
    )
    reports, method = reported(crowd, name), qc.NoiseAware(groups=False, max_iter=6, tol=0.0)
    model, partition = prepared(reports, method)
    given = np.zeros((10, 20), bool)
    given[partition.worker_codes, partition.values] = True
    assert not given[:-1].all()
    saved = []
    run_loop(model, [partition], save=saved.append)
    for progress in saved[:-1]:
        for table in (progress.state.log_odds, progress.state.votes):
            assert table[given].any(axis=1).all()
            assert not table[~given].any()
    *_, before, last = (progress.state for progress in saved)
    assert last.votes.any(axis=2).all()
    np.testing.assert_array_equal(last.log_odds[~given], last.votes[~given])
    updated, _ = model.update(model.sweep(partition, before, None), before)
    np.testing.assert_array_equal(updated.log_odds[given], last.log_odds[given])
    np.testing.assert_array_equal(updated.votes[given], last.votes[given])


@pytest.mark.grid
@pytest.mark.parametrize("prior", [None, {"a": 0.1, "b": 0.2, "c": 0.7}])
@pytest.mark.parametrize("earlier", [None, {"a": 1.0}, {"a": 0.3, "b": 0.3, "c": 0.4}])
def test_of_a_start_with_another_prior_workers_are_taken_over_alone(prior, earlier):
    reports = reported(CROWD, "one layer", epsilon=1.0)
    start = NoiseAware(prior=earlier, max_iter=10).fit(reports)
    method = NoiseAware(prior=prior, tol=1e-7)
    found, anew = method.fit(reports, init=start), method.fit(reports)
    assert (found.truths["truth"] == anew.truths["truth"]).mean() > 0.95
    passed = NoiseAware(prior=prior, max_iter=1).fit(reports, init=start)
    if prior is not None:
        shares = np.exp(passed.state.log_priors / 2.0**32)
        np.testing.assert_allclose(shares, list(prior.values()), atol=1e-9)
        assert passed.history[0] == pytest.approx(found.history[0], abs=1e-12)
    with pytest.raises(ParameterError, match=r"init must be an estimate of .*prior=.*got one of"):
        NoiseAware(prior={"b": 0.5}).extend(start, reports)


@pytest.mark.grid
@pytest.mark.parametrize("name", MECHANISMS)
def test_known_truths_stay_and_an_earlier_estimate_is_a_start(name):
    reports, gold = reported(CROWD, name), frame_of_truths(CROWD, 30)
    method = qc.NoiseAware(max_iter=60, tol=1e-5)
    first = method.fit(reports, gold=gold)
    merged = first.truths.merge(gold, on="task")
    assert len(merged) == 30
    assert (merged["truth"] == merged["label"]).all()
    assert (merged["confidence"] == 1.0).all()
    again = method.fit(reports, gold=gold, init=first)
    assert again.n_iter < first.n_iter
    assert again.state.updates == first.state.updates + again.n_iter
    assert again.history[0] > first.history[-1] - 1e-3
    assert (again.truths["truth"] == first.truths["truth"]).mean() > 0.97


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_new_tasks_with_new_workers_extend_an_estimate(name):
    frame = CROWD.answers.to_frame()
    new = (frame["task"].astype(int) < 15).to_numpy()
    old_workers = set(frame["worker"].unique()[:20])
    parts = [frame[~new & frame["worker"].isin(old_workers)], frame[new]]
    answers = [qc.Answers.from_frame(part, DOMAIN) for part in parts]
    mechanism = MECHANISMS[name] and MECHANISMS[name](DOMAIN, 2.0)
    if mechanism is not None:
        rng = np.random.default_rng(4)
        answers = [mechanism.simulate(part, random_state=rng) for part in answers]
    method = qc.NoiseAware(max_iter=12, tol=0.0)
    first = method.fit(answers[0])
    more = method.extend(first, answers[1])
    assert len(more.truths) == 15
    assert len(more.workers) > len(first.workers)
    assert more.state.log_odds.shape == (len(more.workers) + 1, 3, 3)
    assert np.diff(more.history).min(initial=0.0) > -ROUNDING
    np.testing.assert_array_equal(more.state.guesses, first.state.guesses)
    truths = CROWD.truths.to_pandas().set_index("task")["label"]
    found = more.truths.set_index("task")["truth"]
    if name == "plain":
        assert (found == truths[found.index]).sum() >= 11
    both = method.extend(more, _later(mechanism))
    assert both.tally.known.compared == 0
    assert len(both.truths) == 5


def _later(mechanism):
    rows = [(f"later {task}", worker, "a") for task in range(5) for worker in range(6)]
    answers = qc.Answers.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]), DOMAIN)
    return answers if mechanism is None else mechanism.simulate(answers, random_state=5)


def surer(crowd, known):
    """Return the shared errors, the mean confidence and the error of calibration."""
    gold = frame_of_truths(crowd, known) if known else None
    estimate = qc.NoiseAware().fit(crowd.answers, gold=gold)
    merged = estimate.truths.merge(crowd.truths.to_pandas().iloc[200:], on="task")
    right = (merged["truth"] == merged["label"]).to_numpy()
    confidence = merged["confidence"].to_numpy()
    tenths = np.minimum((confidence * 10).astype(int), 9)
    error = np.abs(np.bincount(tenths, right - confidence)).sum() / len(right)  # of calibration
    return estimate.shared_errors.size, confidence.mean(), error


@pytest.mark.slow
def test_known_truths_tell_how_sure_estimates_should_be():
    together = qc.make_crowd(
        kind="guessing",
        tasks=1200,
        workers=60,
        answers_per_task=12,
        misled=0.5,
        pull=0.7,
        random_state=5,
    )
    blind, told = surer(together, 0), surer(together, 200)
    assert told[0] > blind[0]
    assert told[1] < blind[1] - 0.05
    assert told[2] < 0.6 * blind[2]
    alone = qc.make_crowd(
        kind="guessing", tasks=1200, workers=60, answers_per_task=12, random_state=5
    )
    blind, told = surer(alone, 0), surer(alone, 200)
    assert told[0] < 0.02 < blind[0]
    assert told[2] < 0.03 < blind[2]


@pytest.mark.parametrize("epsilon", [None, 3.0])
def test_workers_who_always_give_one_label_are_told_apart(epsilon):
    crowd = qc.make_crowd(
        kind="guessing", tasks=300, workers=30, answers_per_task=10, random_state=6
    )
    frame = crowd.answers.to_frame()
    constant = frame["worker"].astype(int) >= 24
    frame.loc[constant, "label"] = "yes"
    answers = qc.Answers.from_frame(frame, crowd.answers.domain)
    data = answers
    if epsilon is not None:
        mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon)
        data = mechanism.simulate(answers, random_state=7)
    estimate = qc.NoiseAware().fit(data)
    names = np.array(estimate.workers["worker"].astype(int))
    constancy = estimate.state.constancy[:-1]
    assert constancy[names >= 24].min() > 0.9
    assert constancy[names < 24].max() < 0.1


@pytest.mark.slow
def test_few_tasks_with_truths_that_are_almost_all_alike():
    """Without workers of even accuracies 58 of 1,000 are wrong, with a majority vote 101."""
    wrong = 0
    for seed in range(20):
        crowd = qc.make_crowd(
            kind="guessing",
            tasks=50,
            workers=15,
            answers_per_task=5,
            truths=(0.95, 0.05),
            accuracy=(0.5, 1.0),
            guesses=(0.5, 0.5),
            random_state=seed,
        )
        estimate = qc.NoiseAware().fit(crowd.answers)
        wrong += round(qc.error_rate(estimate, crowd.truths) * 50)
    assert wrong < 50


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "epsilon", "factor"),
    [
        ({"truths": (0.9, 0.1), "accuracy": (0.6, 0.95), "answers_per_task": 8}, 1.0, 0.8),
        ({"labels": list("abcd"), "accuracy": (0.15, 0.8), "answers_per_task": 12}, 3.0, 0.85),
        (
            {"labels": list("abcd"), "guesses": (0.7, 0.1, 0.1, 0.1), "accuracy": (0.25, 0.8)},
            3.0,
            0.9,
        ),
    ],
)
def test_it_is_clearly_better_on_skewed_and_on_weak_crowds(options, epsilon, factor):
    errors = {"aware": 0.0, "dawid-skene": 0.0, "majority": 0.0}
    methods = {"aware": qc.NoiseAware(), "dawid-skene": qc.DawidSkene()}
    methods["majority"] = qc.MajorityVote()
    for seed in range(3):
        crowd = qc.make_crowd(
            kind="guessing",
            **{
                "tasks": 1000,
                "workers": 60,
                "answers_per_task": 12,
                "random_state": seed,
                **options,
            },
        )
        mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon)
        reports = mechanism.simulate(crowd.answers, random_state=seed)
        for name, method in methods.items():
            with ignores_noise():
                errors[name] += qc.error_rate(method.fit(reports), crowd.truths) / 3
    assert errors["aware"] < factor * min(errors["dawid-skene"], errors["majority"]), errors


def test_a_posterior_sums_to_one_and_is_that_of_the_estimates():
    method = qc.NoiseAware(max_iter=5)
    gold = frame_of_truths(CROWD, 30)
    reports = reported(CROWD, "flips")
    estimate = method.fit(reports, gold=gold)
    model, partition = prepared(reports, method, gold)
    posterior = model.posterior(partition, estimate.state)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(posterior.max(axis=1), estimate.estimates.confidence)


def test_a_single_label_a_single_worker_and_a_single_answer():
    rows = [(task, worker, "x") for task in range(3) for worker in range(task + 1)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    for data in (frame, frame.iloc[:1]):
        estimate = qc.NoiseAware().fit(data, non_private=True)
        assert (estimate.truths["truth"] == "x").all()
        assert (estimate.truths["confidence"] == 1.0).all()
        assert np.isfinite(estimate.history).all()
    alone = frame.assign(worker=0, label=["x", "y", "x", "x", "x", "x"]).drop_duplicates("task")
    confidence = qc.NoiseAware().fit(alone, non_private=True).truths["confidence"]
    assert ((confidence > 0.5) & (confidence < 1.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NULL", "two layers, NULL"])
def test_workers_and_tasks_without_answers_are_no_trouble(name):
    answers = qc.Answers.from_frame(
        pd.DataFrame({"task": [1, 2, 1], "worker": ["u", "u", "v"], "label": ["a", "b", "a"]}),
        qc.Categorical(["a", "b"]),
        tasks=list(range(1, 9)),
        workers=["u", "v", "w", "x"],
    )
    mechanism = MECHANISMS[name](answers.domain, 4.0)
    estimate = None
    for seed in range(5):
        reports = mechanism.simulate(answers, random_state=seed)
        try:
            estimate = qc.NoiseAware().fit(reports)
        except AnswerError as error:  # all said nothing
            assert "there is no answer" in str(error)  # noqa: PT017
            continue
        assert np.isfinite(estimate.history).all()
        assert np.isfinite(estimate.state.constancy).all()
        missing = estimate.truths["answers"] == 0
        assert (estimate.truths["confidence"].isna() == missing).all()
    assert estimate is not None


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("plain", 1.0),
        ("one layer", 0.0),
        ("one layer", 16.0),
        ("NULL", 0.0),
        ("NULL", 16.0),
        ("two layers, NULL", 0.0),
        ("two layers, NULL", 8.0),
    ],
)
def test_the_least_and_the_most_noise_and_frequencies_of_nothing(name, epsilon):
    gold = frame_of_truths(CROWD, 30)
    for prior in (None, {"a": 0.0}, {"a": 1.0}):
        method = qc.NoiseAware(prior=prior, max_iter=8, tol=0.0)
        estimate = method.fit(reported(CROWD, name, epsilon), gold=gold)
        assert np.isfinite(estimate.history).all()
        assert np.diff(estimate.history).min() > -ROUNDING
        assert 0 < estimate.shared_errors.low < estimate.shared_errors.high < 0.5
        assert (estimate.truths["truth"][estimate.known] == gold["label"].to_numpy()).all()


def test_what_it_cannot_read_or_hold_is_refused(monkeypatch):
    laplace = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0, fill=None)
    with pytest.raises(AnswerError, match="NoiseAware needs labels"):
        check_has_table(laplace)
    monkeypatch.setattr(noise_aware_labels, "MOST_PROBABILITIES", 24 * 3 * 3 * 9 - 1)
    qc.NoiseAware(max_iter=1).fit(reported(CROWD, "one layer"))
    with pytest.raises(ParameterError, match=r"3 labels and 3 kinds of reports need 9 tables"):
        qc.NoiseAware().fit(reported(CROWD, "flips"))
    monkeypatch.setattr(noise_aware_labels, "MOST_CELLS", 100)
    with pytest.raises(ParameterError, match=r"24 workers, 3 labels and 3 kinds .*vote\)"):
        qc.NoiseAware().fit(CROWD.answers)


def test_hundreds_of_labels_are_refused_before_there_is_no_memory():
    domain = qc.Categorical(list(range(1000)))
    rows = pd.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [3, 4]})
    answers = qc.Answers.from_frame(rows, domain)
    with pytest.raises(ParameterError, match=r"1,000 labels .* Use WeightedVote, .* or fewer"):
        qc.NoiseAware().fit(answers)


def test_units_are_those_of_a_tally_after_an_extension():
    method = qc.NoiseAware(max_iter=3)
    estimate = method.fit(reported(CROWD, "one layer"))
    tally, unit = estimate.tally, estimate.model.unit
    assert isinstance(tally, CrowdTally)
    assert tally.counts.sum() / unit == pytest.approx(estimate.summary.answers, rel=1e-6)
    assert tally.classes.sum() / unit == pytest.approx(estimate.summary.tasks, rel=1e-6)


HIDDEN = qc.make_crowd(tasks=300, workers=40, answers_per_task=10, random_state=2)


def one_layer(answers, epsilon):
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon)
    return mechanism.simulate(answers, random_state=0)


def test_where_noise_hides_the_truths_it_says_so():
    with pytest.warns(NoSignalWarning, match="noise hides the truths: .* if all were"):
        qc.NoiseAware().fit(one_layer(HIDDEN.answers, 0.05))


@pytest.mark.parametrize("epsilon", [3.0, None])
def test_where_estimates_are_sure_it_says_nothing_also_if_truths_are_alike(epsilon):
    alike = HIDDEN.answers.with_values(HIDDEN.answers.domain, np.ones_like(HIDDEN.answers.values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        for answers in (alike, HIDDEN.answers):
            qc.NoiseAware().fit(answers if epsilon is None else one_layer(answers, epsilon))


def copied(copies, tasks=240, honest=30, labels=4, seed=3):
    """Return answers of honest workers and of copies of one source, and the truths.

    The source is right on a third of the tasks, and each copy follows it with .95.
    """
    rng = np.random.default_rng(seed)
    truths = rng.integers(labels, size=tasks)
    source = np.where(rng.random(tasks) < 0.35, truths, rng.integers(labels, size=tasks))
    follows = np.append(rng.uniform(0.55, 0.85, honest), np.full(copies, 0.95))
    task, worker = np.nonzero(
        rng.random((tasks, len(follows))) < np.where(np.arange(len(follows)) < honest, 0.35, 0.8)
    )
    followed = np.where(worker < honest, truths[task], source[task])
    random = rng.integers(labels, size=len(task))
    answers = np.where(rng.random(len(task)) < follows[worker], followed, random)
    names = np.where(worker < honest, "honest ", "copy ").astype(object) + worker.astype(str)
    frame = pd.DataFrame({"task": task, "worker": names, "label": answers})
    domain = qc.Categorical(range(labels))
    return qc.Answers.from_frame(frame, domain), pd.Series(truths, name="label")


def with_noise(answers, epsilon):
    return answers if epsilon is None else one_layer(answers, epsilon)


def error_of(estimate, truths):
    return (estimate.truths.set_index("task")["truth"] != truths).mean()


@pytest.mark.parametrize("epsilon", [None, 3.0])
def test_copies_of_one_account_count_as_one_source(epsilon):
    together, truths = copied(12)
    alone = together.to_frame()
    alone = alone[alone["worker"].str.startswith("honest")]
    alone = qc.Answers.from_frame(alone, together.domain)
    estimate = qc.NoiseAware().fit(with_noise(together, epsilon))
    deceived = qc.NoiseAware(groups=False).fit(with_noise(together, epsilon))
    expected = error_of(qc.NoiseAware().fit(with_noise(alone, epsilon)), truths)
    assert error_of(deceived, truths) > 0.5
    assert error_of(estimate, truths) < expected + 0.04
    flags = estimate.workers.set_index("worker")["flag"]
    named = flags.index[flags == "group 1"]
    assert named.str.startswith("copy").all()
    assert len(named) == 12
    assert '12 workers with the flag "group 1" agree more' in estimate.notes[-1]
    assert np.diff(estimate.history).min() > -ROUNDING


def test_without_a_group_the_search_changes_no_bit():
    for answers in (copied(0)[0], CROWD.answers):
        found, expected = (qc.NoiseAware(groups=groups).fit(answers) for groups in (True, False))
        assert found.history == expected.history
        pd.testing.assert_frame_equal(found.truths, expected.truths, check_exact=True)
        pd.testing.assert_frame_equal(found.workers, expected.workers, check_exact=True)


@pytest.mark.slow
def test_partitions_and_stores_give_the_bits_of_groups_in_memory(tmp_path):
    reports = one_layer(copied(12)[0], 3.0)
    expected = qc.NoiseAware().fit(reports)
    model, partition = expected.model, expected.partition
    assert len(model.groups) == 1
    split = run_loop(model, partition.split(5), n_jobs=2)
    assert split.history == expected.history
    np.testing.assert_array_equal(split.estimates.confidence, expected.estimates.confidence)
    np.testing.assert_array_equal(split.state.sources, expected.state.sources)
    qc.write_reports(reports, tmp_path / "reports.parquet")
    store = partition_parquet(tmp_path / "reports.parquet", tmp_path / "store", partitions=3)
    run = {"checkpoint": tmp_path / "run.checkpoint", "n_jobs": 1}
    for updates in (3, 30):  # the second run goes on from the first
        method = qc.NoiseAware(max_iter=updates)
        found = infer_store(store, method, tmp_path / "truths.parquet", **run)
    assert found.history == expected.history
    np.testing.assert_array_equal(found.state.sources, expected.state.sources)
    assert found.workers["flag"].to_pylist().count("group 1") == 12


@pytest.mark.slow
def test_groups_stay_when_an_estimate_is_extended_or_started_from():
    answers, truths = copied(12)
    frame = answers.to_frame()
    first = frame["task"] < 200
    begun = qc.NoiseAware().fit(qc.Answers.from_frame(frame[first], answers.domain))
    later = frame[~first].assign(worker=lambda rows: rows["worker"].replace("honest 1", "new"))
    more = qc.NoiseAware().extend(begun, qc.Answers.from_frame(later, answers.domain))
    flags = more.workers.set_index("worker")["flag"]
    assert (flags[flags.index.str.startswith("copy")] == "group 1").all()
    assert error_of(more, truths[200:]) < 0.2
    both = qc.NoiseAware().fit(answers, init=begun)
    fresh = qc.NoiseAware().fit(answers)
    np.testing.assert_allclose(both.truths["confidence"], fresh.truths["confidence"], atol=0.01)
    other = qc.NoiseAware(groups=False).fit(answers, init=begun)
    assert other.state.sources.shape == (0, 4, 4)


def test_reports_with_null_and_switched_off_searches_have_no_groups():
    null = qc.RandomizedResponse(domain=DOMAIN, epsilon=4.0, missing="category")
    assert not qc.NoiseAware().fit(null.simulate(CROWD.answers, random_state=1)).model.seeks_groups
    assert not qc.NoiseAware(groups=False).fit(CROWD.answers).model.seeks_groups
    with pytest.raises(ParameterError, match="groups"):
        qc.NoiseAware(groups="yes")
