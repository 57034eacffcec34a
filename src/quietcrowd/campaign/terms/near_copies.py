"""Detection of tasks that ask for the same fact, as far as their words show it.

There are three grades:

* *Copies* show the same data.
* *Near-copies* show the same letters in every column. They may differ in punctuation, spaces, ids,
  and a number that only counts them, as in ``3. Are you well?``. Their answers share a fact.
* Tasks that are *alike* have the same prompt, apart from numbers. Their other columns may differ,
  as in one question about many pictures. Only a person can decide whether they ask for one fact,
  so they are reported.

Paraphrases are not found. An image counts as one word, its hash, whatever its alternative text.

Letters that look alike are equal, such as the Latin and the Cyrillic ``a``: see UTS #39, and the
table of the page for workers, with the confusable characters of Unicode 15.0. No single normal form
serves every case: the capital ``I`` looks like ``l``, and its lower-case form does not. So a task
has up to three keys, and tasks connected by a chain of shared keys are near-copies:

1. Its letters in lower case, then each replaced by its look-alike.
2. The same, with look-alikes also replaced before.
3. All that it shows, by its look.

The letters of a task are the first of these that exist:

1. Those of its values, whatever the columns' names.
2. Those of the keys of columns and nested objects, which are shown as well, except the key of an
   only column. A mere name is ignored: one word of at most twelve letters, such as ``n`` or
   ``image_id``.
3. Its data, or its name if it has no data, apart from case, spaces, invisible characters and final
   punctuation. Tasks that look alike are near-copies then, and another number or id makes another
   task.

So tasks with one question in their values form one group, whatever their keys. So do those with the
question only in a key. A question of one short word in a key next to numbers is not found.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.images import image_in
from quietcrowd.campaign.terms.options import in_any_order
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.mechanisms import Mechanism

TABLE = Path(str(files("quietcrowd.campaign"))) / "web" / "worker" / "terms" / "confusables.json"
"""The table, which is part of the page; its member ``about`` describes the format."""


_MOST_NOTES = 5


def skeleton(text: str) -> str:
    """Return the same text for all texts that look alike by UTS #39.

    It has ``m`` for ``rn``, unlike UTS #39, so that most English words equal their skeletons.

    Examples
    --------
    >>> skeleton("take 1O mg, \u0441alm") == skeleton("take 10 mg, calm")  # a Cyrillic letter
    True
    """
    return _replaced(text, _confusables())


def letters_alike(text: str) -> str:
    """Replace look-alike letters and letters like marks, but not numbers, accents and marks."""
    return _replaced(text, _letter_confusables())


def _replaced(text: str, table: Mapping[int, str]) -> str:
    plain = unicodedata.normalize("NFD", text).translate(table)
    return unicodedata.normalize("NFD", plain).replace("rn", "m")


@cache
def _confusables() -> Mapping[int, str]:
    table: dict[int, str] = {}
    prototype, code = "", 0
    for word in json.loads(TABLE.read_text("utf-8"))["table"].split():
        if word.startswith("="):
            prototype = "".join(chr(int(part, 36)) for part in word[1:].split("."))
            code = 0
        else:
            code += int(word, 36)
            table[code] = prototype
    return table


@cache
def _letter_confusables() -> Mapping[int, str]:
    found = {}
    for code, prototype in _confusables().items():
        kinds = {unicodedata.category(letter)[0] for letter in prototype}
        # letters from Hebrew to Sinhala, and of Japanese and Chinese, are everyday ones
        everyday = 0x590 <= code <= 0xDFF or 0x3000 <= code <= 0x9FFF
        if not chr(code).isdecimal() and (kinds == {"L"} or not (kinds & set("LMN") or everyday)):
            found[code] = prototype
    return found


Shown: TypeAlias = tuple[str, Mapping[str, Any]]
"""Name and data of a task."""

Words: TypeAlias = tuple[str, ...]

Fold: TypeAlias = Callable[[str], str]
"""A normalization: equivalent texts get the same form."""

_ID = re.compile(r"(?=.*\d)(?![_-])(?:[\da-f_-]+|(?:[\d_-]*[^\W\d_]){1,8}[\d_-]*)(?<![_-])")
"""One word with a digit and at most eight letters, or of hexadecimal digits only.

Examples are ``17``, ``a8f3`` and ``row-17``, but not ``17.jpg`` or ``take-drugs-17``."""

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Invisible letters and marks, and code points reserved for them, other than format characters."""

_NAME = re.compile(r"\w{1,12}")  # a key that only names a column

_COUNT = re.compile(r"^\W*(?:[^\W\d]+\W+)?\d+\s*[.:)\]-]|(?<=[.?!])\W*\d+\W*$")
"""A number that counts tasks: ``3. ...``, ``(3) ...``, ``Question 3: ...``, ``...? (3)``."""

_BETWEEN = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_MARKS = re.compile(r"(?<!\d)[\W_]+|[\W_]+(?!\d)")
_END = re.compile(r"(?<=[^\W_])[\W_]+\Z")
"""Marks between two numbers, other marks, and those at the end of a text."""


