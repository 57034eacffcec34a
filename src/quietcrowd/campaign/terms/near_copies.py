"""How many tasks of a campaign ask for one fact, as far as their words show it.

Three grades. *Copies* show the same data. *Near-copies* show the same letters in every column, and
differ in marks, spaces, ids, and a number that only counts them, as in ``3. Are you well?``: they
count as copies whose answers share a fact. Tasks that are *alike* have one prompt, whatever numbers
are in it, and may have other words beside it, as a question about many pictures does: a reader has
to tell whether they ask for one fact, so they are pointed out. A question in other words is not
found. An image is one word, its hash, whatever is written for those who do not see it.
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

_ID = re.compile(r"(?=.*\d)[\w-]+")
"""One word with a digit in it: ``17``, ``a8f3``, ``row-17``; but not ``17.jpg``."""

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]")
"""What no reader sees, though Unicode counts it as a letter or a mark of one."""

_COUNT = re.compile(r"^\W*(?:[^\W\d]+\W+)?\d+\s*[.:)\]-]|(?<=[.?!])\W*\d+\W*$")
"""A number that counts tasks: ``3. ...``, ``(3) ...``, ``Question 3: ...``, ``...? (3)``."""


def sent_again(mechanism: Mechanism) -> bool:
    """Return whether one report serves all copies of a question: noise is drawn for each by itself.

    Not so where a worker's answers share what is drawn, as a flip probability, a variance or the
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

    A task that shows none is itself alone.
    """
    letters = sorted(map("".join, _columns(data)))
    alone = {"data": data} if data else {"task": name}
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
    plain = unicodedata.normalize("NFKC", " ".join(_texts(value))).casefold()
    plain = _COUNT.sub(" ", _UNSEEN.sub("", plain))
    if _ID.fullmatch(plain.strip()):
        return ()
    kept = ("".join(filter(str.isalnum, part)) for part in plain.split())
    words = tuple(word for word in kept if word)
    return words if any(map(str.isalpha, "".join(words))) else ()
