"""The known formats of files, and the choice of one by name or suffix."""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.files import check_utf8
from quietcrowd.formats.foreign import check_not_foreign
from quietcrowd.frames import ALIASES
from quietcrowd.validation import did_you_mean, one_line
from quietcrowd.wide_columns import QUALTRICS

_ZIPPED = (".zip", ".xlsx", ".ods")
_DAMAGE = (
    pa.ArrowException,
    OSError,
    EOFError,
    OverflowError,
    ValueError,
    RecursionError,
    zlib.error,
)


@frozen
class Format:
    """A file format: its name on the command line, and how to recognize it.

    A file has the first format with its suffix, unless its header fits the `marks` of another
    format with the suffix. Marks are regular expressions. Each must match the name of a column, and
    no mark in `unless` may. For the header of JSON see `jsonl.first_keys`. Files with any columns
    have the module `table`, and those of a platform the module of its name. A `folder` of files can
    be read as one file.
    """

    name: str
    suffixes: tuple[str, ...]
    marks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    table: str | None = None
    written: bool = False
    folder: bool = False

    @property
    def platform(self) -> bool:
        """Whether files contain answers in fixed columns, instead of a table of any columns."""
        return self.table is None

    @property
    def module(self) -> str:
        """The module, which has ``NAME``, ``read`` and perhaps ``write``."""
        return self.table or f"platforms.{self.name.replace('-', '_')}"

    @property
    def typed(self) -> bool:
        """Whether files of tables have lists, and distinguish texts from numbers."""
        return self.table in ("parquet", "jsonl")

    @property
    def title(self) -> str:
        """The name in messages."""
        return self.load().NAME  # type: ignore[no-any-return]

    def load(self) -> ModuleType:
        """Import the module."""
        return import_module(f"quietcrowd.formats.{self.module}")

    def call(self, reader: str | Callable[..., Any], path: Path, *parameters: Any) -> Any:
        """Call a function, or one of the module; errors about the content are FormatErrors."""
        function = getattr(self.load(), reader) if isinstance(reader, str) else reader
        if not path.is_dir():
            path.open("rb").close()  # later errors are about the content
        try:
            return function(path, *parameters)
        except (FormatError, ParameterError):
            raise
        except _DAMAGE as error:
            if isinstance(error, UnicodeDecodeError) and path.suffix.lower() not in _ZIPPED:
                check_utf8(path)
            raise FormatError(
                "formats.not-readable", path=path, name=self.title, reason=one_line(error)
            ) from None

    def fits(self, path: Path) -> bool:
        """Return whether a file has a suffix of this format, or is a folder that has it."""
        if path.is_dir():
            return self.folder
        return path.name.lower().endswith(self.suffixes)

    def is_marked(self, header: Sequence[str]) -> bool:
        """Return whether a header fits the marks."""

        def matches(mark: str) -> bool:
            return any(re.fullmatch(mark, name, re.DOTALL) for name in header)

        return all(map(matches, self.marks)) and not any(map(matches, self.unless))


_CSV, _TSV, _JSON = (".csv", ".csv.gz"), (".tsv", ".tsv.gz"), (".json", ".json.gz")
_JSONL = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_TEXT = (".txt", ".txt.gz", ".tab", ".tab.gz")
_RECORDS = (*_JSON, *_JSONL)

_TABLE = (rf"({'|'.join(('worker', *ALIASES['worker']))})(:\w+)?",)
"""A column of tables, which these platforms do not write."""

_ARGILLA = r"(responses:(dict|list)|.*\.responses:\w+|.*-suggestion-metadata:\w+)"
_DOCCANO = (
    "(text|filename|data):str",
    "(annotations|labels?|category|categories|cats|entities|relations|bbox|segmentation):list",
)
_LISTS = "(annotator|worker|rater|coder|user)(s|_?ids):list"
"""A column with the workers of a row, which only data sets of Hugging Face have."""

