"""The formats of files, and the choice of one by name, suffix and header."""

import re
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdWarning
from quietcrowd.formats import files
from quietcrowd.formats.columns import Choice, in_time_order, resolve, warn_left_out
from quietcrowd.formats.decimals import with_decimal_points
from quietcrowd.formats.foreign import check_not_foreign
from quietcrowd.formats.headers import Name, are_numbers
from quietcrowd.frames import ALIASES, as_frame, mark_of
from quietcrowd.header_rows import without_header_rows
from quietcrowd.times import TIME_NAMES
from quietcrowd.validation import did_you_mean, one_line
from quietcrowd.wide_columns import QUALTRICS


@frozen
class Format:
    """A file format: its name on the command line, its module, and how to recognize it.

    A file has the first format with its suffix, unless its header fits the `marks` of another
    format, for which that format is `within`. Marks are regular expressions. Each must match the
    name of a column, and no mark in `unless` may. For the header of JSON see `jsonl.first_keys`.
    A `folder` of files can be read as one file.
    """

    name: str
    module: str
    suffixes: tuple[str, ...]
    within: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    written: bool = True
    folder: bool = False

    @property
    def platform(self) -> bool:
        """Whether files contain answers in fixed columns, instead of a table of any columns."""
        return self.module.startswith("platforms.")

    @property
    def typed(self) -> bool:
        """Whether files of tables have lists, and distinguish texts from numbers."""
        return self.module in ("parquet", "jsonl")

    @property
    def title(self) -> str:
        """The name in messages."""
        return self.load().NAME  # type: ignore[no-any-return]

    def load(self) -> ModuleType:
        """Import the module, which has ``NAME``, ``read`` and perhaps ``write``."""
        return import_module(f"quietcrowd.formats.{self.module}")

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

_TABLE = (rf"({'|'.join(('worker', *ALIASES['worker']))})(:\w+)?",)
"""A column of tables, which these platforms do not write."""

_ANNOTATION = ("annotator", "annotation_id")
_ARGILLA = r"(responses:(dict|list)|.*\.responses:\w+|.*-suggestion-metadata:\w+)"
_DOCCANO = (
    "(text|filename|data):str",
    "(annotations|labels?|category|categories|cats|entities|relations|bbox|segmentation):list",
)
_LISTS = "(annotator|worker|rater|coder|user)(s|_?ids):list"
"""A column with the workers of a row, which only data sets of Hugging Face have."""

_PRODIGY = ("_input_hash:int", "_task_hash:int", "answer:str")
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

FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("csv", "csv", (*_CSV, *_TSV, *_TEXT)),
        Format("parquet", "parquet", (".parquet",)),
        Format("jsonl", "jsonl", _JSONL),
        Format("excel", "excel", (".xlsx",)),
        Format("ods", "ods", (".ods",), written=False),
        Format("crowd-kit", "csv", _CSV),
        Format("mturk", "platforms.mturk", _CSV, ("csv",), ("HITId", "WorkerId")),
        Format("toloka", "platforms.toloka", _TSV, ("csv",), ("(OUTPUT|GOLDEN|ASSIGNMENT):.*",)),
        Format("label-studio", "platforms.label_studio", _JSON),
        Format(
            "label-studio-min",
            "platforms.label_studio_min",
            _JSON,
            within=("label-studio",),
            marks=tuple(f"{name}:.*" for name in _ANNOTATION),
            unless=("annotations:.*", _ARGILLA),
        ),
        Format("label-studio-csv", "platforms.label_studio_csv", _CSV, ("csv",), _ANNOTATION),
        Format(
            "prodigy",
            "platforms.prodigy",
            (*_JSONL, *_JSON),
            within=("label-studio", "jsonl"),
            marks=_PRODIGY,
            written=False,
        ),
        Format(
            "doccano",
            "platforms.doccano",
            (*_JSONL, *_JSON, ".zip"),
            within=("label-studio", "jsonl"),
            marks=_DOCCANO,
            unless=(_ARGILLA, "(task|taskId|annotator|_task_hash):.*", _LISTS),
            written=False,
        ),
        Format(
            "argilla",
            "platforms.argilla",
            (*_JSON, *_JSONL),
            within=("label-studio", "jsonl"),
            marks=(_ARGILLA,),
            written=False,
        ),
        Format(
            "limesurvey",
            "platforms.limesurvey",
            (*_CSV, *_TSV),
            within=("csv",),
            marks=_LIMESURVEY,
            written=False,
        ),
        Format(
            "qualtrics",
            "platforms.qualtrics",
            (*_CSV, *_TSV),
            within=("csv",),
            marks=QUALTRICS.marks,
            unless=("task", "label"),
            written=False,
        ),
        Format(
            "mturk-api",
            "platforms.mturk_api",
            (*_JSON, *_JSONL),
            within=("label-studio", "jsonl"),
            marks=_ASSIGNMENTS,
            unless=_TABLE,
            written=False,
        ),
        Format(
            "sagemaker",
            "platforms.sagemaker",
            (".manifest", *_JSON, *_JSONL, ".zip"),
            within=("label-studio", "jsonl", "doccano"),
            marks=_GROUND_TRUTH,
            unless=("annotations:.*", *_TABLE),
            written=False,
            folder=True,
        ),
        Format(
            "appen",
            "platforms.appen",
            (*_CSV, *_JSON, *_JSONL),
            within=("csv", "label-studio", "jsonl"),
            marks=_APPEN,
            unless=_TABLE,
            written=False,
        ),
        Format(
            "zooniverse",
            "platforms.zooniverse",
            _CSV,
            within=("csv",),
            marks=("classification_id", "workflow_id", "annotations", "subject_ids"),
            unless=_TABLE,
            written=False,
        ),
        Format(
            "labelbox",
            "platforms.labelbox",
            (*_JSONL, *_JSON),
            within=("label-studio", "jsonl"),
            marks=("data_row:dict", "projects:dict"),
            unless=_TABLE,
            written=False,
        ),
        Format(
            "kili",
            "platforms.kili",
            (*_JSON, *_JSONL),
            within=("label-studio", "jsonl"),
            marks=("externalId:.*", "labels:list|latestLabel:.*"),
            unless=_TABLE,
            written=False,
        ),
        Format(
            "json",
            "jsonl",
            _JSON,
            within=("label-studio",),
            marks=(".*:(str|int|float|bool)",),
            unless=("(annotations|completions|predictions|data):.*",),
            written=False,
        ),
        Format(
            "hugging-face",
            "platforms.hugging_face",
            (*_JSONL, *_JSON, *_CSV, ".parquet"),
            written=False,
        ),
    )
}
"""Formats by name; a new file has the first format with its suffix."""


_USUAL = frozenset(("task", "worker", "label"))


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format with this name, or the first format with the file's suffix."""
    if name is not None and name not in FORMATS:
        raise ParameterError(
            "formats.format-unknown",
            formats=", ".join(FORMATS),
            name=name,
            suggestion=did_you_mean(name, FORMATS),
        )
    found = _by_suffix(path) if name is None else FORMATS[name]
    if found is None:
        check_not_foreign(path)
        known = dict.fromkeys(suffix for one in FORMATS.values() for suffix in one.suffixes)
        raise FormatError("formats.suffix-unknown", path=path, known=", ".join(known))
    return found


def _by_suffix(path: Path) -> Format | None:
    return next((one for one in FORMATS.values() if one.fits(path)), None)


def format_of(path: Path, name: str | None = None, columns: Sequence[Name] = ()) -> Format:
    """Return the format of an existing file, which may depend on its header.

    A file of a platform is a table if it has all `columns`, unless these are the default ones.
    """
    kind = find_format(path, name)
    inside = [one for one in FORMATS.values() if kind.name in one.within]
    if name is not None or not inside:
        return kind
    header = _read(path, kind, _header_reader(path, kind))
    found = next((one for one in inside if one.is_marked(header)), kind)
    if not found.platform or set(columns) <= _USUAL:
        return found
    table = FORMATS["json"] if kind.platform else kind
    return table if set(columns) <= set(_read(path, table, table.load().names)) else found


def _header_reader(path: Path, kind: Format) -> Callable[[Path], list[str]]:
    if kind.name == "csv":
        return FORMATS["csv"].load().names  # type: ignore[no-any-return]
    if path.suffix.lower() == ".zip":
        return import_module("quietcrowd.formats.archives").first_keys  # type: ignore[no-any-return]
    return FORMATS["jsonl"].load().first_keys  # type: ignore[no-any-return]


