import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from quietcrowd.scale.in_order import in_order


def test_results_come_in_order():
    with ThreadPoolExecutor(3) as pool:
        slow_first = in_order(pool, lambda item: time.sleep(0.02 / (1 + item)) or item, range(9), 3)
        assert list(slow_first) == list(range(9))


def test_no_more_are_begun_than_may_wait():
    begun = []
    with ThreadPoolExecutor(2) as pool:
        results = in_order(pool, begun.append, range(10), 3)
        next(results)
        assert len(begun) <= 3
        list(results)
    assert sorted(begun) == list(range(10))


def test_an_error_ends_it():
    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        list(in_order(pool, lambda item: 1 / (item - 2), range(5), 2))
