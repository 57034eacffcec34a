"""Untrusted text for terminals, the order of names, and messages of failed requests."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reverse the direction of text."""

_UNKNOWN = "\ufffd"
_LONGEST_REFUSAL = 600


def printable(text: str) -> str:
    """Replace characters that control a terminal or reverse the direction of text.

    Examples
    --------
    >>> printable("Is it red?" + chr(27) + "[2J")
    'Is it red?�[2J'
    """
    return "".join(letter if _harmless(letter) else _UNKNOWN for letter in text)


def one_line(text: str) -> str:
    """Join the lines of a text, and make it `printable`."""
    return printable(" ".join(text.split()))


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, with an s unless the number is 1."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def reading_order(name: str) -> list[str | int]:
    """Return a sorting key in which the numbers in names count as numbers: t2 is before t10."""
    parts = re.split("([0-9]+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _harmless(letter: str) -> bool:
    if letter in "\n\t":
        return True
    return unicodedata.category(letter) not in ("Cc", "Cs") and letter not in _TURNING


def refusal(response: httpx.Response) -> str:
    """Return the reason in a problem document (RFC 9457), its rules if any, or the status."""
    try:
        problem = response.json()
        general = [problem["title"], problem["detail"]]
        broken = [f"{one['pointer']} {one['message']}" for one in problem.get("errors", [])]
        reasons = (part.strip().removesuffix(".") for part in broken or general)
        return one_line(("; " if broken else ". ").join(reasons))[:_LONGEST_REFUSAL]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"status {response.status_code}"


def problem_name(response: httpx.Response) -> str:
    """Return the name of a problem document's type; an empty text without one."""
    try:
        return str(response.json()["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
