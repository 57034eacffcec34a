import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.test_confusion import partition_of

from quietcrowd import _core

NOTHING = {np.int64: np.zeros(0, np.int64), np.int32: np.zeros(0, np.int32)}


def nodes_to(span, count=32):
    return 3.0 * np.sinh(np.linspace(-1, 1, count) * np.arcsinh(span / 3.0))


def own_of(rng, labels, workers, coins):
    """Return votes of workers as numbers, and as tables; one of them is empty."""
    if coins:
        return rng.integers(-(2**27), 2**28, workers), NOTHING[np.int32]
    table = rng.integers(-(2**28), 2**20, workers * labels**2).astype(np.int32)
    return NOTHING[np.int64], table


def arguments_of(
    rng, labels, *, tables, coins=True, workers=50, crowds=2, channels=2, answering=1.0, **options
):
    """Return the arguments of `table_cavities`, or of `coin_cavities`."""
    sides = (labels, labels) if tables else (2,)
    right = rng.random((channels, *sides))
    right[0][rng.random(sides) < 0.2] = 0.0
    votes = (
        *own_of(rng, labels, workers, coins),
        2.0**-24,
        12.0,
        rng.choice([0.0, 1.0, *rng.random(5)], workers),
        rng.normal(size=(crowds, *sides) if tables else crowds, scale=3.0),
        np.log(rng.dirichlet(np.ones(labels))),
    )
    distributions = (
        right,
        rng.random(right.shape) if tables else np.zeros((1, 1)),
        rng.random((channels, labels)) / labels,
        np.full(workers, answering) if answering is not None else rng.random(workers),
        nodes_to(rng.choice([0.3, 4.0, 10.0])),
    )
    histograms = rng.integers(0, 2**40, (workers, crowds, channels, 33))
    return (
        partition_of(rng, labels, workers=workers, **options),
        votes,
        distributions,
        0,
        histograms,
    )


def assert_same(arguments):
    tables = arguments[1][5].ndim == 3
    name = "table_cavities" if tables else "coin_cavities"
    assert_recorded_bits(name, *arguments)


@pytest.mark.parametrize("labels", [1, 2, 3, 4, 9, 40])
@pytest.mark.parametrize(("tables", "coins"), [(False, True), (True, True), (True, False)])
def test_every_bit_of_histograms(labels, tables, coins):
    rng = np.random.default_rng(labels)
    for per in (1, 6, 70):
        for answering in (1.0, None):
            options = {"tables": tables, "coins": coins, "answering": answering}
            assert_same(arguments_of(rng, labels, per=per, **options))


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_every_width_of_values(tables, dtype):
    assert_same(arguments_of(np.random.default_rng(1), 4, tables=tables, dtype=dtype))


@pytest.mark.parametrize("tables", [False, True])
def test_many_labels_and_long_tasks(tables):
    rng = np.random.default_rng(2)
    assert_same(arguments_of(rng, 300, tables=tables, coins=False or not tables, workers=5))
    assert_same(arguments_of(rng, 3, tables=tables, tasks=3, per=60_000))


@pytest.mark.parametrize("tables", [False, True])
@given(data=st.data())
def test_every_bit_of_any_shape(tables, data):
    few = st.integers(1, 4)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    given = arguments_of(
        rng,
        data.draw(few),
        tables=tables,
        coins=not tables or data.draw(st.booleans()),
        workers=data.draw(few),
        crowds=data.draw(few),
        channels=data.draw(few),
        tasks=data.draw(st.integers(0, 70)),
        per=data.draw(st.integers(0, 3)),
    )
    assert_same(given)


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("extreme", [0.0, 1e-300, 1e300, np.inf, -np.inf])
def test_extreme_numbers(tables, extreme):
    """Each array of numbers in turn has one entry of them; infinity as a trust would be NaN."""
    for place, field in [(1, 2), (1, 3), (1, 5), (1, 6), (2, 0), (2, 2), (2, 3)]:
        given = arguments_of(np.random.default_rng(3), 3, tables=tables, workers=5, answering=None)
        changed = list(given[place])
        if isinstance(changed[field], float):
            if np.isinf(extreme):
                continue
            changed[field] = abs(extreme)
        elif np.isfinite(extreme) or field in (5, 6):
            changed[field].flat[0] = extreme
        assert_same((*given[:place], tuple(changed), *given[place + 1 :]))


