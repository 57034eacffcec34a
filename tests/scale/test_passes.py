import pickle

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.scale import partition_parquet
from quietcrowd.scale.gold import match_truths
from quietcrowd.scale.passes import Job, ThreadExecutor


@pytest.fixture
def job(crowd_files, tmp_path):
    store = partition_parquet(crowd_files / "released.parquet", tmp_path / "s", partitions=3)
    method = qc.RatioMean()
    gold = match_truths(store, method, None)
    return Job(
        store=store, method=method, summary=method.summarize(store.overview, gold.values), gold=gold
    )


def test_a_job_can_be_done_in_another_process(job):
    sent = pickle.loads(pickle.dumps(job.tally))
    for index in range(3):
        assert sent(index, None).sums.tolist() == job.tally(index, None).sums.tolist()
    truths = pickle.loads(pickle.dumps(job.estimate(1, None))).truths
    pd.testing.assert_frame_equal(truths.to_pandas(), job.estimate(1, None).truths.to_pandas())


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_partitions(job, threads):
    executor = ThreadExecutor(threads)
    parts = list(executor.each(job.estimate, [2, 0, 1], None))
    for index, part in zip([2, 0, 1], parts, strict=True):
        assert part.truths["task"].to_pylist() == job.store.task_ids(index).to_pylist()


def test_tallies_add_up_to_that_of_all(job, crowd_files):
    tallies = [job.tally(index, None).sums for index in range(3)]
    method = job.method
    ready = method.prepare(method.read(qc.read_reports(crowd_files / "released.parquet")))
    whole = method.sweep(ready.partition, ready.summary, None, None).sums
    assert np.sum(tallies, axis=0).tolist() == whole.tolist()
