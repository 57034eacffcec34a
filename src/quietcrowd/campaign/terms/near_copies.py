"""How many tasks of a campaign ask for one fact, as far as their words show it.

Three grades. *Copies* show the same data. *Near-copies* show the same letters in every column, and
differ in marks, spaces, ids, and a number that only counts them, as in ``3. Are you well?``: they
count as copies whose answers share a fact. Tasks that are *alike* have one prompt, whatever numbers
are in it, and may have other words beside it, as a question about many pictures does: a reader has
to tell whether they ask for one fact, so they are pointed out. A question in other words is not
found. An image is one word, its hash, whatever is written for those who do not see it.

Letters that look alike are the same letter, as the Latin and the Cyrillic ``a``. No single spelling
of a text serves every case: the capital ``I`` looks like ``l``, and its small letter does not. So a
task has up to three keys, and tasks that share one are near-copies, as are those of a chain of
shared keys:

1. Its letters in small letters, each then replaced by the one that it looks like.
2. The same after look-alike letters were replaced first.
3. All that it shows, as it looks.

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
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.images import image_in
from quietcrowd.campaign.terms.look_alikes import letters_alike, skeleton
from quietcrowd.mechanisms import Mechanism

__all__ = ["alike", "largest_group", "letters_hashes", "look_alike_tasks", "sent_again"]

Shown: TypeAlias = tuple[str, Mapping[str, Any]]
"""The name of a task, and what it shows."""

Words: TypeAlias = tuple[str, ...]

Fold: TypeAlias = Callable[[str], str]
"""What gives texts that count as the same one spelling."""

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
    sizes = (
        len({canonical_hash(data) if once and data else name for name, data in group})
        for group in _near_copies(tasks)
    )
    return max(sizes, default=1)


def look_alike_tasks(tasks: Iterable[Shown]) -> tuple[tuple[str, ...], ...]:
    """Return the names of near-copies whose letters look alike and are other characters.

    Parameters
    ----------
    tasks : iterable of (name, data)
        All tasks of a campaign.
    """
    groups = _near_copies(tasks)
    return tuple(
        tuple(name for name, _ in group)
        for group in groups
        if len({canonical_json(_letters(name, data, _folded, str)) for name, data in group}) > 1
    )


def letters_hashes(name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the SHA-256, in hex, of each key of a task: near-copies share one, or a chain of them.

    See above for what these are.
    """
    keys = (
        _letters(name, data, _folded, skeleton),
        _letters(name, data, _folded_letters, skeleton),
        {"look": _looks(dict(data) or name, lambda text: _look(skeleton(text), _folded))},
    )
    return tuple(sorted({canonical_hash(key).hex() for key in keys}))


def _near_copies(tasks: Iterable[Shown]) -> list[list[Shown]]:
    """Return the groups of near-copies; a task without any is a group as well."""
    parents: dict[str, str] = {}

    def root_of(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = key = parents[parents[key]]
        return key

    firsts = []
    for name, data in tasks:
        first, *others = letters_hashes(name, data)
        firsts.append(((name, data), first))
        for other in others:
            parents[root_of(other)] = root_of(first)
    groups: dict[str, list[Shown]] = {}
    for task, first in firsts:
        groups.setdefault(root_of(first), []).append(task)
    return list(groups.values())


def _letters(name: str, data: Mapping[str, Any], fold: Fold, last: Fold) -> Any:
    """Return the letters of a task, JSON-ready; see above for which these are.

    Parameters
    ----------
    name, data
        The task.
    fold, last : callable
        What gives texts that count as the same one spelling: as they are read, and at the end.
    """
    columns = [_words(value, fold) for value in data.values()]
    for texts in (columns, [_words(key, fold) for key in _asking_keys(data, fold)]):
        if any(texts):
            return sorted(last("".join(words)) for words in texts if words)
    if data:
        return {"data": _looks(dict(data), lambda text: last(_END.sub("", _look(text, fold))))}
    return {"task": last(_name_letters(name, fold))}


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
        columns = (_words(value, _folded) for value in data.values())
        prompts = sorted([word for word in words if not word.isdecimal()] for words in columns)
        prompt = max(prompts, key=len, default=[])
        if len(prompt) > 1:
            groups.setdefault(skeleton("".join(prompt)), []).append((name, canonical_hash(data)))
    return tuple(
        tuple(name for name, _ in members)
        for members in groups.values()
        if len({exact for _, exact in members}) > 1
    )


def _asking_keys(data: Mapping[str, Any], fold: Fold) -> list[str]:
    """Return all shown keys that are more than names."""
    shown = [*(data if len(data) > 1 else ()), *_keys(list(data.values()))]
    return [key for key in shown if not _NAME.fullmatch(_look(key, fold))]


def _keys(value: Any) -> list[str]:
    """Return all keys in a value, those of nested objects as well."""
    if isinstance(value, Mapping):
        return [*value, *(key for part in value.values() for key in _keys(part))]
    return [key for part in value for key in _keys(part)] if isinstance(value, list) else []


def _looks(value: Any, look: Callable[[str], str]) -> Any:
    """Return a value with its texts as they look; an object is given as a list."""
    if isinstance(value, Mapping):
        pairs = [[look(key), _looks(part, look)] for key, part in value.items()]
        return sorted(pairs, key=canonical_json)
    if isinstance(value, list):
        return [_looks(part, look) for part in value]
    return look(value) if isinstance(value, str) else value


def _look(text: str, fold: Fold) -> str:
    return " ".join(fold(text).split())


def _name_letters(name: str, fold: Fold) -> str:
    """Return the letters and numbers of a task's name, numbers apart; its look where it has none.

    Names are often numbers alone: none of them is taken for one that only counts.
    """
    return _MARKS.sub("", _BETWEEN.sub(" ", fold(name))) or _look(name, fold)


def _texts(value: Any) -> list[str]:
    """Return all texts in a value, those of nested ones as well."""
    if isinstance(value, dict):
        return [text for key in sorted(value) for text in _texts(value[key])]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _words(value: Any, fold: Fold) -> Words:
    """Return the words of what a column shows: case, spaces and marks make no difference.

    Numbers, marks and ids alone are no words. An image is a word.
    """
    image = image_in(value)
    if image is not None:
        return (image,)
    plain = _COUNT.sub(" ", fold(" ".join(_texts(value))))
    if _ID.fullmatch(plain.strip()):
        return ()
    kept = ("".join(filter(str.isalnum, part)) for part in plain.split())
    words = tuple(word for word in kept if word)
    return words if any(map(str.isalpha, "".join(words))) else ()


def _folded(text: str) -> str:
    """Return a text without its case and without what is not seen, in one of its spellings."""
    if text.isascii():
        return text.casefold()
    seen = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", seen)).casefold()


def _folded_letters(text: str) -> str:
    return _folded(letters_alike(text))
