import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.campaign.waiting import LONG

from quietcrowd.scale.executor import ThreadExecutor, in_order
from quietcrowd.scale.partition_job import Job, LastPass


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_partitions(job, threads):
    executor = ThreadExecutor(threads)
    parts = list(executor.each(Job.estimate, job, [2, 0, 1], LastPass(state=None)))
    for index, part in zip([2, 0, 1], parts, strict=True):
        assert part.truths["task"].to_pylist() == job.store.task_ids(index).to_pylist()


def test_sums_are_of_all_partitions(job):
    sums = list(ThreadExecutor(2).sums(Job.tally, job, [0, 1, 2], None))
    assert sum(partitions for _, partitions in sums) == 3
    expected = sum(job.tally(index, None).sums for index in range(3))
    assert sum(tally.sums for tally, _ in sums).tolist() == expected.tolist()


def test_results_come_in_order():
    later = threading.Event()

    def work(item):
        if item == 0:
            assert later.wait(LONG)
        elif item == 2:
            later.set()
        return item

    with ThreadPoolExecutor(3) as pool:
        assert list(in_order(partial(pool.submit, work), range(9), 3)) == list(range(9))


def test_no_more_are_begun_than_may_wait():
    begun = []
    with ThreadPoolExecutor(2) as pool:
        results = in_order(partial(pool.submit, begun.append), range(10), 3)
        next(results)
        assert len(begun) <= 3
        list(results)
    assert sorted(begun) == list(range(10))


def test_an_error_ends_it():
    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        list(in_order(partial(pool.submit, lambda item: 1 / (item - 2)), range(5), 2))