_APPEN = (
    "_unit_id|results:dict",
    "_worker_id|_trusted_judgments|.*:confidence|(judgments_count|state|job_id):.*",
)
_ASSIGNMENTS = tuple(
    rf"Assignments:list|Assignment:dict|{name}:str" for name in ("HITId", "WorkerId")
)
_GROUND_TRUTH = tuple(
    rf"answers:list|file:(.*/)?worker-response/.*|{mark}"
    for mark in ("line:source(-ref)?:str", "line:.+-metadata:dict")
)
_LIMESURVEY = (
    *(r"id(\. .*)?|Response ID", r"submitdate(\. .*)?|Date submitted"),
    *(r"lastpage(\. .*)?|Last page", r"startlanguage(\. .*)?|Start language"),
)
_ZOONIVERSE = ("classification_id", "workflow_id", "annotations", "subject_ids")

_FORMATS = (
    Format("csv", (*_CSV, *_TSV, *_TEXT), table="csv", written=True),
    Format("parquet", (".parquet",), table="parquet", written=True),
    Format("jsonl", _JSONL, table="jsonl", written=True),
    Format("excel", (".xlsx",), table="excel", written=True),
    Format("ods", (".ods",), table="ods"),
    Format("crowd-kit", _CSV, table="csv", written=True),
    Format("mturk", _CSV, ("HITId", "WorkerId"), written=True),
    Format("toloka", _TSV, ("(OUTPUT|GOLDEN|ASSIGNMENT):.*",), written=True),
    Format("label-studio", _JSON, written=True),
    Format(
        "label-studio-min",
        _JSON,
        marks=("annotator:.*", "annotation_id:.*"),
        unless=("annotations:.*", _ARGILLA),
        written=True,
    ),
    Format("label-studio-csv", _CSV, ("annotator", "annotation_id"), written=True),
    Format("prodigy", _RECORDS, ("_input_hash:int", "_task_hash:int", "answer:str")),
    Format(
        "doccano",
        (*_RECORDS, ".zip"),
        marks=_DOCCANO,
        unless=(_ARGILLA, "(task|taskId|annotator|_task_hash):.*", _LISTS),
    ),
    Format("argilla", _RECORDS, (_ARGILLA,)),
    Format("limesurvey", (*_CSV, *_TSV), _LIMESURVEY),
    Format("qualtrics", (*_CSV, *_TSV), QUALTRICS.marks, unless=("task", "label")),
    Format("mturk-api", _RECORDS, _ASSIGNMENTS, unless=_TABLE),
    Format(
        "sagemaker",
        (".manifest", *_RECORDS, ".zip"),
        marks=_GROUND_TRUTH,
        unless=("annotations:.*", *_TABLE),
        folder=True,
    ),
    Format("appen", (*_CSV, *_RECORDS), _APPEN, unless=_TABLE),
    Format("zooniverse", _CSV, _ZOONIVERSE, unless=_TABLE),
    Format("labelbox", _RECORDS, ("data_row:dict", "projects:dict"), unless=_TABLE),
    Format("kili", _RECORDS, ("externalId:.*", "labels:list|latestLabel:.*"), unless=_TABLE),
    Format(
        "json",
        _JSON,
        marks=(".*:(str|int|float|bool)",),
        unless=("(annotations|completions|predictions|data):.*",),
        table="jsonl",
    ),
    Format("hugging-face", (*_RECORDS, *_CSV, ".parquet")),
)

FORMATS: Mapping[str, Format] = {one.name: one for one in _FORMATS}
"""Formats by name; a new file has the first format with its suffix."""


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format with this name, or the first format with the file's suffix."""
    if name is not None and name not in FORMATS:
        raise ParameterError(
            "formats.format-unknown",
            formats=", ".join(FORMATS),
            name=name,
            suggestion=did_you_mean(name, FORMATS),
        )
    found = by_suffix(path) if name is None else FORMATS[name]
    if found is None:
        check_not_foreign(path)
        known = dict.fromkeys(suffix for one in FORMATS.values() for suffix in one.suffixes)
        raise FormatError("formats.suffix-unknown", path=path, known=", ".join(known))
    return found


def by_suffix(path: Path) -> Format | None:
    """Return the first format that a file fits."""
    return next((one for one in FORMATS.values() if one.fits(path)), None)


def formats_within(kind: Format) -> list[Format]:
    """Return the formats with marks that files of this one may have, by their suffixes."""

    def first(suffix: str) -> Format:
        return next(one for one in _FORMATS if suffix in one.suffixes)

    others = (one for one in _FORMATS if one.marks and one != kind)
    return [one for one in others if kind in map(first, one.suffixes)]
