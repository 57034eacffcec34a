import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from quietcrowd.scale.in_order import in_order


def test_results_come_in_order():
    with ThreadPoolExecutor(3) as pool:
        slow_first = partial(pool.submit, lambda item: time.sleep(0.02 / (1 + item)) or item)
        assert list(in_order(slow_first, range(9), 3)) == list(range(9))


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
