from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.mechanisms.added import added

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats import write_table
from quietcrowd.inference import RatioMean, WeightedMean, ignores_noise
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism
from quietcrowd.scale import Store, infer_store, partition_parquet, randomize_store

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

LABELS = qc.Categorical(["no", "perhaps", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
COINS = qc.Categorical([0, 1])
MECHANISMS = {
    "one-layer": qc.RandomizedResponse(domain=LABELS, epsilon=1.0),
    "subset-selection": qc.SubsetSelection(domain=LABELS, epsilon=1.0),
    "null": qc.RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
    "optimal": OptimalMechanism(domain=LABELS, epsilon=1.0, prior={"no": 0.7}),
    "two-layer": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.4),
    "two-layer-null": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    "laplace": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill=None),
    "filled": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0),
    "released": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
    "piecewise": qc.PiecewiseMechanism(domain=NUMBERS, epsilon=1.0),
    "duchi": DuchiMechanism(domain=NUMBERS, epsilon=1.0),
    "hybrid": HybridMechanism(domain=NUMBERS, epsilon=1.0),
}
MECHANISMS |= added(LABELS, map(type, MECHANISMS.values()))


@pytest.fixture(scope="module")
def stores(crowd_files, tmp_path_factory):
    """Return stores of plain answers by their domain."""
    folder = tmp_path_factory.mktemp("stores")
    return {
        domain: partition_parquet(
            crowd_files / f"{kind}.parquet", folder / kind, domain=domain, partitions=7
        )
        for kind, domain in (("labels", LABELS), ("numbers", NUMBERS))
    }


@pytest.fixture(scope="module")
def coins(tmp_path_factory):
    """Return a store in which 400 workers answer 1 to each of 60 tasks, in 5 partitions."""
    folder = tmp_path_factory.mktemp("coins")
    tasks, workers = np.divmod(np.arange(60 * 400), 400)
    frame = pd.DataFrame({"task": tasks, "worker": workers, "label": 1})
    write_table(frame, folder / "a.parquet")
    return partition_parquet(folder / "a.parquet", folder / "s", domain=COINS, partitions=5)


