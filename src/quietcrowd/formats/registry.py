"""Reading and writing of tables in the format of their file."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve

from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdWarning
from quietcrowd.formats import files
from quietcrowd.formats.columns import Choice, in_time_order, resolve, warn_left_out
from quietcrowd.formats.decimals import with_decimal_points
from quietcrowd.formats.headers import Name, are_numbers
from quietcrowd.formats.kinds import FORMATS, Format, by_suffix, find_format, formats_within
from quietcrowd.frames import as_frame, mark_of
from quietcrowd.header_rows import without_header_rows
from quietcrowd.times import TIME_NAMES

_USUAL = frozenset(("task", "worker", "label"))


def format_of(path: Path, name: str | None = None, columns: Sequence[Name] = ()) -> Format:
    """Return the format of an existing file, which may depend on its header.

    A file of a platform is a table if it has all `columns`, unless these are the default ones.
    """
    kind = find_format(path, name)
    inside = [] if name is not None else formats_within(kind)
    if not inside:
        return kind
    header = kind.call("names" if kind.name == "csv" else _first_keys, path)
    found = next((one for one in inside if one.is_marked(header)), kind)
    if not found.platform or set(columns) <= _USUAL:
        return found
    table = FORMATS["json"] if kind.platform else kind
    return table if set(columns) <= set(table.call("names", path)) else found


def _first_keys(path: Path) -> list[str]:
    from quietcrowd.formats import archives  # not for CSV

    return archives.first_keys(path)


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
        table = _read_platform(path, kind, columns, evolve(choice, sets=sets))
    elif choice != Choice():
        raise ParameterError("formats.options-of-platforms", path=path)
    else:
        if are_numbers(columns) and kind.typed:
            raise ParameterError("formats.numbers-of-columns", path=path, title=kind.title)
        _warn_of_platform(path, file_format, kind)
        known = kind.call("names", path) if timed and not are_numbers(columns) else ()
        times = [name for name in TIME_NAMES if name in known and name not in columns]
        table, skipped = without_header_rows(kind.call("read", path, (*columns, *times)))
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


def _read_platform(path: Path, kind: Format, columns: tuple[Name, ...], choice: Choice) -> pa.Table:
    if "worker" in columns:
        return in_time_order(kind.call("read", path, choice))
    if not hasattr(kind.load(), "read_truths"):
        raise FormatError("formats.no-known-truths", path=path, name=kind.title)
    truths = kind.call("read_truths", path, choice)
    if pa.types.is_list(truths.schema.field("label").type) and not choice.sets:
        raise FormatError("formats.truths-are-sets", path=path)
    return truths


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
    return kind.call("read", path, tuple(kind.call("names", path)))


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
    return None if kind.platform else kind.call("names", path)


def holds_truths(
    path: Path, columns: tuple[Name, Name, Name], file_format: str | None = None
) -> bool:
    """Return whether a file has truths and no workers; `columns` are task, worker and label."""
    kind = format_of(path, file_format, columns)
    if kind.platform:
        return hasattr(kind.load(), "holds_truths") and kind.call("holds_truths", path)
    if are_numbers(columns):
        return False
    names = kind.call("names", path)
    task, worker, label = map(str, columns)
    without = resolve(path, names, (task, label))
    return worker not in resolve(path, names, (task, worker, label)) and len(without) == 2


def read_note(path: Path, file_format: str | None = None) -> dict[str, Any] | None:
    """Return the note of a table, or None; errors as in `read_table`."""
    kind = find_format(path, file_format)
    reader = getattr(kind.load(), "read_note", files.read_note)
    return kind.call(reader if kind.written else lambda _: None, path)  # type: ignore[no-any-return]


def place_of_row(
    path: Path, row: int, columns: tuple[Name, ...], file_format: str | None = None
) -> str | None:
    """Return where a row of `read_table` is in its file, or None if the file has no rows."""
    kind = format_of(path, file_format, columns)
    if kind.platform or kind.name == "parquet":
        return None
    with warnings.catch_warnings():  # which read_table gave
        warnings.simplefilter("ignore")
        _, skipped = without_header_rows(kind.call("read", path, columns))
    header = kind.module != "jsonl" and not are_numbers(columns)
    return kind.call("place_of_row", path, row + skipped + header)  # type: ignore[no-any-return]


def check_target(path: Path, file_format: str | None = None) -> None:
    """Raise unless a table can be written to `path`, before long work begins.

    Raises FormatError if the suffix is unknown, or belongs to a platform and `file_format` is not
    given; ParameterError if the format is unknown, has other suffixes, or cannot be written;
    OSError if the directory cannot be written; and MissingExtraError if the format's library is not
    installed.
    """
    if path.is_dir():
        files.check_folder(path)  # raises the error
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
    kind = by_suffix(path)
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
