import copy
import pickle

import pytest

from quietcrowd.mechanisms.memo.secret import Secret


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_not_copied(take):
    secret = Secret.draw("context")
    with pytest.raises(TypeError, match="neither copied nor pickled: open the memo again"):
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