@pytest.mark.parametrize("tables", [False, True])
def test_log_odds_that_wrap_and_votes_of_certainty(tables):
    """The largest own votes are cut; the largest of the crowd leave a report no chance at all."""
    given = arguments_of(np.random.default_rng(4), 3, tables=tables, workers=5)
    given[1][0][:4] = [-(2**63), 2**63 - 1, 2**62, 0]
    given[1][5].flat[:2] = -1e4, 1e4
    assert_same(given)


@pytest.mark.parametrize("tables", [False, True])
def test_only_some_workers_are_reported_of(tables):
    given = arguments_of(np.random.default_rng(5), 3, tables=tables)
    whole = given[4] * 0
    kernel = _core.table_cavities if tables else _core.coin_cavities
    kernel(*given[:4], whole)
    for first, end in ((0, 50), (0, 0), (10, 30), (30, 50), (49, 60), (60, 70), (-5, 3)):
        some = np.zeros((end - first, *given[4].shape[1:]), np.int64)
        assert_same((*given[:3], first, some))
        kernel(*given[:3], first, some)
        inside = slice(max(first, 0), min(end, 50))
        start = inside.start - first
        found = some[start : start + max(inside.stop - inside.start, 0)]
        assert (found == whole[inside]).all()
        assert some.sum() == found.sum()


@pytest.mark.parametrize("tables", [False, True])
@outside(50, 4, 4)
def test_what_lies_outside_is_refused(tables, place, value, message):
    given = arguments_of(np.random.default_rng(6), 4, tables=tables)
    given[0][place][len(given[0][place]) // 2] = value
    kernel = _core.table_cavities if tables else _core.coin_cavities
    with pytest.raises(ValueError, match=f"{message}.* task"):
        kernel(*given)


def sized_differently(arguments):
    """Yield the arguments with an array of another size, for each array and each axis."""
    for place, argument in enumerate(arguments):
        arrays = argument if isinstance(argument, tuple) else (argument,)
        for field, array in enumerate(arrays):
            for axis, count in enumerate(np.shape(array)):
                for other in {0, max(count - 1, 0), count + 1} - {count}:
                    shape = (*array.shape[:axis], other, *array.shape[axis + 1 :])
                    parts = (*arrays[:field], np.zeros(shape, array.dtype), *arrays[field + 1 :])
                    whole = parts if isinstance(argument, tuple) else parts[0]
                    yield (place, field, axis), (*arguments[:place], whole, *arguments[place + 1 :])


def test_sizes_that_do_not_fit_are_refused():
    """Except how many workers have histograms, and what `coin_cavities` does not use."""
    for tables, coins in ((False, True), (True, True), (True, False)):
        given = arguments_of(np.random.default_rng(7), 4, tables=tables, coins=coins)
        kernel = _core.table_cavities if tables else _core.coin_cavities
        unused = [(4, 0, 0)] if tables else [(4, 0, 0), (2, 1, 0), (2, 1, 1)]
        for where, changed in sized_differently(given):
            if where in unused:
                kernel(*changed)
            else:
                with pytest.raises(ValueError, match=r"must|out of range|offsets"):
                    kernel(*changed)


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize(
    "nodes", [[], [1.0], [1.0, 1.0], [2.0, 1.0], [-1.0, 0.0], [0.0, np.nan], [-np.inf, 1.0]]
)
def test_nodes_that_do_not_rise_are_refused(tables, nodes):
    partition, votes, distributions, first, found = arguments_of(
        np.random.default_rng(8), 4, tables=tables
    )
    distributions = (*distributions[:4], np.array(nodes))
    kernel = _core.table_cavities if tables else _core.coin_cavities
    with pytest.raises(ValueError, match="nodes"):
        kernel(
            partition,
            votes,
            distributions,
            first,
            np.zeros((*found.shape[:3], len(nodes) + 1), np.int64),
        )


@pytest.mark.parametrize("tables", [False, True])
def test_arrays_of_other_types_are_never_converted(tables):
    given = arguments_of(np.random.default_rng(9), 4, tables=tables)
    kernel = _core.table_cavities if tables else _core.coin_cavities
    with pytest.raises(TypeError):
        kernel(*given[:4], given[4].astype(np.float64))
    for place in (0, 1, 4, 5, 6):
        votes = list(given[1])
        votes[place] = votes[place].astype(np.float32)
        with pytest.raises(TypeError):
            kernel(given[0], tuple(votes), *given[2:])
