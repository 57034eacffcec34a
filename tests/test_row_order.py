import numpy as np
import pytest

from quietcrowd.row_order import sort_rows


@pytest.mark.parametrize("sizes", [(40, 60), (2**31, 2**31), (1, 1), (2**20, 3)])
def test_rows_are_sorted_whether_or_not_they_fit_into_64_bits(sizes):
    tasks, workers = sizes
    rng = np.random.default_rng(0)
    task_codes = rng.integers(max(0, tasks - 50), tasks, 2_000).astype(np.int32)
    worker_codes = rng.integers(max(0, workers - 50), workers, 2_000).astype(np.int32)
    order, sorted_tasks, sorted_workers = sort_rows(task_codes, worker_codes, tasks, workers)
    assert order.tolist() == np.lexsort((worker_codes, task_codes)).tolist()
    assert sorted_tasks.tolist() == task_codes[order].tolist()
    assert sorted_workers.tolist() == worker_codes[order].tolist()
    assert sorted_tasks.dtype == sorted_workers.dtype == np.int32
