"""How many tasks of a campaign ask for one fact, as far as their words show it.

Copies show everything alike. Near-copies have the same prompt and other data beside it: perhaps
another picture, perhaps a number that only makes them differ. Nobody but a reader can tell, so all
of them count. A question in other words is not found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from quietcrowd.campaign.canonical import canonical_hash
from quietcrowd.mechanisms import LaplacePerturbation, Mechanism, RandomizedResponse

__all__ = ["largest_group", "near_copies", "prompt", "sent_again"]


def sent_again(mechanism: Mechanism) -> bool:
    """Return whether one report serves all copies of a question: noise is drawn for each by itself.

    Not so where a worker's answers share what is drawn, as a flip probability, a variance or the
    sums of a sketch.
    """
    return isinstance(mechanism, RandomizedResponse | LaplacePerturbation)


def prompt(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words that a task asks with: of all its columns, the one that has most of them.

    Case, spaces and punctuation make no difference. Where no column has two words, all count.

    Parameters
    ----------
    data : mapping
        What is asked.

    Returns
    -------
    tuple of str
        Empty where there are no letters at all: then nothing is known of it.
    """
    columns = [words for words in map(_words, (data[name] for name in sorted(data))) if words]
    longest = max(columns, key=len, default=())
    return longest if len(longest) > 1 else tuple(word for words in columns for word in words)


def _words(value: Any) -> tuple[str, ...]:
    """Return the words of a text, none where there is no letter in it."""
    if not isinstance(value, str):
        return ()
    plain = unicodedata.normalize("NFKC", value).casefold()
    kept = ("".join(filter(str.isalnum, part)) for part in plain.split())
    words = tuple(word for word in kept if word)
    return words if any(map(str.isalpha, "".join(words))) else ()


def near_copies(tasks: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[tuple[str, ...], ...]:
    """Return the names of tasks that have one prompt and show other data beside it.

    Parameters
    ----------
    tasks : iterable of (name, data)
        All tasks of a campaign.
    """
    groups = _by_prompt(tasks).values()
    return tuple(
        tuple(name for name, _ in members)
        for members in groups
        if len({shown for _, shown in members}) > 1
    )


def largest_group(tasks: Iterable[tuple[str, Mapping[str, Any]]], mechanism: Mechanism) -> int:
    """Return how many reports at most are on tasks with one prompt: 1 where no two have the same.

    Copies count once where one report serves them all.

    Parameters
    ----------
    tasks : iterable of (name, data)
        All tasks of a campaign.
    mechanism : Mechanism
        What randomises.
    """
    place = 1 if sent_again(mechanism) else 0
    groups = _by_prompt(tasks).values()
    return max((len({one[place] for one in members}) for members in groups), default=1)


def _by_prompt(
    tasks: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[tuple[str, ...], list[tuple[str, bytes]]]:
    """Return the names of tasks, and a hash of what they show, by the words that they ask with."""
    groups: dict[tuple[str, ...], list[tuple[str, bytes]]] = {}
    for name, data in tasks:
        words = prompt(data)
        if words:
            groups.setdefault(words, []).append((name, canonical_hash(data)))
    return groups