def sent_again(mechanism: Mechanism) -> bool:
    """Return whether one report serves all copies: noise is independent, and fixed in advance."""
    return mechanism.independent_reports and mechanism.no_memo is None


def largest_group(tasks: Iterable[Shown], mechanism: Mechanism) -> int:
    """Return the most reports on copies and near-copies; copies with one report count once."""
    once = sent_again(mechanism)
    sizes = (
        len({canonical_hash(data) if once and data else name for name, data in group})
        for group in _near_copies(tasks, partial(in_any_order, mechanism))
    )
    return max(sizes, default=1)


def look_alike_tasks(tasks: Iterable[Shown]) -> tuple[tuple[str, ...], ...]:
    """Return groups of names of near-copies written in different look-alike letters."""
    groups = _near_copies(tasks)
    return tuple(
        tuple(name for name, _ in group)
        for group in groups
        if len({canonical_json(_letters(name, data, _folded, str)) for name, data in group}) > 1
    )


def notes_on_copies(
    tasks: Sequence[Shown], mechanism: Mechanism, answers: int | None, linked: int | None
) -> list[str]:
    """Return sentences for the requester of a draft about questions that count as one.

    `answers` is the maximum per worker, None for all. The requester declares `linked`.
    """
    notes = []
    found = min(largest_group(tasks, mechanism), answers or len(tasks))
    if linked is None and found > 1:
        notes.append(
            f"Up to {found:,} answers of a person count as answers to one question. These "
            "questions show the same letters, and may differ only in numbers or ids. People are "
            "informed of this. If these are different questions, write the difference in words."
        )
    for names in look_alike_tasks(tasks)[:_MOST_NOTES]:
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        notes.append(
            f"Questions {', '.join(map(one_line, names[:3]))}{more} look alike, but contain "
            "different characters, such as a Cyrillic and a Latin a. They count as one question. "
            "Write each letter in one script."
        )
    return notes


def letters_hashes(name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the SHA-256, in hexadecimal, of each key of a task; see the module's docstring."""
    keys = (
        _letters(name, data, _folded, skeleton),
        _letters(name, data, _folded_letters, skeleton),
        {"look": _looks(dict(data) or name, lambda text: _look(skeleton(text), _folded))},
    )
    return tuple(sorted({canonical_hash(key).hex() for key in keys}))


def _near_copies(
    tasks: Iterable[Shown], seen: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
) -> list[list[Shown]]:
    """Group tasks by chains of shared keys of `seen` data, with a union-find structure."""
    parents: dict[str, str] = {}

    def root_of(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = key = parents[parents[key]]
        return key

    firsts = []
    for name, data in tasks:
        first, *others = letters_hashes(name, seen(data))
        firsts.append(((name, data), first))
        for other in others:
            parents[root_of(other)] = root_of(first)
    groups: dict[str, list[Shown]] = {}
    for task, first in firsts:
        groups.setdefault(root_of(first), []).append(task)
    return list(groups.values())


def _letters(name: str, data: Mapping[str, Any], fold: Fold, last: Fold) -> Any:
    """Return the letters of a task; `fold` normalizes texts as they are read, `last` at the end."""
    columns = [_words(value, fold) for value in data.values()]
    for texts in (columns, [_words(key, fold) for key in _asking_keys(data, fold)]):
        if any(texts):
            return sorted(last("".join(words)) for words in texts if words)
    if data:
        return {"data": _looks(dict(data), lambda text: last(_END.sub("", _look(text, fold))))}
    return {"task": last(_name_letters(name, fold))}


def alike(tasks: Iterable[Shown]) -> tuple[tuple[str, ...], ...]:
    """Return groups of names of tasks with the same prompt, at least two words, and other data."""
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
    shown = [*(data if len(data) > 1 else ()), *_keys(list(data.values()))]
    return [key for key in shown if not _NAME.fullmatch(_look(key, fold))]


def _keys(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [*value, *(key for part in value.values() for key in _keys(part))]
    return [key for part in value for key in _keys(part)] if isinstance(value, list) else []


def _looks(value: Any, look: Callable[[str], str]) -> Any:
    """Normalize all texts in a value; an object becomes a sorted list."""
    if isinstance(value, Mapping):
        pairs = [[look(key), _looks(part, look)] for key, part in value.items()]
        return sorted(pairs, key=canonical_json)
    if isinstance(value, list):
        return [_looks(part, look) for part in value]
    return look(value) if isinstance(value, str) else value


def _look(text: str, fold: Fold) -> str:
    return " ".join(fold(text).split())


def _name_letters(name: str, fold: Fold) -> str:
    """Return letters and separated numbers of a name, which often has only numbers."""
    return _MARKS.sub("", _BETWEEN.sub(" ", fold(name))) or _look(name, fold)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key in sorted(value) for text in _texts(value[key])]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _words(value: Any, fold: Fold) -> Words:
    """Return the words of a column without case and marks; none of only numbers and ids."""
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
    if text.isascii():
        return text.casefold()
    seen = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", seen)).casefold()


def _folded_letters(text: str) -> str:
    return _folded(letters_alike(text))
