"""Every printed claim of the papers, how it is checked, and what came out.

The records are the TOML files in ``claims/``. ``research/docs/reproduction.md`` is written from
them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from attrs import fields, frozen

from quietcrowd.exceptions import FormatError

DOCUMENTS = ("li2018", "sun2018", "sun2018slides", "moon2025", "huai2019")
KINDS = ("theorem", "figure", "table", "number", "statement")
VERDICTS = ("reproduced", "reproduced with a note", "not reproduced", "cannot be tried")


@frozen(kw_only=True)
class Claim:
    """One printed claim.

    Attributes
    ----------
    id : str
        Its name: the document's, a hyphen, and words.
    where : str
        Where it stands in the document.
    kind : str
        One of `KINDS`.
    claim : str
        What is claimed, in our words.
    printed : str
        Numbers as they are printed; "" where there are none.
    check : str
        How it is checked.
    exists : tuple of str
        What the check rests on: a page, a test, a public name, or "figure:" and its name.
    verdict : str or None
        One of `VERDICTS`; None until it has been tried.
    reason : str
        What was found; "" without a verdict.
    noise_aware : str
        What the noise-aware method finds in its place; "" where it does not apply.
    """

    id: str
    where: str
    kind: str
    claim: str
    printed: str = ""
    check: str
    exists: tuple[str, ...] = ()
    verdict: str | None = None
    reason: str = ""
    noise_aware: str = ""


@frozen(kw_only=True)
class Printed:
    """A figure, a table or another part of a document that has a number or a place.

    Attributes
    ----------
    number : str
        As it is printed, such as "Figure 1".
    figures : tuple of str
        Names of ``quietcrowd reproduce`` that show it.
    note : str
        What is different here, or why there is nothing to run; "" where there is nothing to say.
    """

    number: str
    figures: tuple[str, ...] = ()
    note: str = ""


@frozen(kw_only=True)
class Document:
    """A paper or its slides, with all of its claims.

    Attributes
    ----------
    name : str
        One of `DOCUMENTS`.
    title, note : str
        What it is, and how it is read.
    skipped : tuple of str
        What it says of other people's work: not tried.
    printed : tuple of Printed
        Its figures and tables.
    claims : tuple of Claim
        In the order of the document.
    """

    name: str
    title: str
    note: str
    skipped: tuple[str, ...]
    printed: tuple[Printed, ...]
    claims: tuple[Claim, ...]


def load_documents() -> tuple[Document, ...]:
    """Return all documents.

    Raises
    ------
    FormatError
        Where a record is not as it should be: which, and what is wrong.

    Examples
    --------
    >>> [document.name for document in load_documents()]
    ['li2018', 'sun2018', 'sun2018slides', 'moon2025', 'huai2019']
    """
    folder = files(__package__) / "claims"
    return tuple(
        load_document((folder / f"{name}.toml").read_text(encoding="utf-8"), name)
        for name in DOCUMENTS
    )


def load_document(text: str, name: str) -> Document:
    """Return the document of a TOML text.

    Parameters
    ----------
    text : str
        Of the file.
    name : str
        Of the document.

    Raises
    ------
    FormatError
        Where a record is not as it should be: which, and what is wrong.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"claims of {name}: {error}") from error
    missing = {"document", "title", "note", "skipped", "printed", "claim"} ^ content.keys()
    if missing or content["document"] != name:
        odd = ", ".join(sorted(missing)) or f"document is {content['document']!r}"
        raise FormatError(f"claims of {name}: missing, unknown or wrong: {odd}")
    claims = tuple(_claim(record, name) for record in content["claim"])
    names = [claim.id for claim in claims]
    for one in names:
        if names.count(one) > 1:
            raise FormatError(f"claim {one} stands there twice")
    return Document(
        name=name,
        title=_line(content["title"]),
        note=_line(content["note"]),
        skipped=tuple(map(_line, content["skipped"])),
        printed=tuple(_printed(record, name) for record in content["printed"]),
        claims=claims,
    )


def _printed(record: Mapping[str, Any], document: str) -> Printed:
    number = record.get("number", "without number")
    unknown = record.keys() - {"number", "figures", "note"}
    if unknown or "number" not in record or len(record) == 1:
        raise FormatError(
            f"printed {number} of {document}: it has a number, and figures, a note or both; "
            f"got {', '.join(record)}"
        )
    return Printed(
        number=number,
        figures=tuple(record.get("figures", ())),
        note=_line(record.get("note", "")),
    )


def _claim(record: Mapping[str, Any], document: str) -> Claim:
    """Return a record, whose texts are wrapped in the file, as a claim."""
    name = record.get("id", "without id")
    known = [field.name for field in fields(Claim)]
    needed = ("id", "where", "kind", "claim", "check")
    for key in (*(key for key in record if key not in known), *needed):
        if key not in known or key not in record:
            raise FormatError(f"claim {name}: {key} is {'missing' if key in known else 'unknown'}")
    if not name.startswith(f"{document}-"):
        raise FormatError(f"claim {name}: its id must begin with {document}-")
    texts = {key: _line(value) for key, value in record.items() if key != "exists"}
    for key, value in texts.items():
        if not value:
            raise FormatError(f"claim {name}: {key} is empty")
    for key, allowed in (("kind", KINDS), ("verdict", VERDICTS)):
        if texts.get(key, allowed[0]) not in allowed:
            raise FormatError(f"claim {name}: {key} {texts[key]!r} is none of {', '.join(allowed)}")
    if ("verdict" in record) != ("reason" in record):
        raise FormatError(f"claim {name}: a verdict and its reason go together")
    return Claim(**texts, exists=tuple(record.get("exists", ())))


def _line(text: str) -> str:
    return " ".join(text.split())
