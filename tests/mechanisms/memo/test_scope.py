"""What is read as the key of a memo, and what is not."""

import json
from pathlib import Path

import pytest

import quietcrowd as qc
from quietcrowd import FormatError
from quietcrowd.mechanisms.memo.scope import MemoScope, _digest
from quietcrowd.mechanisms.memo.secret import KEY_BYTES

PATH = Path("ann.memo")
KEY = bytes(range(KEY_BYTES))
PUBLIC = {
    "mechanism": qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0),
    "campaign": "drugs",
    "worker": "ann",
    "tasks": ["A", "B"],
}
SCOPE = MemoScope(**PUBLIC)


def with_key(key):
    """Return a file that is whole but for its key."""
    body = {**SCOPE.to_dict(), "key": key}
    return json.dumps({**body, "check": _digest(body)}, indent=1).encode() + b"\n"


def test_a_key_is_read_as_it_was_written():
    assert SCOPE.key_in(SCOPE.content(KEY), PATH) == KEY
    assert with_key(KEY.hex()) == SCOPE.content(KEY)


@pytest.mark.parametrize(
    "key",
    [
        KEY.hex().upper(),
        KEY.hex()[:-2],
        KEY.hex()[:-2] + "  ",
        KEY.hex()[:-2] + "\n\n",
        KEY.hex() + "\n",
        KEY.hex() + "00",
        "0x" + KEY.hex()[2:],
        "\u0663" * 64,
        "g" * 64,
        ["0"] * 64,
        list(KEY) * 2,
        None,
        0,
        {},
        "",
    ],
)
def test_a_key_is_64_lower_case_digits_and_is_never_told(key):
    with pytest.raises(FormatError, match=r"^ann\.memo is damaged") as caught:
        SCOPE.key_in(with_key(key), PATH)
    assert str(key) in ("", "0", "{}", "None") or str(key)[:16] not in str(caught.value)
    assert KEY.hex()[:16] not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content + b"\n",
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b'"version": 1', b'"version": true'),
        lambda content: content.replace(b'"version": 1', b'"version": 2,\n "version": 1'),
        lambda content: json.dumps(json.loads(content)).encode(),
    ],
)
def test_what_reads_alike_but_is_not_what_was_written_is_damaged(change):
    """Such a file could be read, but would not be recognised when it is to be destroyed."""
    with pytest.raises(FormatError, match="is damaged"):
        SCOPE.key_in(change(SCOPE.content(KEY)), PATH)


def test_messages_about_another_scope_do_not_tell_the_key():
    other = MemoScope(**{**PUBLIC, "campaign": "films"})
    with pytest.raises(FormatError, match="another campaign: 'films', not 'drugs'") as caught:
        SCOPE.key_in(other.content(KEY), PATH)
    assert KEY.hex()[:8] not in str(caught.value)


def test_zeros_are_a_memo_that_was_destroyed():
    with pytest.raises(FormatError, match=r"nothing but zeros: the memo was destroyed.* Remove"):
        SCOPE.key_in(bytes(len(SCOPE.content(KEY))), PATH)


@pytest.mark.parametrize(
    "changes", [{"campaign": "\ud800"}, {"worker": "ann\udfff"}, {"tasks": ["A", "\udcff"]}]
)
def test_ids_are_texts_that_files_and_reports_can_hold(changes):
    with pytest.raises(qc.ParameterError, match=r"must be a text that UTF-8 can hold; got '.*ud"):
        MemoScope(**{**PUBLIC, **changes})
