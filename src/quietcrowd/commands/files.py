"""What the commands read and write: files, folders of data, and their columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.answer_errors import AdviceName
from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.commands import options
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import read_answers, read_table, read_truths
from quietcrowd.formats.files import check_folder
from quietcrowd.formats.tables import read_names
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "check_label_config",
    "is_store",
    "read_gold",
    "read_ids",
    "read_plain",
    "refuse_own_lists",
    "tell_dropped",
]


def read_plain(
    path: Path,
    domain: tuple[str | None, str | None, str | None],
    columns: str,
    duplicates: str,
    field: str | None = None,
    *,
    advice: AdviceName,
    **lists: Any,
) -> Answers:
    """Read plain answers; `domain` is what ``--labels``, ``--levels``, ``--between`` say.

    `advice` is that of the command, for a file; that of a folder is its own, but about claims.
    """
    if path.is_dir():
        if any(domain) or field is not None:
            raise ParameterError(
                "--labels, --levels, --between and --field go with a file: a folder has its own"
            )
        from quietcrowd.datasets import load_dataset  # with pandas

        ways = advice if advice == "claims" else "folder"
        answers = load_dataset(path, duplicates=duplicates, advice=ways, **lists).answers
    else:
        answers = read_answers(
            path,
            options.build_domain(*domain),
            *options.three_columns(columns),
            duplicates=duplicates,
            field=field,
            advice=advice,
            **lists,
        )
    tell_dropped(answers.dropped)
    return answers


def is_store(path: Path) -> bool:
    """Return whether a path is a store; what knows stores is loaded for a folder alone."""
    if not path.is_dir():
        return False
    from quietcrowd.scale import is_store as in_folder

    return in_folder(path)


def tell_dropped(dropped: DroppedRows) -> None:
    """Say what was left out of plain answers, if anything was."""
    if dropped.duplicates or dropped.out_of_domain:
        note(
            f"left out: {counted(dropped.duplicates, 'repeated answer')}, "
            f"{dropped.out_of_domain:,} that are missing or not possible"
        )


def read_gold(path: Path, field: str | None, *, beside_answers: bool) -> pa.Table:
    """Read known truths; `field` is what ``--field`` says, and goes with platforms' files.

    Beside plain answers it may be meant for these: then a table of truths has none.
    """
    if beside_answers and read_names(path) is not None:
        field = None
    return read_truths(path, field=field)


def read_ids(path: Path | None, column: str) -> list[Any] | None:
    """Return the ids in a column of a file, if one is given."""
    if path is None:
        return None
    table = read_table(path, (column,))
    if column not in table.column_names:
        raise FormatError(f"{path}: column {column!r} is missing")
    return table[column].to_pylist()  # type: ignore[no-any-return]


def refuse_own_lists(name: str, mechanism: Mechanism) -> None:
    """Raise where a mechanism hides who answered, and the lists would be those who did."""
    if mechanism.participation_protected:
        raise ParameterError(
            f"{name} hides which tasks were answered: name all tasks and all workers "
            "with --all-tasks FILE and --all-workers FILE. Those that occur in the answers "
            "would give it away."
        )


def check_label_config(path: Path | None, file_format: str | None) -> None:
    """Raise unless a config can be written to `path`, beside tasks of Label Studio."""
    if path is None:
        return
    if file_format != "label-studio":
        raise ParameterError(
            "--label-config goes with a file of Label Studio's tasks, whose name ends in .json"
        )
    check_folder(path)