def frame_of(store):
    """Return all that is in a store as a frame: task, worker and stored value."""
    frames = []
    for index in range(len(store.partitions)):
        part = store.partition(index)
        columns = {
            "task": store.task_ids(index).to_pandas().repeat(np.diff(part.offsets)).to_numpy(),
            "worker": store.workers.take(pa.array(part.worker_codes)).to_pandas(),
            "label": store.domain.decode(part.values).to_pandas(),
        }
        if part.participation is not None:
            columns["participation"] = part.participation
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def test_every_mechanism_that_works_task_by_task_is_tested_here():
    taskwise = {
        kind for kind in Mechanism.registry().values() if issubclass(kind, TaskwiseMechanism)
    }
    assert {type(mechanism) for mechanism in MECHANISMS.values()} == taskwise


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_a_store_are_reports(stores, tmp_path, name):
    mechanism = MECHANISMS[name]
    answers = stores[mechanism.domain]
    made = randomize_store(answers, mechanism, tmp_path / "r", random_state=1)
    store = Store.open(tmp_path / "r")
    assert store.fingerprint == made.fingerprint
    assert (store.mechanism, store.simulated) == (mechanism, True)
    sent = len(store) + store.dropped.null_reports
    cells = store.tasks * len(store.workers)
    assert sent == (cells if mechanism.every_task else len(answers))
    assert store.workers.to_pylist() == sorted(answers.workers.to_pylist())
    for index in range(len(store.partitions)):
        ids = store.task_ids(index).to_pylist()
        assert ids == sorted(answers.task_ids(index).to_pylist())
    if not mechanism.every_task:
        keys = ["task", "worker"]
        here, there = frame_of(answers), frame_of(store)
        assert set(map(tuple, here[keys].to_numpy())) == set(map(tuple, there[keys].to_numpy()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-layer", "laplace", "filled", "released"])
def test_the_same_reports_in_memory_tell_the_same(stores, tmp_path, name):
    mechanism = MECHANISMS[name]
    store = randomize_store(stores[mechanism.domain], mechanism, tmp_path / "r", random_state=1)
    frame = frame_of(store)
    reports = mechanism.read_reports(
        pa.Table.from_pandas(frame, preserve_index=False),
        pa.array(sorted(frame["task"].unique())),
        store.workers,
        simulated=True,
    )
    qc.write_reports(reports, tmp_path / "r.parquet")
    method = RatioMean() if name == "released" else qc.MajorityVote()
    if name in ("laplace", "filled"):
        method = WeightedMean()
    with ignores_noise():
        expected = method.fit(qc.read_reports(tmp_path / "r.parquet"))
        found = infer_store(store, method, tmp_path / "t.parquet")
    truths = pd.read_parquet(found.truths).sort_values("task", ignore_index=True)
    pd.testing.assert_frame_equal(truths, expected.truths, check_exact=True)
    pd.testing.assert_frame_equal(found.workers.to_pandas(), expected.workers, check_exact=True)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_threads_change_nothing_and_seeds_do(stores, tmp_path, name):
    mechanism = MECHANISMS[name]
    answers = stores[mechanism.domain]
    made = [
        randomize_store(answers, mechanism, tmp_path / f"{place}", random_state=seed, n_jobs=n_jobs)
        for place, (seed, n_jobs) in enumerate([(1, 1), (1, 3), (2, 1)])
    ]
    assert made[0].fingerprint == made[1].fingerprint != made[2].fingerprint


def of_workers(store):
    """Return how many of its 60 reports each worker of `coins` flipped, NULL aside."""
    flipped = frame_of(store).query("label == 0").groupby("worker").size()
    return flipped.reindex(range(400), fill_value=0).to_numpy()


def test_a_worker_flips_with_one_secret_probability_in_all_partitions(coins, tmp_path):
    mechanism = TwoLayerRandomizedResponse(domain=COINS, low=0.0, high=1.0)
    store = randomize_store(coins, mechanism, tmp_path / "r", random_state=3)
    flips = of_workers(store)
    # With p uniform on 0 to 1, the number of flips of 60 is uniform on 0 to 60: a variance of
    # (61**2 - 1) / 12 = 310. Were p drawn anew in each of 5 partitions, it would be about 75,
    # anew in each report 15.
    in_memory = mechanism.simulate(qc.Answers.from_frame(frame_of(coins), COINS), random_state=3)
    expected = np.bincount(in_memory.table.worker_codes, in_memory.table.values == 0)
    for seen in (flips, expected):
        assert 250 < seen.var() < 370
        assert 26 < seen.mean() < 34
    parts = frame_of(store).assign(half=lambda rows: rows["task"] % 2)
    halves = parts.groupby(["worker", "half"])["label"].mean().unstack()
    assert np.corrcoef(halves[0], halves[1])[0, 1] > 0.9
    # Where partitions draw from streams of their own, no two repeat each other's words.
    places = [store.partition(index) for index in range(5)]
    tables = [part.values.reshape(part.tasks, 400)[0] for part in places]
    assert not any(
        np.array_equal(tables[one], tables[other]) for one in range(5) for other in range(one)
    )


def test_answers_and_null_have_a_secret_probability_each(coins, tmp_path):
    mechanism = TwoLayerRandomizedResponse(
        domain=COINS, epsilon=2.0, distribution="epsilon", missing="category"
    )
    store = randomize_store(coins, mechanism, tmp_path / "r", random_state=3)
    kept = frame_of(store).query("label == 1").groupby("worker").size() / 60
    assert kept.var() > 0.02  # of 60 independent reports it would be 0.004 at most


def test_frequencies_are_those_of_the_channel(coins, tmp_path):
    mechanism = qc.RandomizedResponse(domain=COINS, epsilon=1.0)
    for place, seed in enumerate((4, None)):
        store = randomize_store(coins, mechanism, tmp_path / f"{place}", random_state=seed)
        assert store.simulated == (seed is not None)
        flip = mechanism.channel.probabilities[1, 0]
        # 24,000 reports: 5 standard deviations, a false alarm in 2 million runs
        assert abs(of_workers(store).sum() / 24_000 - flip) < 5 * np.sqrt(flip / 24_000)


@pytest.mark.slow
def test_exact_noise_of_every_kind(stores, tmp_path):
    for name in ("laplace", "released", "two-layer-null"):
        mechanism = MECHANISMS[name]
        store = randomize_store(stores[mechanism.domain], mechanism, tmp_path / name)
        again = randomize_store(stores[mechanism.domain], mechanism, tmp_path / f"{name} again")
        assert not store.simulated
        assert store.fingerprint != again.fingerprint


def test_public_lists_name_tasks_and_workers_without_an_answer(stores, tmp_path):
    tasks = [f"task {task}" for task in range(60)]
    workers = [f"w{worker}" for worker in range(15)]
    run = randomize_store(
        stores[NUMBERS],
        MECHANISMS["filled"],
        tmp_path / "r",
        random_state=1,
        tasks=tasks,
        workers=workers,
    )
    assert (len(run), run.tasks) == (60 * 15, 60)
    found = [one for index in range(7) for one in run.task_ids(index).to_pylist()]
    assert sorted(found) == sorted(tasks)
    assert run.workers.to_pylist() == sorted(workers)
    routed = {one: index for index in range(7) for one in run.task_ids(index).to_pylist()}
    assert all(
        routed[one] == index
        for index in range(7)
        for one in stores[NUMBERS].task_ids(index).to_pylist()
    )


@pytest.mark.parametrize(
    ("lists", "error", "words"),
    [
        ({"tasks": ["task 1"]}, ParameterError, "both tasks= and workers="),
        ({"tasks": ["task 1"], "workers": range(12)}, AnswerError, "worker 'w.*' of the store"),
        (
            {"tasks": ["task 1"], "workers": [f"w{one}" for one in range(12)]},
            AnswerError,
            "task 'task .*' of the store is not in the list of tasks",
        ),
        ({"random_state": -1}, ParameterError, "random_state"),
        ({"n_jobs": 0}, ParameterError, "n_jobs"),
    ],
)
def test_what_does_not_go_together(stores, tmp_path, lists, error, words):
    with pytest.raises(error, match=words):
        randomize_store(stores[LABELS], MECHANISMS["one-layer"], tmp_path / "r", **lists)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_randomised_task_by_task(stores, tmp_path, monkeypatch):
    sketches = MatrixFactorization(domain=NUMBERS, epsilon=1.0)
    with pytest.raises(ParameterError, match="all answers of a worker together"):
        randomize_store(stores[NUMBERS], sketches, tmp_path / "r")
    with pytest.raises(AnswerError, match="the mechanism expects"):
        randomize_store(stores[LABELS], MECHANISMS["laplace"], tmp_path / "r")
    reports = randomize_store(
        stores[LABELS], MECHANISMS["one-layer"], tmp_path / "r", random_state=1
    )
    with pytest.raises(AnswerError, match="already randomized"):
        randomize_store(reports, MECHANISMS["one-layer"], tmp_path / "again")
    with pytest.raises(ParameterError, match="already exists"):
        randomize_store(stores[LABELS], MECHANISMS["one-layer"], tmp_path / "r")
    monkeypatch.setattr("quietcrowd.mechanisms.taskwise.MAX_CELLS", 40 * 12 - 1)
    with pytest.raises(ParameterError, match="need 480 reports, and the limit is 479"):
        randomize_store(stores[NUMBERS], MECHANISMS["filled"], tmp_path / "filled")


def test_reports_do_not_tell_the_order_that_answers_came_in(crowd_files, tmp_path):
    frame = pd.read_parquet(crowd_files / "labels.parquet")
    made = []
    for place, rows in enumerate((frame, frame[::-1])):
        write_table(rows, tmp_path / f"{place}.parquet")
        store = partition_parquet(
            tmp_path / f"{place}.parquet", tmp_path / f"s{place}", domain=LABELS, partitions=3
        )
        made.append(
            randomize_store(store, MECHANISMS["one-layer"], tmp_path / f"r{place}", random_state=1)
        )
    assert made[0].fingerprint == made[1].fingerprint


def test_nobody_can_write_another_attempt_into_the_store(stores, tmp_path, monkeypatch):
    from quietcrowd.scale.executor import ThreadExecutor

    late = []

    class Lost(ThreadExecutor):
        """A worker of it is taken for lost, and goes on when all is done."""

        def each(self, work, job, indices, given):
            late.append(partial(work, job, 0, given))
            return super().each(work, job, indices, given)

    def write_note(store):
        with pytest.raises(FileNotFoundError):
            late[0]()
        write(store)

    write = Store.write_note
    monkeypatch.setattr(Store, "write_note", write_note)
    made = randomize_store(
        stores[LABELS], MECHANISMS["one-layer"], tmp_path / "r", executor=Lost(2)
    )
    assert late
    assert len(list(made.folder.iterdir())) == 7 + 2


def test_reports_do_not_go_into_the_store_of_answers(stores):
    before = sorted(stores[LABELS].folder.iterdir())
    with pytest.raises(ParameterError, match="is inside the input"):
        randomize_store(stores[LABELS], MECHANISMS["one-layer"], stores[LABELS].folder / "reports")
    assert sorted(stores[LABELS].folder.iterdir()) == before


def test_partitions_that_others_wrote_as_well_are_forgotten(stores, tmp_path):
    from quietcrowd.scale.executor import ThreadExecutor

    class Twice(ThreadExecutor):
        def each(self, work, job, indices, given):
            for index in indices:
                work(job, index, given)
            return super().each(work, job, indices, given)

    made = randomize_store(
        stores[LABELS], MECHANISMS["one-layer"], tmp_path / "r", executor=Twice(2)
    )
    names = sorted(path.name for path in made.folder.iterdir())
    assert names == [
        *(f"partition-0000{index}" for index in range(7)),
        "store.json",
        "workers.parquet",
    ]
    with ignores_noise():
        found = infer_store(Store.open(made.folder), qc.MajorityVote(), tmp_path / "t.parquet")
    assert found.truths.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_left_out_for_their_answer_are_refused_where_that_shows(tmp_path, name):
    """Otherwise they are no answers, and their tasks and workers are there all the same."""
    mechanism = MECHANISMS[name]
    inside, outside = ("no", "never") if mechanism.domain == LABELS else (3.0, 11.0)
    frame = pd.DataFrame(
        {"task": ["t", "u", "u"], "worker": ["a", "a", "b"], "label": [inside, inside, outside]}
    )
    frame.loc[3] = ["v", "c", None]
    write_table(frame, tmp_path / "a.parquet")
    options = {"domain": mechanism.domain, "out_of_domain": "skip"}
    store = partition_parquet(tmp_path / "a.parquet", tmp_path / "s", **options)
    randomize = partial(randomize_store, store, mechanism)
    if mechanism.participation_protected:
        made = randomize(tmp_path / "r")
        assert made.workers.to_pylist() == ["a", "b", "c"]
        assert len(made) + made.dropped.null_reports == 9
        return
    with pytest.raises(AnswerError, match=r"answer: 2\. .* participation_is_public=True"):
        randomize(tmp_path / "r", random_state=1)
    assert not (tmp_path / "r").exists()
    made = randomize(tmp_path / "r", participation_is_public=True)
    assert len(made) == 2
    assert made.dropped.out_of_domain == 0
