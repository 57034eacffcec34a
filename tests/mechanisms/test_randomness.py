import numpy as np
import pytest
from scipy import stats

from quietcrowd.mechanisms.randomness import system_words, uniform_integers, word_source

FALSE_ALARM = 1e-6


def test_system_words_are_32_bits_each_and_differ():
    words = system_words(1_000)
    assert words.dtype == np.uint32
    assert len(np.unique(words)) > 990
    assert not np.array_equal(words, system_words(1_000))
    assert len(system_words(0)) == 0


def test_system_words_are_the_operating_systems(monkeypatch):
    monkeypatch.setattr("os.urandom", lambda count: bytes(range(count)))
    assert system_words(2).tolist() == [0x03020100, 0x07060504]
    assert word_source(None)(1).tolist() == [0x03020100]


def test_a_seed_repeats():
    one, other = (word_source(np.random.default_rng(5))(10) for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (7, 11), (2**32 - 3, 2**32), (0, 2**32)])
def test_uniform_integers_stay_in_range(low, high):
    drawn = uniform_integers(word_source(np.random.default_rng(1)), low, high, 5_000)
    assert drawn.min() >= low
    assert drawn.max() <= high
    if high - low < 10:
        counts = np.bincount((drawn - np.uint64(low)).astype(int), minlength=high - low + 1)
        assert high == low or stats.chisquare(counts).pvalue > FALSE_ALARM
    assert uniform_integers(system_words, low, high, 3).max() <= high


def test_numbers_beyond_the_last_whole_multiple_are_drawn_again():
    high = 2**32 - 2  # 2^32 - 1 values: 2^64 - 1 is a whole multiple, so 2^64 - 1 itself is refused
    given = iter([[2**32 - 1, 2**32 - 1, 5, 0], [9, 0]])
    drawn = uniform_integers(lambda n: np.array(next(given), np.uint32)[:n], 0, high, 2)
    assert drawn.tolist() == [9, 5]
