"""Texts that look alike: skeletons of UTS #39, with the confusable characters of Unicode 15.0.

The page for workers reads the same table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

TABLE = Path(str(files("quietcrowd.campaign"))) / "web" / "worker" / "terms" / "confusables.js"
"""The table as a JavaScript module of the page; its header describes the format."""


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
    """Replace look-alike letters, but not numbers, accents and most marks.

    Letters that look like a mark become that mark, except everyday letters of some scripts, such as
    the Hebrew yod.
    """
    return _replaced(text, _letters())


def _replaced(text: str, table: Mapping[int, str]) -> str:
    plain = unicodedata.normalize("NFD", text).translate(table)
    return unicodedata.normalize("NFD", plain).replace("rn", "m")


@cache
def _confusables() -> Mapping[int, str]:
    table: dict[int, str] = {}
    prototype, code = "", 0
    for word in TABLE.read_text("utf-8").split("`")[1].split():
        if word.startswith("="):
            prototype = "".join(chr(int(part, 36)) for part in word[1:].split("."))
            code = 0
        else:
            code += int(word, 36)
            table[code] = prototype
    return table


@cache
def _letters() -> Mapping[int, str]:
    return {
        code: prototype
        for code, prototype in _confusables().items()
        if not chr(code).isdecimal()
        and (
            all(map(_is_letter, prototype))
            or not (any(map(_shows, prototype)) or _is_everyday(chr(code)))
        )
    }


def _is_letter(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "L"


def _shows(letter: str) -> bool:
    """Return whether a character is a letter, a number or an accent."""
    return unicodedata.category(letter)[0] in "LMN"


def _is_everyday(letter: str) -> bool:
    """Return whether it is a letter from Hebrew to Sinhala, or of Japanese or Chinese."""
    return "\u0590" <= letter <= "\u0dff" or "\u3000" <= letter <= "\u9fff"
