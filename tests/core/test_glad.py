import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.test_confusion import partition_of

from quietcrowd import _core
from quietcrowd.inference.integer_sums import shares

UNIT, REST_UNIT = 2.0**32, 2.0**33
WORKERS = 50


def arguments_of(rng, labels, *, last=True, abilities=None, **options):
    """Return the arguments of `infer_with_easiness`."""
    partition = partition_of(rng, labels, workers=WORKERS, **options)
    if abilities is None:
        abilities = np.rint(rng.normal(1.0, 1.0, WORKERS) * 2**32).astype(np.int64)
    room = len(partition[0]) - 1 if last else 0
    return (
        partition,
        abilities,
        UNIT,
        REST_UNIT,
        shares(labels),
        7,
        np.zeros(WORKERS, np.int64),
        np.zeros(WORKERS, np.int64),
        np.zeros(WORKERS, np.int64),
        (np.zeros(room, partition[2].dtype), np.zeros(room), np.zeros(room, bool)),
        np.zeros(room),
    )


@pytest.mark.parametrize("labels", [1, 2, 3, 7, 20, 40, 300])
@pytest.mark.parametrize("last", [False, True])
def test_every_bit_of_a_sweep(labels, last):
    rng = np.random.default_rng(labels)
    dtype = np.uint8 if labels < 256 else np.uint16
    for per in (0, 1, 6, 60):
        given = arguments_of(rng, labels, last=last, per=per, tasks=150, dtype=dtype)
        assert_recorded_bits("infer_with_easiness", *given)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_every_width_of_values(dtype):
    given = arguments_of(np.random.default_rng(1), 4, dtype=dtype)
    assert_recorded_bits("infer_with_easiness", *given)


def test_tasks_longer_than_a_block_keeps():
    rng = np.random.default_rng(2)
    for labels in (2, 12):
        given = arguments_of(rng, labels, tasks=5, per=12_000)
        assert_recorded_bits("infer_with_easiness", *given)


@pytest.mark.parametrize("size", [0, 1, 2**20, 20 * 2**32, 2**62])
def test_every_bit_of_extreme_abilities(size):
    """No abilities, tiny ones, the largest that the method has, and some whose sums wrap."""
    rng = np.random.default_rng(3)
    for signs in ((1,), (-1, 1)):
        given = arguments_of(rng, 3, abilities=rng.choice(signs, WORKERS) * size)
        assert_recorded_bits("infer_with_easiness", *given)


def test_every_bit_of_no_tasks():
    given = arguments_of(np.random.default_rng(4), 3, tasks=0)
    assert_recorded_bits("infer_with_easiness", *given)


@outside(WORKERS, 4, 4)
def test_what_lies_outside_is_refused(place, value, message):
    given = arguments_of(np.random.default_rng(5), 4)
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_with_easiness(*given)


@pytest.mark.parametrize("place", [1, 4, 6, 7, 8, 10])
def test_sizes_and_types_that_do_not_fit_are_refused(place):
    given = list(arguments_of(np.random.default_rng(6), 4))
    whole = given[place]
    given[place] = whole[1:]
    with pytest.raises(ValueError, match=r"must|out of range|is no label"):
        _core.infer_with_easiness(*given)
    given[place] = whole.astype(np.float32)
    with pytest.raises(TypeError):
        _core.infer_with_easiness(*given)
