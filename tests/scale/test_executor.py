import pytest

from quietcrowd.scale.executor import ThreadExecutor
from quietcrowd.scale.passes import Job


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_partitions(job, threads):
    executor = ThreadExecutor(threads)
    parts = list(executor.each(Job.estimate, job, [2, 0, 1], None))
    for index, part in zip([2, 0, 1], parts, strict=True):
        assert part.truths["task"].to_pylist() == job.store.task_ids(index).to_pylist()


def test_sums_are_of_all_partitions(job):
    sums = list(ThreadExecutor(2).sums(Job.tally, job, [0, 1, 2], None))
    assert sum(partitions for _, partitions in sums) == 3
    expected = sum(job.tally(index, None).sums for index in range(3))
    assert sum(tally.sums for tally, _ in sums).tolist() == expected.tolist()
