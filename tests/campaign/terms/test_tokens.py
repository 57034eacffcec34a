import hashlib

import pytest

from quietcrowd.campaign.terms.tokens import (
    has_prefix,
    hide_pseudonyms,
    hide_tokens,
    key_id,
    new_id,
    new_pseudonym,
    new_token,
    participant_id,
    same_hash,
    token_hash,
    withdrawn_hash,
)

KINDS = {"qck_", "qcw_", "qci_", "qcd_", "qcr_"}


@pytest.mark.parametrize("prefix", sorted(KINDS))
def test_tokens_say_what_they_are_for(prefix):
    token = new_token(prefix)
    assert has_prefix(token, prefix)
    assert len(token) == 47
    assert not any(has_prefix(token, other) for other in KINDS - {prefix})
    assert hide_tokens(f"see {token}, {token}") == f"see {prefix}..., {prefix}..."


@pytest.mark.parametrize("text", ["qck_", "qck_" + "a" * 42, "qck_" + "a" * 44, "qck_" + "é" * 43])
def test_other_texts_are_no_tokens(text):
    assert not has_prefix(text, "qck_")


def test_what_is_kept_of_who_withdrew_is_not_what_was_stored_before():
    credential = new_token("qcw_")
    assert withdrawn_hash(credential) == withdrawn_hash(credential)
    assert withdrawn_hash(credential) not in (token_hash(credential), participant_id(credential))
    assert withdrawn_hash(credential) != withdrawn_hash(new_token("qcw_"))


def test_tokens_and_names_differ():
    assert len({new_token("qcw_") for _ in range(100)}) == 100
    assert len({new_id() for _ in range(100)}) == 100
    assert len({new_pseudonym() for _ in range(100)}) == 100


def test_a_participant_is_the_beginning_of_the_hash_of_the_credential():
    token = new_token("qcw_")
    assert token_hash(token) == hashlib.sha256(token.encode()).digest()
    assert participant_id(token) == token_hash(token)[:16]


def test_a_key_is_called_by_the_beginning_of_its_hash():
    assert key_id(token_hash("one")) == token_hash("one")[:16]


def test_pseudonyms_are_taken_out_of_messages():
    one, other = new_pseudonym(), new_pseudonym()
    assert hide_pseudonyms(f"2 of 9 workers ({one}, {other}, ...) agree") == "2 of 9 workers agree"
    assert hide_pseudonyms(f"{one} gave most (a lot)") == "a worker gave most (a lot)"
    assert hide_pseudonyms("a worker-bee (worker-1)") == "a worker-bee (worker-1)"


def test_hashes_are_compared_whole():
    one = token_hash("one")
    assert same_hash(one, bytes(one))
    assert not same_hash(one, token_hash("two"))
    assert not same_hash(one, one[:31])
