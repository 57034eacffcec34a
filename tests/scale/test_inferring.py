import os
import pickle
import signal
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    FormatError,
    NoiseIgnoredWarning,
    NoSignalWarning,
    ParameterError,
    SimulatedNoiseWarning,
)
from quietcrowd.gold import KnownTruthError
from quietcrowd.inference import CATD, CRH, METHODS, MOON, RatioMean
from quietcrowd.inference.reading import Observations
from quietcrowd.scale import Store, infer_store, partition_parquet
from quietcrowd.scale.executor import ThreadExecutor
from quietcrowd.scale.partition_job import LastPass, match_truths

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

DOMAINS = {
    "labels": qc.Categorical(["no", "perhaps", "yes"]),
    "numbers": qc.Interval(low=0, high=10),
}
GOLD = {
    True: pd.DataFrame({"task": ["task 3", "task 17", "task 30"], "label": ["no", "yes", "no"]}),
    False: pd.DataFrame({"task": ["task 3", "task 17", "task 30"], "label": [1.5, 2.5, 9.0]}),
}
SOURCES = {
    "ratio-mean": ["released"],
    "moon": ["numbers", "laplace", "filled"],
    "noise-aware": ["labels", "null", "numbers", "laplace", "filled"],
}
CASES = [
    (name, source)
    for name, method in METHODS.items()
    for source in SOURCES.get(
        name,
        ["labels", "null"] if method().infers_labels(DOMAINS["labels"]) else ["numbers", "laplace"],
    )
]
BY_DAY = [case if case[0] in SOURCES or case[1] in DOMAINS else nightly(*case) for case in CASES]
"""Reports to methods that know the noise; to others answers, and reports at night."""

METHODS_OF_TWO_KINDS = [CRH(loss="zero-one"), CATD(loss="zero-one")]


@pytest.fixture(scope="module")
def stores(crowd_files, tmp_path_factory):
    """Return a function that gives the store of a source in a number of partitions."""
    folder, made = tmp_path_factory.mktemp("stores"), {}

    def store(source, partitions):
        key = (source, partitions)
        if key not in made:
            made[key] = partition_parquet(
                crowd_files / f"{source}.parquet",
                folder / f"{source}-{partitions}",
                domain=DOMAINS.get(source),
                partitions=partitions,
            )
        return made[key]

    return store


@pytest.fixture
def in_memory(crowd_files):
    """Return a function that reads a source into memory."""

    def read(source):
        path = crowd_files / f"{source}.parquet"
        return (
            qc.read_answers(path, DOMAINS[source]) if source in DOMAINS else qc.read_reports(path)
        )

    return read


