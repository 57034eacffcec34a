"""How many tasks of a campaign ask for one fact, as far as their words show it.

Three grades. *Copies* show the same data. *Near-copies* show the same letters in every column, and
differ in marks, spaces, ids, and a number that only counts them, as in ``3. Are you well?``: they
count as copies whose answers share a fact. Tasks that are *alike* have one prompt, whatever numbers
are in it, and may have other words beside it, as a question about many pictures does: a reader has
to tell whether they ask for one fact, so they are pointed out. A question in other words is not
found. An image is one word, its hash, whatever is written for those who do not see it.

The letters of a task are the first of these that there are:

1. Those of its values, whatever the columns are called.
2. Those of the keys of columns and of nested objects, which are shown as well, but for that of an
   only column. A key that is a mere name, one word of at most twelve letters as ``n`` or
   ``image_id``, is left out.
3. What it shows, or its name where it has no data, but for case, spaces, unseen signs and marks at
   an end: then tasks that look alike are near-copies, and another number or id is another task.

Tasks of one question whose values have letters are one group, then, whatever their keys; so are
those that ask in a key alone. A question of one short word in a key beside numbers is not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.images import image_in
from quietcrowd.mechanisms import Mechanism

__all__ = ["alike", "largest_group", "letters_hash", "sent_again"]

Shown: TypeAlias = tuple[str, Mapping[str, Any]]
"""The name of a task, and what it shows."""

Words: TypeAlias = tuple[str, ...]

_ID = re.compile(r"(?=.*\d)(?![_-])(?:[\da-f_-]+|(?:[\d_-]*[^\W\d_]){1,8}[\d_-]*)(?<![_-])")
"""One word with a digit in it and at most eight letters, or of hex digits alone.

So are ``17``, ``a8f3``, ``row-17``; but not ``17.jpg`` or ``take-drugs-17``.
"""

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""What no reader sees beside format characters: letters, marks, and places kept for such."""

_NAME = re.compile(r"\w{1,12}")
"""A key that names a column and asks nothing."""

_COUNT = re.compile(r"^\W*(?:[^\W\d]+\W+)?\d+\s*[.:)\]-]|(?<=[.?!])\W*\d+\W*$")
"""A number that counts tasks: ``3. ...``, ``(3) ...``, ``Question 3: ...``, ``...? (3)``."""

_BETWEEN = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_MARKS = re.compile(r"(?<!\d)[\W_]+|[\W_]+(?!\d)")
_END = re.compile(r"(?<=[^\W_])[\W_]+\Z")
"""Marks between two numbers, any other, and those at the end of a text."""


def sent_again(mechanism: Mechanism) -> bool:
    """Return whether one report serves all copies of a question: noise is drawn for each by itself.

    Not so where a worker's answers share what is drawn, as a flip probability or the
    sums of a sketch; nor where a device cannot fix beforehand what it would send.
    """
    return mechanism.independent_reports and mechanism.no_memo is None


def largest_group(tasks: Iterable[Shown], mechanism: Mechanism) -> int:
    """Return how many reports at most are on copies and near-copies of one question, at least 1.

    Copies count once where one report serves them all.

    Parameters
    ----------
    tasks : iterable of (name, data)
        All tasks of a campaign.
    mechanism : Mechanism
        What randomises.
    """
    once = sent_again(mechanism)
    groups: dict[str, set[Any]] = {}
    for name, data in tasks:
        exact = canonical_hash(data) if data else name
        groups.setdefault(letters_hash(name, data), set()).add(exact if once else name)
    return max(map(len, groups.values()), default=1)


def letters_hash(name: str, data: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the letters that a task shows: near-copies have the same.

    See above for which these are.
    """
    letters = sorted(map("".join, _columns(data))) or _asking_keys(data)
    alone = {"data": _looks(data)} if data else {"task": _name_letters(name)}
    return canonical_hash(letters or alone).hex()


def alike(tasks: Iterable[Shown]) -> tuple[tuple[str, ...], ...]:
    """Return the names of tasks that have one prompt and show other data beside it.

    The prompt is the column with most words, which are two at least.

    Parameters
    ----------
    tasks : iterable of (name, data)
        All tasks of a campaign.
    """
    groups: dict[str, list[tuple[str, bytes]]] = {}
    for name, data in tasks:
        columns = [[word for word in words if not word.isdecimal()] for words in _columns(data)]
        prompt = max(sorted(columns), key=len, default=[])
        if len(prompt) > 1:
            groups.setdefault("".join(prompt), []).append((name, canonical_hash(data)))
    return tuple(
        tuple(name for name, _ in members)
        for members in groups.values()
        if len({exact for _, exact in members}) > 1
    )


def _columns(data: Mapping[str, Any]) -> list[Words]:
    """Return the words of each column that has any."""
    return [words for words in map(_words, data.values()) if words]


def _asking_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the letters of all shown keys that are more than names, in order."""
    shown = [*(data if len(data) > 1 else ()), *_keys(list(data.values()))]
    asking = (key for key in shown if not _NAME.fullmatch(_look(key)))
    return sorted(filter(None, map("".join, map(_words, asking))))


def _keys(value: Any) -> list[str]:
    """Return all keys in a value, those of nested objects as well."""
    if isinstance(value, Mapping):
        return [*value, *(key for part in value.values() for key in _keys(part))]
    return [key for part in value for key in _keys(part)] if isinstance(value, list) else []


def _looks(value: Any) -> Any:
    """Return a value with its texts as they look, but for case and marks at their ends.

    An object is given as a list.
    """
    if isinstance(value, Mapping):
        pairs = sorted((_look(key), key) for key in value)
        return [[look, _looks(value[key])] for look, key in pairs]
    if isinstance(value, list):
        return [_looks(part) for part in value]
    return _END.sub("", _look(value)) if isinstance(value, str) else value


def _look(text: str) -> str:
    return " ".join(_folded(text).split())


def _name_letters(name: str) -> str:
    """Return the letters and numbers of a task's name, numbers apart; its look where it has none.

    Names are often numbers alone: none of them is taken for one that only counts.
    """
    return _MARKS.sub("", _BETWEEN.sub(" ", _folded(name))) or _look(name)


def _texts(value: Any) -> list[str]:
    """Return all texts in a value, those of nested ones as well."""
    if isinstance(value, dict):
        return [text for key in sorted(value) for text in _texts(value[key])]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _words(value: Any) -> Words:
    """Return the words of what a column shows: case, spaces and marks make no difference.

    Numbers, marks and ids alone are no words. An image is a word.
    """
    image = image_in(value)
    if image is not None:
        return (image,)
    plain = _COUNT.sub(" ", _folded(" ".join(_texts(value))))
    if _ID.fullmatch(plain.strip()):
        return ()
    kept = ("".join(filter(str.isalnum, part)) for part in plain.split())
    words = tuple(word for word in kept if word)
    return words if any(map(str.isalpha, "".join(words))) else ()


def _folded(text: str) -> str:
    """Return a text without its case and without what is not seen, in one of its spellings."""
    seen = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", seen)).casefold()
