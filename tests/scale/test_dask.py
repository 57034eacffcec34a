import logging
import os
import signal
from functools import partial
from operator import itemgetter

import distributed
import numpy as np
import pandas as pd
import psutil
import pytest
from tests.campaign.waiting import LONG, in_time
from tests.nightly import by_day

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.inference import METHODS, ignores_noise
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.report_domains import Reals
from quietcrowd.scale import Store, connect, infer_store, partition_parquet, randomize_store
from quietcrowd.scale.dask import DaskExecutor, _Pending
from quietcrowd.scale.partition_job import Job

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

LABELS = qc.Categorical(["no", "perhaps", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
BY_DAY = ("dawid-skene", "crh", "median", "ratio-mean")
"""Of the methods: one of each kind of state, one that takes bits."""


@pytest.fixture(scope="module")
def cluster():
    """Return two worker processes on this machine."""
    with connect("local:2") as executor:
        executor.patience = LONG
        yield executor


@pytest.fixture(scope="module")
def stores(crowd_files, tmp_path_factory):
    """Return stores of plain answers, and of reports with noisy bits, in 12 partitions each."""
    folder = tmp_path_factory.mktemp("stores")
    return {
        kind: partition_parquet(
            crowd_files / f"{kind}.parquet", folder / kind, domain=domain, partitions=12
        )
        for kind, domain in (("labels", LABELS), ("numbers", NUMBERS), ("released", None))
    }


def assert_same(found, expected):
    assert found.truths.read_bytes() == expected.truths.read_bytes()
    assert found.workers.equals(expected.workers)
    assert (found.history, found.converged) == (expected.history, expected.converged)


def pids(executor):
    """Return the processes of the workers."""
    return list(executor.client.run(os.getpid).values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", by_day(BY_DAY, METHODS))
def test_every_method_finds_there_what_threads_find(cluster, stores, tmp_path, name):
    method = METHODS[name](max_iter=3)
    kind = (
        "released"
        if name == "ratio-mean"
        else "labels"
        if method.infers_labels(Reals())
        else "numbers"
    )
    with ignores_noise():
        run = partial(infer_store, stores[kind], method)
        expected = run(tmp_path / "here.parquet", n_jobs=2)
        assert_same(run(tmp_path / "there.parquet", executor=cluster), expected)


@pytest.mark.nightly
def test_known_truths_and_checkpoints(cluster, stores, tmp_path):
    gold = pd.DataFrame({"task": ["task 3", "task 17"], "label": ["no", "yes"]})
    run = partial(infer_store, stores["labels"], gold=gold)
    expected = run(qc.WeightedVote(max_iter=6, tol=0.0), tmp_path / "here.parquet")
    kept = {"checkpoint": tmp_path / "run.checkpoint", "executor": cluster}
    run(qc.WeightedVote(max_iter=2, tol=0.0), tmp_path / "there.parquet", **kept)
    method = qc.WeightedVote(max_iter=6, tol=0.0)
    assert_same(run(method, tmp_path / "there.parquet", **kept), expected)


def add(job, index, given):
    return job[0] + index + (given or 0)


@pytest.mark.nightly
def test_results_come_in_the_order_that_is_asked_for(cluster):
    indices = [5, 2, 9, 0, *range(10, 30)]
    assert list(cluster.each(add, (100,), indices, 1000)) == [1100 + index for index in indices]
    sums = list(cluster.sums(add, (100,), indices, None))
    assert sum(map(itemgetter(0), sums)) == sum(100 + index for index in indices)
    assert sum(map(itemgetter(1), sums)) == len(indices)
    assert len(sums) < len(indices)


class Killing(DaskExecutor):
    """A cluster of which a worker is killed in the third pass."""

    passes = 0

    def sums(self, work, job, indices, given):
        self.passes += 1
        for place, result in enumerate(super().sums(work, job, indices, given)):
            if (self.passes, place) == (3, 0):
                os.kill(pids(self)[0], signal.SIGKILL)
            yield result


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_worker_killed_in_the_middle_of_a_run(cluster, stores, tmp_path):
    method = qc.DawidSkene(max_iter=6, tol=0.0)
    expected = infer_store(stores["labels"], method, tmp_path / "here.parquet")
    killing = Killing(cluster.client, LONG)
    before = set(pids(cluster))
    found = infer_store(stores["labels"], method, tmp_path / "there.parquet", executor=killing)
    assert killing.passes == 6
    assert set(pids(cluster)) != before
    assert_same(found, expected)


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_all_workers_are_lost_and_come_back(cluster):
    cluster.client.wait_for_workers(2, timeout=LONG)
    before = set(pids(cluster))
    for place, result in enumerate(cluster.each(add, (7,), range(40), 0)):
        assert result == 7 + place
        if place == 10:
            for pid in before:
                os.kill(pid, signal.SIGKILL)
    assert before.isdisjoint(pids(cluster))


def failing(job, index, given):  # noqa: ARG001
    if index == 3:
        raise TimeoutError("the disk sleeps")
    return index


def test_an_error_of_the_work_comes_back(cluster):
    with pytest.raises(TimeoutError, match="the disk sleeps"):
        list(cluster.each(failing, (), range(5), None))


def wait_after_the_first(job, index, given):  # noqa: ARG001
    """Return the index; work that begins after that of index 0 waits.

    What Dask begins before must not wait: it would keep index 0 from a thread.
    """
    first, go_on = job
    if index == 0:
        first.touch()
    assert index == 0 or not first.exists() or in_time(go_on.exists)
    return index


def test_what_is_left_is_cancelled(cluster, tmp_path):
    first, go_on = tmp_path / "first", tmp_path / "go on"
    results = cluster.each(wait_after_the_first, (first, go_on), range(10_000), None)
    try:
        assert next(results) == 0
        results.close()
        assert in_time(lambda: not any(cluster.client.processing().values()))
    finally:
        go_on.touch()


@pytest.mark.parametrize("name", ["CancelledError", "CommClosedError"])
def test_a_scheduler_that_is_gone_is_called_so(name):
    class Future:
        def result(self, timeout):  # noqa: ARG002
            raise {**vars(distributed), **vars(distributed.comm)}[name]("stream is closed")

    pending = _Pending(future=Future(), group=(0,), executor=DaskExecutor(Installed()))
    with pytest.raises(ConnectionError, match=r"^the cluster at .* was lost: .*stream is closed"):
        pending.result()


def test_the_client_tells_nothing_of_its_own(cluster):
    logger, handler = logging.getLogger("distributed.client"), logging.StreamHandler()
    logger.addHandler(handler)
    try:
        with connect(cluster.client.scheduler.address):
            assert handler.level > logging.CRITICAL
    finally:
        logger.removeHandler(handler)
    assert handler.level == logging.NOTSET


class Installed:
    """A client of a cluster in which something is installed."""

    def __init__(self, **other):
        own = {"quietcrowd": "2.0", "numpy": "2.1"}
        self.asked = 0
        self.workers = {"tcp://w:1": own, "tcp://w:2": own}
        self.scheduler = {**own, "numpy": None}
        self.own = own
        vars(self).update(other)

    def nthreads(self):
        return dict.fromkeys(self.workers, 1)

    def get_versions(self, packages):  # noqa: ARG002
        self.asked += 1
        workers = {name: {"packages": one} for name, one in self.workers.items()}
        there = {"client": self.own, "scheduler": self.scheduler}
        return {name: {"packages": one} for name, one in there.items()} | {"workers": workers}


def test_versions_are_compared_once_for_each_worker():
    client = Installed()
    executor = DaskExecutor(client)
    for _ in range(3):
        assert executor._wait_for_workers() == {"tcp://w:1": 1, "tcp://w:2": 1}
    assert client.asked == 1
    client.workers |= {"tcp://w:3": client.own}
    executor._wait_for_workers()
    assert client.asked == 2


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"workers": {"tcp://w:1": {"quietcrowd": "1.9"}}}, "tcp://w:1 .* has quietcrowd 1.9, "),
        ({"workers": {"tcp://w:1": {}}}, "quietcrowd None, but this process has 2.0"),
        (
            {"workers": {"tcp://w:1": {"quietcrowd": "2.0", "numpy": "2.0"}}},
            "has numpy 2.0, but this process has 2.1",
        ),
        ({"scheduler": {"quietcrowd": None}}, "^scheduler of the cluster has quietcrowd None"),
    ],
)
def test_who_has_another_version_is_refused(other, words):
    with pytest.raises(ConnectionError, match=words):
        DaskExecutor(Installed(**other))._wait_for_workers()