def with_warnings(call):
    """Return what a call gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = call()
    return result, sorted(str(warning.message) for warning in seen)


def assert_same(found, expected):
    """Raise unless a run on a store found what a fit did, to the last bit."""
    truths = pq.read_table(found.truths).to_pandas()
    assert sorted(truths["task"]) == sorted(expected.truths["task"])
    by_task = truths.set_index("task").loc[expected.truths["task"]].reset_index()
    pd.testing.assert_frame_equal(by_task, expected.truths, check_exact=True)
    pd.testing.assert_frame_equal(found.workers.to_pandas(), expected.workers, check_exact=True)
    assert found.history == expected.history
    assert (found.n_iter, found.converged) == (expected.n_iter, expected.converged)
    assert found.known == expected.known.sum()


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(("name", "source"), BY_DAY)
def test_every_method_finds_what_it_finds_in_memory(stores, in_memory, tmp_path, name, source):
    method = METHODS[name](max_iter=12)
    for gold, partitions in ((None, (1, 3, 8)), (GOLD[source in ("labels", "null")], (3,))):
        expected, warned = with_warnings(lambda gold=gold: method.fit(in_memory(source), gold=gold))
        for number in partitions:
            found, warned_here = with_warnings(
                lambda number=number, gold=gold: infer_store(
                    stores(source, number),
                    method,
                    tmp_path / "truths.parquet",
                    gold=gold,
                    n_jobs=1 + number % 2,
                )
            )
            assert_same(found, expected)
            assert warned_here == warned


@pytest.mark.parametrize("method", METHODS_OF_TWO_KINDS, ids=lambda method: method.name)
def test_methods_for_numbers_that_take_labels(stores, in_memory, tmp_path, method):
    found = infer_store(stores("labels", 3), method, tmp_path / "truths.parquet")
    assert_same(found, method.fit(in_memory("labels")))


@pytest.mark.slow
def test_the_workers_go_to_a_file_of_any_kind(stores, tmp_path):
    found = infer_store(
        stores("labels", 3), qc.MajorityVote(), tmp_path / "t.parquet", tmp_path / "w.csv"
    )
    written = pd.read_csv(tmp_path / "w.csv")
    assert written["worker"].tolist() == found.workers["worker"].to_pylist()
    assert found.tied == pq.read_table(found.truths).to_pandas()["tied"].sum()


def test_ties_are_counted(write, tmp_path):
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["a", "b", "a"]})
    store = partition_parquet(write(frame), tmp_path / "s", domain=qc.Categorical(["a", "b"]))
    assert infer_store(store, qc.MajorityVote(), tmp_path / "t.parquet").tied == 1


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ({"task": ["nobody's", "none"], "label": ["no", "no"]}, 'row 0: task "nobody\'s" is no'),
        ({"task": ["task 3", "task 3"], "label": ["no", "no"]}, "'task 3' occurs 2 times"),
        ({"task": ["task 9", "task 3"], "label": ["no", "never"]}, "row 1: .* 'never', is outside"),
        ({"task": ["task 3"]}, "column 'label' is missing"),
        ({"label": ["no"]}, "column 'task' is missing"),
        ({"task": [], "label": []}, "there are no known truths"),
        ({"task": [None], "label": ["no"]}, "row 0: task None is not in the answers"),
    ],
)
def test_wrong_known_truths_are_refused_as_in_memory(stores, in_memory, tmp_path, gold, words):
    frame = pd.DataFrame(gold)
    with pytest.raises(KnownTruthError, match=words) as here:
        infer_store(stores("labels", 8), qc.MajorityVote(), tmp_path / "t.parquet", gold=frame)
    with pytest.raises(KnownTruthError) as there:
        qc.MajorityVote().fit(in_memory("labels"), gold=frame)
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize(
    ("source", "method"),
    [
        ("labels", qc.Mean()),
        ("numbers", qc.WeightedVote()),
        ("numbers", RatioMean()),
        ("randomised", MOON()),
    ],
)
def test_what_a_method_cannot_use_it_refuses_as_in_memory(
    stores, in_memory, tmp_path, source, method
):
    with pytest.raises(AnswerError) as here:
        infer_store(stores(source, 3), method, tmp_path / "t.parquet")
    with pytest.raises(AnswerError) as there:
        method.fit(in_memory(source))
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize(
    ("truths", "workers", "error", "words"),
    [
        ("t.csv", None, FormatError, r"ends in \.parquet"),
        ("no/t.parquet", None, FileNotFoundError, "no such directory"),
        ("t.parquet", "w.doc", FormatError, "name that ends in|must end in"),
        ("folder.parquet", None, IsADirectoryError, "name a file"),
        ("t.parquet", "folder.parquet", IsADirectoryError, "name a file"),
    ],
)
def test_targets_are_checked_first(stores, tmp_path, truths, workers, error, words):
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(error, match=words):
        infer_store(
            stores("labels", 1),
            qc.MajorityVote(),
            tmp_path / truths,
            None if workers is None else tmp_path / workers,
        )


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("S/t.parquet", None, None), "is inside the input"),
        (("S/partition-00000/t.parquet", None, None), "is inside the input"),
        (("t.parquet", "S/workers.parquet", None), "is inside the input"),
        (("t.parquet", "w.csv", "S/store.json"), "is inside the input"),
        (("t.parquet", "t.parquet", None), "two outputs"),
        (("t.parquet", None, "T/../t.parquet"), "two outputs"),
        (("t.parquet", "w.csv", "w.csv"), "two outputs"),
    ],
)
def test_nothing_is_written_over_another(stores, tmp_path, names, words):
    store = stores("labels", 3)
    before = store.folder.joinpath("store.json").read_bytes()
    (tmp_path / "S").symlink_to(store.folder)
    (tmp_path / "T").mkdir()
    paths = [None if name is None else tmp_path / name for name in names]
    with pytest.raises(ParameterError, match=words):
        infer_store(store, qc.MajorityVote(), paths[0], paths[1], checkpoint=paths[2])
    assert store.folder.joinpath("store.json").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["S", "T"]


def test_a_store_without_an_answer(tmp_path):
    domain = qc.Categorical(["a", "b"])
    answers = qc.Answers.from_frame(
        pd.DataFrame({"task": ["t"], "worker": ["w"], "label": ["a"]}), domain
    )
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=0.1, missing="category")
    drawn = (mechanism.simulate(answers, random_state=seed) for seed in range(20))
    reports = next(reports for reports in drawn if reports.table.values[0] == domain.size)
    qc.write_reports(reports, tmp_path / "r.parquet")
    store = partition_parquet(tmp_path / "r.parquet", tmp_path / "s")
    assert (len(store), store.dropped.null_reports) == (0, 1)
    with pytest.raises(AnswerError, match="there is no answer"):
        infer_store(store, qc.MajorityVote(), tmp_path / "t.parquet")


class StoppedError(Exception):
    pass


class Stopping(ThreadExecutor):
    """Threads that stop in the middle of a pass."""

    def __init__(self, passes):
        super().__init__(2)
        self.left = passes

    def each(self, work, job, indices, given):
        self.left -= 1
        for place, result in enumerate(super().each(work, job, indices, given)):
            if self.left < 0 and place == 1:
                raise StoppedError
            yield result


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("weighted-vote", "labels"),
        ("dawid-skene", "labels"),
        ("glad", "labels"),
        ("weighted-mean", "numbers"),
        ("gtm", "numbers"),
        ("kdem", "numbers"),
        ("moon", "laplace"),
        ("ratio-mean", "released"),
    ],
)
def test_a_run_that_was_stopped_goes_on(stores, tmp_path, name, source):
    method = METHODS[name](max_iter=6, tol=0.0)
    target, kept = tmp_path / "t.parquet", tmp_path / "run.checkpoint"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseIgnoredWarning)
        expected = infer_store(stores(source, 3), method, target)
        whole = target.read_bytes()
        target.unlink()
        for passes in (2, 1, expected.n_iter - 3):
            with pytest.raises(StoppedError):
                infer_store(
                    stores(source, 3), method, target, checkpoint=kept, executor=Stopping(passes)
                )
            assert not target.exists()
            assert [path.name for path in tmp_path.iterdir()] == [kept.name]
        found = infer_store(stores(source, 3), method, target, checkpoint=kept)
    assert target.read_bytes() == whole
    assert found.workers.equals(expected.workers)
    assert found.history == expected.history


KILLED = """
import signal, sys
import quietcrowd as qc
from quietcrowd.scale import Store, infer_store
from quietcrowd.scale.executor import ThreadExecutor

