import copy
import pickle

import numpy as np
import pytest
from scipy import stats

from quietcrowd.mechanisms.randomness import (
    Secret,
    system_words,
    uniform_integers,
    word_source,
    words_in_turn,
)

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
    assert word_source(words_in_turn) is words_in_turn


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


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_not_copied(take):
    secret = Secret.draw("context")
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        take(secret)


def test_fewer_bytes_are_the_first_of_more_and_labels_and_contexts_differ():
    secret = Secret(key=bytes(32), context="one")
    assert secret.give(("a", 1), 8) == secret.give(("a", 1), 64)[:8]
    others = [Secret(key=bytes(32), context="two"), Secret(key=b"k" * 32, context="one")]
    given = {one.give(("a", 1), 32) for one in (secret, *others)}
    given |= {secret.give(label, 32) for label in (("a", "1"), ("a",), ("a1",), ("a", 1, 1))}
    assert len(given) == 7


def test_words_are_the_same_whenever_their_source_is_made():
    secret = Secret.draw("context")
    one, other = secret.words("fill"), secret.words("fill")
    assert [one(3).tolist(), one(2).tolist()] == [other(3).tolist(), other(2).tolist()]
    assert secret.words("weight")(3).tolist() != secret.words("fill")(3).tolist()