@pytest.mark.nightly
def test_a_worker_that_sees_another_store_or_none(cluster, job, crowd_files, tmp_path):
    def run():
        return list(cluster.sums(Job.tally, job, range(3), None))

    job.store.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(FormatError, match=r"cannot read the store: .*at the same path"):
        run()
    partition_parquet(crowd_files / "released.parquet", job.store.folder, partitions=4)
    with pytest.raises(FormatError, match="already contains a store"):
        run()


def test_a_store_is_sent_as_the_path_to_it(stores):
    kind, (path, fingerprint) = stores["labels"].__reduce__()
    assert kind(path, fingerprint).fingerprint == fingerprint == stores["labels"].fingerprint


def test_stores_are_randomised_there_as_here(cluster, stores, tmp_path):
    for name, mechanism in {
        "two-layer": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.5),
        "null": qc.RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
        "released": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
    }.items():
        store = stores["numbers" if mechanism.domain == NUMBERS else "labels"]
        run = partial(randomize_store, store, mechanism, random_state=5)
        here = run(tmp_path / f"{name} here", n_jobs=2)
        there = run(tmp_path / f"{name} there", executor=cluster)
        assert there.fingerprint == here.fingerprint
        assert Store.open(there.folder).fingerprint == here.fingerprint
        assert len(list(there.folder.iterdir())) == 12 + 2