class Dying(ThreadExecutor):
    passes = 0
    def each(self, work, job, indices, given):
        Dying.passes += 1
        for result in super().each(work, job, indices, given):
            if Dying.passes == 3:
                signal.raise_signal(signal.SIGKILL)
            yield result

store, truths, checkpoint = sys.argv[1:]
method = qc.WeightedVote(max_iter=5, tol=0.0)
infer_store(Store.open(store), method, truths, checkpoint=checkpoint, executor=Dying(2))
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_run_that_was_killed_goes_on(program, stores, tmp_path):
    store, method = stores("labels", 3), qc.WeightedVote(max_iter=5, tol=0.0)
    expected = infer_store(store, method, tmp_path / "expected.parquet")
    target, kept = tmp_path / "t.parquet", tmp_path / "run.checkpoint"
    killed = program(sys.executable, "-c", KILLED, store.folder, target, kept)
    assert killed.finished().status == -signal.SIGKILL
    assert kept.exists()
    assert not target.exists()
    passes = []

    class Counting(ThreadExecutor):
        def each(self, work, job, indices, given):
            passes.append(given)
            return super().each(work, job, indices, given)

    again = Store.open(store.folder)
    found = infer_store(again, method, target, checkpoint=kept, executor=Counting(1))
    assert len(passes) == expected.n_iter - 2 + 1
    assert target.read_bytes() == (tmp_path / "expected.parquet").read_bytes()
    assert found.workers.equals(expected.workers)


