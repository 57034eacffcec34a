"""Answers with known truths, and directories that contain them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Domain, Interval, Ordinal
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.answers import read_answers, read_truths
from quietcrowd.validation import parse_json


@frozen(kw_only=True, eq=False)
class Dataset:
    """Answers with known truths.

    Attributes
    ----------
    name : str
        Name of the data set.
    answers : Answers
        Non-private answers.
    truths : pyarrow.Table
        Columns ``task`` and ``label``; some or all tasks.
    remark : str
        Origin.
    """

    name: str
    answers: Answers
    truths: pa.Table
    remark: str = ""


VARIABLE = "QUIETCROWD_DATA"


def load_dataset(folder: str | Path, **options: Any) -> Dataset:
    """Load a dataset directory.

    Parameters
    ----------
    folder : str or Path
        A directory, or the name of one below the directory in the environment variable
        ``QUIETCROWD_DATA``. It contains ``answers.csv`` (or ``.csv.gz`` or ``.parquet``),
        ``truth.csv`` and ``dataset.json``: a JSON object with a ``kind``, ``categorical``,
        ``ordinal`` or ``interval``, and a ``domain``, the labels or the two bounds.
    **options
        See `Answers.from_frame`.

    Raises
    ------
    FormatError
        If the directory or one of its files is missing or malformed.
    AnswerError
        If an answer violates a rule of `Answers.from_frame`.
    """
    place = _find(folder)
    description = _description(place / "dataset.json")
    domain = _domain(description, place / "dataset.json")
    truth = truth_file(place)
    return Dataset(
        name=str(description.get("name", place.name)),
        answers=read_answers(answers_file(place), domain, **{"advice": "folder"} | options),
        truths=read_truths(truth),
        remark=str(description.get("remark", "")),
    )


def dataset_domain(folder: str | Path) -> Domain:
    """Return the domain of a dataset directory; for exceptions see `load_dataset`."""
    path = _find(folder) / "dataset.json"
    return _domain(_description(path), path)


def _find(folder: str | Path) -> Path:
    place = Path(folder)
    if place.is_dir():
        return place
    if place.is_file():
        raise FormatError("datasets.folder-is-a-file", folder=folder)
    home = os.environ.get(VARIABLE)
    if not home:
        raise FormatError("datasets.folder-unknown-no-home", folder=folder, variable=VARIABLE)
    if not Path(home).is_dir():
        raise FormatError("datasets.home-not-a-folder", variable=VARIABLE, home=home)
    if not (Path(home) / folder).is_dir():
        known = sorted(child.name for child in Path(home).iterdir() if child.is_dir())
        raise FormatError(
            "datasets.folder-unknown", folder=folder, variable=VARIABLE, known=", ".join(known)
        )
    return Path(home) / folder


def truth_file(place: Path) -> Path:
    """Return the file of known truths in a dataset directory, or raise FormatError."""
    truth = place / "truth.csv"
    if not truth.is_file():
        raise FormatError("datasets.truth-file-missing", truth=truth)
    return truth


def answers_file(place: Path) -> Path:
    """Return the file of answers in a dataset directory, or raise FormatError."""
    for name in ("answers.csv", "answers.csv.gz", "answers.parquet"):
        if (place / name).is_file():
            return place / name
    raise FormatError("datasets.answer-file-missing", place=place)


def _description(path: Path) -> Mapping[str, Any]:
    try:
        description = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError("datasets.description-missing", path=path) from None
    except ValueError as error:
        raise FormatError("formats.note-not-json", path=path, error=error) from None
    if not isinstance(description, dict):
        raise FormatError("datasets.not-an-object", path=path)
    return description


def _domain(description: Mapping[str, Any], path: Path) -> Domain:
    try:
        match description:
            case {"kind": "categorical", "domain": list(labels)}:
                return Categorical(labels)
            case {"kind": "ordinal", "domain": list(levels)}:
                return Ordinal(levels)
            case {"kind": "interval", "domain": [low, high]}:
                return Interval(low=low, high=high)
    except ParameterError as error:
        raise FormatError("formats.in-file", path=path, error=error) from None
    raise FormatError("datasets.description-incomplete", path=path)