def read_table(
    path: Path,
    columns: tuple[Name, ...],
    *,
    file_format: str | None = None,
    choice: Choice = Choice(),  # noqa: B008
    sets: bool = False,
    decimal: str | None = ".",
    timed: bool = False,
) -> pa.Table:
    """Return the named columns of a file; columns by number are named by their number.

    A platform's file has the columns ``task``, ``worker`` and ``label``, and `choice` selects its
    answers. `sets` allows lists of labels in the last column. For `decimal`, the decimal mark of
    labels, see `with_decimal_points`. If `timed`, a table also has its columns of `TIME_NAMES`.

    Raises FormatError if the suffix is unknown, the file is malformed, or a cell has several
    values; ParameterError if the format is unknown, or the columns or the choice do not suit it;
    and OSError if the file cannot be opened.
    """
    kind = format_of(path, file_format, columns)
    if kind.platform:
        if not set(columns) <= _USUAL:
            raise ParameterError("formats.columns-are-known", path=path, title=kind.title)
        choice = evolve(choice, sets=sets)
        table: pa.Table = in_time_order(_read(path, kind, kind.load().read, columns, choice))
    elif choice != Choice():
        raise ParameterError("formats.options-of-platforms", path=path)
    else:
        if are_numbers(columns) and kind.typed:
            raise ParameterError("formats.numbers-of-columns", path=path, title=kind.title)
        _warn_of_platform(path, file_format, kind)
        known = _read(path, kind, kind.load().names) if timed and not are_numbers(columns) else ()
        times = [name for name in TIME_NAMES if name in known and name not in columns]
        table, skipped = without_header_rows(
            _read(path, kind, kind.load().read, (*columns, *times))
        )
        warn_left_out(path, {"further rows of a Qualtrics header": skipped})
    names = [str(name) for name in columns]
    label = "label" if "label" in names else names[-1]
    for name in names:
        if not (sets and name == label):
            _check_cells(path, table.schema, name, is_label=name == label)
    if sets or decimal == "." or label not in table.column_names:
        return table
    place = table.schema.get_field_index(label)
    labels = with_decimal_points(path, table[label], label, decimal)
    return table.set_column(place, label, labels)


def _warn_of_platform(path: Path, file_format: str | None, table: Format) -> None:
    other = format_of(path, file_format)
    if other != table:
        warnings.warn(
            QuietcrowdWarning("formats.platform-as-table", path=path, title=other.title),
            stacklevel=3,
        )


def read_columns(path: Path, *, file_format: str | None = None) -> pa.Table:
    """Return all columns of a table, also of a platform that writes a row per worker.

    Raises ParameterError for files of other platforms; other exceptions are those of `read_table`.
    """
    kind = format_of(path, file_format)
    if kind.name == "qualtrics":
        kind = FORMATS["csv"]
    if kind.platform:
        raise ParameterError("formats.platform-not-wide", path=path, title=kind.title)
    names: list[str] = _read(path, kind, kind.load().names)
    table: pa.Table = _read(path, kind, kind.load().read, tuple(names))
    return table


def _check_cells(path: Path, schema: pa.Schema, name: str, *, is_label: bool) -> None:
    place = schema.get_field_index(name)
    kind = schema.types[place] if place >= 0 else pa.null()
    if is_label and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise FormatError("formats.lists-in-cells", path=path, name=name, type=kind)
    if pa.types.is_nested(kind):
        raise FormatError("formats.cells-structured", path=path, name=name, type=kind)


def read_names(
    path: Path, file_format: str | None = None, columns: Sequence[Name] = ()
) -> list[str] | None:
    """Return the names of a table's columns, or None for a platform's file; see `format_of`."""
    kind = format_of(path, file_format, columns)
    if kind.platform:
        return None
    found: list[str] = _read(path, kind, kind.load().names)
    return found


def holds_truths(
    path: Path, columns: tuple[Name, Name, Name], file_format: str | None = None
) -> bool:
    """Return whether a file has truths and no workers; `columns` are task, worker and label."""
    kind = format_of(path, file_format, columns)
    if kind.platform:
        reader = getattr(kind.load(), "holds_truths", None)
        return reader is not None and _read(path, kind, reader)
    if are_numbers(columns):
        return False
    names = _read(path, kind, kind.load().names)
    task, worker, label = map(str, columns)
    without = resolve(path, names, (task, label))
    return worker not in resolve(path, names, (task, worker, label)) and len(without) == 2