def test_progress_is_shown_where_it_is_wanted(stores, tmp_path, capfd):
    infer_store(stores("labels", 3), qc.MajorityVote(), tmp_path / "t.parquet")
    assert capfd.readouterr().err == ""
    infer_store(stores("labels", 3), qc.MajorityVote(), tmp_path / "t.parquet", progress=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "source"), [("noise-aware", "null"), ("glad", "labels")])
@pytest.mark.parametrize("most", [1, 5 * 2 * 33 * 8])
def test_accuracies_are_told_of_some_workers_after_the_other(
    stores, in_memory, tmp_path, monkeypatch, name, source, most
):
    monkeypatch.setattr("quietcrowd.scale.partition_job.MOST_BYTES", most)
    monkeypatch.setattr("quietcrowd.inference.labels.accuracies.WORKERS_AT_ONCE", 5)
    monkeypatch.setattr("quietcrowd.inference.labels.flags.WORKERS_AT_ONCE", 5)
    method = METHODS[name](max_iter=3)
    truths = tmp_path / "truths.parquet"
    found = infer_store(stores(source, 3), method, truths, n_jobs=2)
    assert_same(found, method.fit(in_memory(source)))
    assert list(tmp_path.iterdir()) == [truths]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source"),
    [
        *(("noise-aware", source) for source in ("labels", "laplace")),
        *(("weighted-vote", "labels"), ("weighted-mean", "numbers")),
    ],
)
def test_a_run_starts_from_an_earlier_estimate_as_in_memory(
    stores, in_memory, tmp_path, name, source
):
    """Of other partitions, of the same reports in memory; and the median of a new worker."""
    method, truths = METHODS[name](max_iter=2), tmp_path / "truths.parquet"
    longer = evolve(method, max_iter=5)
    in_full = method.fit(in_memory(source))
    expected = longer.fit(in_memory(source), in_full)
    for start in (in_full, infer_store(stores(source, 1), method, truths)):
        assert_same(infer_store(stores(source, 3), longer, truths, init=start), expected)
    assert expected.history != longer.fit(in_memory(source)).history


def test_starts_that_do_not_fit_are_refused(stores, in_memory, tmp_path):
    store, truths = stores("labels", 1), tmp_path / "truths.parquet"
    start = qc.WeightedVote().fit(in_memory("labels"))
    with pytest.raises(ParameterError, match="an estimate of NoiseAware; got one of Weighted"):
        infer_store(store, qc.NoiseAware(), truths, init=start)
    found = infer_store(stores("numbers", 1), qc.NoiseAware(), truths)
    with pytest.raises(ParameterError, match="init must be an estimate for Categorical"):
        infer_store(store, qc.NoiseAware(), truths, init=found)
    with pytest.raises(ParameterError, match="a checkpoint, not both"):
        infer_store(store, qc.WeightedVote(), truths, init=start, checkpoint=tmp_path / "c")
    vote = infer_store(store, qc.MajorityVote(), truths)
    assert_same(
        infer_store(store, qc.MajorityVote(), truths, init=vote),
        qc.MajorityVote().fit(in_memory("labels")),
    )


