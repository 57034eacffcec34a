"""The model of labels whose reports are sets."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve, frozen
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference.sets import noise_aware as noise_aware_sets
from quietcrowd.mechanisms.channels import SetChannel
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.scale import infer_store, partition_parquet

pytestmark = [
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning"),
    pytest.mark.filterwarnings(
        "ignore::quietcrowd.exceptions.NoSignalWarning"
    ),  # has a test of its own
]

CROWD = qc.make_crowd(
    kind="guessing", tasks=150, workers=30, answers_per_task=12, labels=range(6), random_state=3
)


def reported(crowd=CROWD, epsilon=2.0, seed=2, **parameters):
    mechanism = qc.SubsetSelection(domain=crowd.answers.domain, epsilon=epsilon, **parameters)
    return mechanism.simulate(crowd.answers, random_state=seed)


def shuffled(reports, order):
    """Return the same reports with the rows of each task in another order."""
    table = reports.table
    rows = np.arange(len(table))
    for start, end in zip(table.offsets[:-1], table.offsets[1:], strict=True):
        rows[start:end] = order.permutation(rows[start:end])
    moved = evolve(table, worker_codes=table.worker_codes[rows], values=table.values[rows])
    return evolve(reports, table=moved)


@pytest.fixture(scope="module")
def estimate():
    return qc.NoiseAware().fit(reported())


def same(one, other):
    pd.testing.assert_frame_equal(one.truths, other.truths, check_exact=True)
    pd.testing.assert_frame_equal(one.workers, other.workers, check_exact=True)
    pd.testing.assert_frame_equal(one.posterior, other.posterior, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_change_no_bit(estimate, n_jobs):
    same(estimate, qc.NoiseAware().fit(reported(), n_jobs=n_jobs))


@pytest.mark.slow
def test_the_order_of_rows_changes_no_bit(estimate):
    reports = shuffled(reported(), np.random.default_rng(5))
    same(estimate, qc.NoiseAware().fit(reports))


@pytest.mark.slow
def test_a_store_tells_the_same(estimate, tmp_path):
    qc.write_reports(reported(), tmp_path / "r.parquet")
    store = partition_parquet(tmp_path / "r.parquet", tmp_path / "s", partitions=5)
    found = infer_store(store, qc.NoiseAware(), tmp_path / "e.parquet")
    truths = pd.read_parquet(tmp_path / "e.parquet")
    expected = estimate.truths.assign(task=estimate.truths["task"].astype(str))
    ours = truths.assign(task=truths["task"].astype(str)).set_index("task").sort_index()
    theirs = expected.set_index("task").sort_index()
    assert np.array_equal(ours["truth"], theirs["truth"])
    assert np.array_equal(ours["confidence"], theirs["confidence"])
    assert found.n_iter == estimate.n_iter


@frozen(kw_only=True, slots=False)
class SetsByTable(qc.SubsetSelection):
    """The same reports, with a distribution that is given as a table."""

    @property
    def channel(self):
        distribution = SetChannel(distribution=super().channel.distribution).distribution
        logs = distribution.log_likelihood(
            np.arange(distribution.count), np.arange(distribution.labels)[:, np.newaxis]
        )
        return TableChannel.rounded(np.exp(logs))

    @property
    def report_domain(self):
        return qc.SubsetSelection(
            domain=self.domain, epsilon=self.epsilon, set_size=self.set_size
        ).report_domain


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [nightly(0.5), 2.0, nightly(5.0)])
@pytest.mark.parametrize("size", [nightly(1), 2])
def test_posteriors_are_those_by_a_table_of_all_sets(epsilon, size):
    """Mistakes are learnt in another order, and the table is rounded: it is nearly the same."""
    crowd = qc.make_crowd(
        kind="guessing", tasks=200, workers=20, answers_per_task=9, labels=range(4), random_state=1
    )
    sets = reported(crowd, epsilon, set_size=size)
    table = SetsByTable(domain=crowd.answers.domain, epsilon=epsilon, set_size=size)
    by_table = Reports(table=sets.table, mechanism=table, simulated=True)
    ours, theirs = (qc.NoiseAware().fit(reports) for reports in (sets, by_table))
    gap = (ours.posterior["probability"] - theirs.posterior["probability"]).abs()
    assert gap.mean() < 0.02
    assert (ours.truths["truth"] == theirs.truths["truth"]).mean() > 0.93
    wrong = [qc.error_rate(estimate, crowd.truths) for estimate in (ours, theirs)]
    assert abs(wrong[0] - wrong[1]) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("labels", "epsilon"), [(2, 1.0), (5, 0.5), (12, 2.0), (5, 8.0)])
def test_the_objective_rises(labels, epsilon, seed):
    """But a little after mistakes were learnt, from the same pass as the workers were."""
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=60,
        workers=20,
        answers_per_task=8,
        labels=range(labels),
        random_state=seed,
    )
    method = qc.NoiseAware(max_iter=20, tol=0.0)
    history = np.array(method.fit(reported(crowd, epsilon)).history)
    steps = np.diff(history)
    assert steps.min() > -1e-3
    if labels == 2:  # there is one wrong answer, and nothing to learn of it
        assert steps.min() > -1e-10


@pytest.mark.nightly
def test_it_finds_more_than_randomised_response_tells():
    """100 reports a task, 20 labels, epsilon 1: a third of the errors, and not by chance."""
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=300,
        workers=150,
        answers_per_task=100,
        labels=range(20),
        accuracy=(0.7, 0.7),
        random_state=4,
    )
    labels = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    found = [
        qc.error_rate(qc.NoiseAware().fit(reports), crowd.truths)
        for reports in (
            reported(crowd, 1.0),
            labels.simulate(crowd.answers, random_state=1),
        )
    ]
    assert found[0] < 0.15
    assert found[1] > 0.3


@pytest.mark.slow
def test_confidences_are_as_high_as_truths_are_often_right():
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=2000,
        workers=100,
        answers_per_task=20,
        labels=range(8),
        random_state=5,
    )
    estimate = qc.NoiseAware(shared_errors=False).fit(reported(crowd, 1.0))
    right = 1.0 - qc.error_rate(estimate, crowd.truths)
    assert 0.3 < right < 0.9
    assert abs(estimate.truths["confidence"].mean() - right) < 0.05


@pytest.mark.slow
def test_workers_who_always_give_one_label_are_flagged():
    crowd = qc.make_crowd(
        kind="guessing", tasks=300, workers=30, answers_per_task=20, labels=range(6), random_state=6
    )
    frame = crowd.answers.to_frame()
    steady = frame["worker"].isin(sorted(frame["worker"].unique())[:6])
    frame.loc[steady, "label"] = 2
    answers = qc.Answers.from_frame(frame, crowd.answers.domain)
    mechanism = qc.SubsetSelection(domain=answers.domain, epsilon=3.0)
    reports = mechanism.simulate(answers, random_state=1)
    workers = qc.NoiseAware().fit(reports).workers.set_index("worker")
    named = frame.loc[steady, "worker"].unique()
    assert (workers.loc[named, "flag"] == "constant").mean() >= 0.8
    assert (workers.drop(named)["flag"] == "constant").sum() == 0


@pytest.mark.slow
def test_intervals_of_quality_hold_how_often_workers_are_right():
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=600,
        workers=40,
        answers_per_task=12,
        labels=range(6),
        accuracy=(0.5, 0.95),
        random_state=7,
    )
    method = qc.NoiseAware(shared_errors=False)
    workers = method.fit(reported(crowd, 3.0)).workers.set_index("worker")
    told = workers["accuracy"].notna()
    assert told.sum() > 20
    truths = crowd.truths.to_pandas().set_index("task")["label"]
    frame = crowd.answers.to_frame()
    right = (frame["label"] == frame["task"].map(truths)).groupby(frame["worker"]).mean()
    inside = (right >= workers["accuracy_low"]) & (right <= workers["accuracy_high"])
    assert inside[told].mean() > 0.75


@pytest.mark.slow
def test_known_truths_priors_and_starts(estimate):
    gold = CROWD.truths.to_pandas().iloc[:20]
    with_gold = qc.NoiseAware().fit(reported(), gold=gold)
    kept = with_gold.truths.set_index("task").loc[gold["task"], "truth"]
    assert (kept.to_numpy() == gold["label"].to_numpy()).all()
    assert "By 20 known truths" in with_gold.notes[0]
    assert with_gold.shared_errors.known_truths == 20
    sure = qc.NoiseAware(prior={"0": 0.9}).fit(reported(epsilon=0.2))
    assert (sure.truths["truth"] == 0).mean() > 0.9
    again = qc.NoiseAware().fit(reported(), init=estimate)
    assert again.n_iter <= estimate.n_iter


@pytest.mark.slow
def test_new_tasks_are_told_by_what_is_known_of_the_workers():
    crowd = qc.make_crowd(
        kind="guessing", tasks=300, workers=20, answers_per_task=10, labels=range(5), random_state=8
    )
    frame = crowd.answers.to_frame()
    new = frame["task"].isin(frame["task"].unique()[:60])
    mechanism = qc.SubsetSelection(domain=crowd.answers.domain, epsilon=3.0)
    made = [
        mechanism.simulate(qc.Answers.from_frame(rows, crowd.answers.domain), random_state=place)
        for place, rows in enumerate((frame[~new], frame[new]))
    ]
    start = qc.NoiseAware().fit(made[0])
    more = qc.NoiseAware().extend(start, made[1])
    assert len(more.truths) == 60
    assert int(more.workers["answers"].sum()) == len(frame)
    alone = qc.NoiseAware().fit(made[1])
    truths = crowd.truths.to_pandas().iloc[:60]
    wrong = [qc.error_rate(estimate, truths) for estimate in (more, alone)]
    assert wrong[0] <= wrong[1] + 0.05


def test_reports_that_tell_nothing_are_told_of():
    with pytest.warns(NoSignalWarning, match="carry no information about the answers"):
        estimate = qc.NoiseAware().fit(reported(epsilon=0.0))
    assert len(estimate.truths) == 150
    assert estimate.workers["accuracy"].isna().all()


@pytest.mark.parametrize(
    "method", [qc.MajorityVote(), qc.WeightedVote(), qc.DawidSkene(), qc.GLAD()]
)
def test_methods_without_a_model_of_sets_name_the_one_that_has(method):
    with pytest.raises(
        AnswerError, match="--method noise-aware\\) reads them by their distribution"
    ):
        method.fit(reported())


def test_too_many_workers_and_labels(monkeypatch):
    monkeypatch.setattr(noise_aware_sets, "MOST_CELLS", 100)
    with pytest.raises(ParameterError, match="no other method supports sets"):
        qc.NoiseAware().fit(reported())