def read_note(path: Path, file_format: str | None = None) -> dict[str, Any] | None:
    """Return the note of a table, or None; errors as in `read_table`."""
    kind = find_format(path, file_format)
    own = kind.written and not kind.platform
    reader = kind.load().read_note if own else files.read_note
    note: dict[str, Any] | None = _read(path, kind, reader if kind.written else lambda _: None)
    return note


_ZIPPED = (".zip", ".xlsx", ".ods")


def place_of_row(
    path: Path, row: int, columns: tuple[Name, ...], file_format: str | None = None
) -> str | None:
    """Return where a row of `read_table` is in its file, or None if the file has no rows."""
    kind = format_of(path, file_format, columns)
    if kind.platform or kind.name == "parquet":
        return None
    with warnings.catch_warnings():  # which read_table gave
        warnings.simplefilter("ignore")
        _, skipped = without_header_rows(_read(path, kind, kind.load().read, columns))
    options = {} if kind.module == "jsonl" else {"header": not are_numbers(columns)}
    reader = partial(kind.load().place_of_row, **options)
    place: str = _read(path, kind, reader, row + skipped)
    return place


def _read(path: Path, kind: Format, reader: Callable[..., Any], *parameters: Any) -> Any:
    if not path.is_dir():
        path.open("rb").close()  # later errors are about the content
    try:
        return reader(path, *parameters)
    except (FormatError, ParameterError):
        raise
    except (
        pa.ArrowException,
        OSError,
        EOFError,
        OverflowError,
        ValueError,
        RecursionError,
        zlib.error,
    ) as error:
        if isinstance(error, UnicodeDecodeError) and path.suffix.lower() not in _ZIPPED:
            files.check_utf8(path)
        raise FormatError(
            "formats.not-readable", path=path, name=kind.title, reason=one_line(error)
        ) from None


def check_target(path: Path, file_format: str | None = None) -> None:
    """Raise unless a table can be written to `path`, before long work begins.

    Raises FormatError if the suffix is unknown, or belongs to a platform and `file_format` is not
    given; ParameterError if the format is unknown, has other suffixes, or cannot be written;
    OSError if the directory cannot be written; and MissingExtraError if the format's library is not
    installed.
    """
    if path.is_dir():
        files.check_folder(path)  # which says so
    if file_format is None:
        _check_is_table(path)
    kind = find_format(path, file_format)
    if not kind.written:
        raise ParameterError(
            "formats.format-not-written", path=path, title=kind.title, write_a_table=_WRITE_A_TABLE
        )
    if not kind.fits(path):
        raise ParameterError(
            "formats.suffix-of-format",
            path=path,
            title=kind.title,
            suffixes=" or ".join(kind.suffixes),
        )
    if kind.name == "excel":
        kind.load().import_openpyxl()
    files.check_folder(path)


_WRITE_A_TABLE = "write a table with a name that ends in .csv, .tsv, .parquet, .jsonl or .xlsx"


def _check_is_table(path: Path) -> None:
    kind = _by_suffix(path)
    if kind is None or kind.platform:
        made = f"; quietcrowd convert makes {kind.title} from it" if kind and kind.written else ""
        raise FormatError(
            "formats.format-needs-a-table", path=path, write_a_table=_WRITE_A_TABLE, made=made
        )


def write_table(
    frame: Any,
    path: str | Path,
    note: Mapping[str, Any] | None = None,
    *,
    file_format: str | None = None,
) -> None:
    """Write a dataframe to a file atomically; replace an existing file.

    Parameters
    ----------
    frame : pandas, Polars or PyArrow dataframe
        The table.
    path : str or Path
        Its suffix determines the format: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.jsonl`` or
        ``.xlsx``. Text files may also end in ``.gz``.
    note : mapping, optional
        JSON-ready metadata of the table. Default: the mark of a frame of reports with a column
        ``worker``.
    file_format : str, optional
        One of ``csv``, ``parquet``, ``jsonl``, ``excel``, ``crowd-kit``, ``mturk``, ``toloka``,
        ``label-studio``, ``label-studio-min``, ``label-studio-csv``.

    Raises
    ------
    FormatError, ParameterError, FileNotFoundError
        See `check_target`.
    """
    check_target(Path(path), file_format)
    table = as_frame(frame).to_arrow()
    if note is None and "worker" in table.column_names:  # aggregates per task have no workers
        note = mark_of(frame)
    find_format(Path(path), file_format).load().write(table, Path(path), note)