def test_exact_noise_there(cluster, stores, tmp_path):
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=8.0)
    reports = randomize_store(stores["labels"], mechanism, tmp_path / "r", executor=cluster)
    assert not reports.simulated
    assert len(reports) == len(stores["labels"])


def listening():
    """Return the addresses at which a process can be reached."""
    connections = psutil.Process().net_connections(kind="inet")
    return {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}


def test_no_other_machine_can_reach_a_local_cluster(cluster):
    cluster.client.wait_for_workers(2, timeout=cluster.patience)
    assert listening() == {"127.0.0.1"}
    assert list(cluster.client.run(listening).values()) == [{"127.0.0.1"}] * 2


@pytest.mark.nightly
def test_another_client_of_the_same_cluster(cluster, job):
    with connect(cluster.client.scheduler.address) as other:
        found = [tally.sums for tally, _ in other.sums(Job.tally, job, range(3), None)]
    expected = sum(job.tally(index, None).sums for index in range(3))
    assert np.sum(found, axis=0).tolist() == expected.tolist()
    assert cluster.client.status == "running"


@pytest.mark.nightly
def test_a_cluster_reads_reports_of_several_mechanisms(cluster, tmp_path):
    crowd = qc.make_crowd(tasks=60, workers=30, answers_per_task=10, random_state=1)
    frame, domain = crowd.answers.to_frame(), crowd.answers.domain
    weak = frame["worker"] < frame["worker"].median()
    sent = [
        qc.RandomizedResponse(domain=domain, epsilon=epsilon).simulate(rows, random_state=1)
        for epsilon, rows in [(0.5, frame[weak]), (4.0, frame[~weak])]
    ]
    qc.write_reports(qc.join_reports(*sent), tmp_path / "r.parquet")
    store = partition_parquet(tmp_path / "r.parquet", tmp_path / "store", partitions=4)
    method = qc.NoiseAware(max_iter=5)
    found = infer_store(store, method, tmp_path / "t.parquet", executor=cluster)
    assert found.history == method.fit(qc.read_reports(tmp_path / "r.parquet")).history