def test_threads_are_counted(stores, tmp_path):
    with pytest.raises(ParameterError, match="n_jobs must be a whole number"):
        infer_store(stores("labels", 1), qc.MajorityVote(), tmp_path / "t.parquet", n_jobs=0)
    assert os.listdir(tmp_path) == []


def test_simulated_reports_and_an_epsilon_of_0_are_told(tmp_path):
    crowd = qc.make_crowd(tasks=20, workers=10)
    told = {}
    for name, epsilon in (("real", 1.0), ("simulated", 0.0)):
        mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon)
        simulate = partial(mechanism.simulate, random_state=0)
        reports = (simulate if name == "simulated" else mechanism.randomize)(crowd.answers)
        qc.write_reports(reports, tmp_path / f"{name}.parquet")
        store = partition_parquet(tmp_path / f"{name}.parquet", tmp_path / name)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            infer_store(store, qc.MajorityVote(), tmp_path / "t.parquet")
        assert {one.filename for one in seen} == {__file__}
        told[name] = [one.category for one in seen]
    assert told["real"] == [NoiseIgnoredWarning]
    assert told["simulated"] == [
        SimulatedNoiseWarning,
        NoSignalWarning,
        NoiseIgnoredWarning,
    ]


def test_a_job_can_be_done_in_another_process(job):
    sent = pickle.loads(pickle.dumps(job.tally))
    for index in range(3):
        assert sent(index, None).sums.tolist() == job.tally(index, None).sums.tolist()
    last = LastPass(state=None)
    truths = pickle.loads(pickle.dumps(job.estimate(1, last))).truths
    pd.testing.assert_frame_equal(truths.to_pandas(), job.estimate(1, last).truths.to_pandas())


def test_tallies_add_up_to_that_of_all(job, crowd_files):
    tallies = [job.tally(index, None).sums for index in range(3)]
    method = job.model.method
    reports = qc.read_reports(crowd_files / "released.parquet")
    model, partition, _ = method.prepare(Observations.read(reports, method))
    whole = model.sweep(partition, None, None).sums
    assert np.sum(tallies, axis=0).tolist() == whole.tolist()


def test_an_example_is_a_state_as_the_method_makes_it(job):
    example = job.example()
    assert type(example) is type(job.model.update(job.tally(1, None), None)[0])
    assert evolve(job, model=qc.Mean().bind(job.store.summary)).example() is None


TRUTHS = pd.DataFrame({"task": ["task 7", "task 1", "task 30"], "label": ["no", "yes", "yes"]})


@pytest.fixture(params=[1, 4])
def store(crowd_files, tmp_path, request):
    return partition_parquet(
        crowd_files / "labels.parquet",
        tmp_path / "s",
        domain=qc.Categorical(["no", "perhaps", "yes"]),
        partitions=request.param,
    )


def test_truths_find_their_tasks(store):
    known = match_truths(store, qc.MajorityVote(), TRUTHS)
    found = {}
    for index, partition in enumerate(store.partitions):
        codes = known.of_partition(index, partition.tasks)
        assert codes.dtype == np.int32
        tasks = store.task_ids(index).to_pylist()
        found |= {tasks[place]: codes[place] for place in np.flatnonzero(codes >= 0)}
    assert found == {"task 7": 0, "task 1": 2, "task 30": 2}
    assert len(known) == 3


def test_without_truths_nothing_is_known(store):
    known = match_truths(store, qc.MajorityVote(), None)
    assert len(known) == 0
    assert known.of_partition(0, 3).tolist() == [-1, -1, -1]


def test_fingerprints_tell_truths_apart(store):
    def fingerprint(truths):
        return match_truths(store, qc.MajorityVote(), truths).fingerprint

    others = [
        TRUTHS[:2],
        TRUTHS.assign(label="no"),
        TRUTHS.assign(task=["task 7", "task 1", "task 2"]),
    ]
    assert len({fingerprint(truths) for truths in [None, TRUTHS, *others]}) == 5
    assert fingerprint(TRUTHS[::-1]) == fingerprint(TRUTHS)
