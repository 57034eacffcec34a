"""Which columns of a file, and which of its answers, are meant."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError, LeftOutWarning, ParameterError
from quietcrowd.frames import ALIASES, TRUTH_ALIASES
from quietcrowd.validation import did_you_mean

__all__ = [
    "Choice",
    "check_once",
    "check_plain_columns",
    "choose_field",
    "resolve",
    "warn_left_out",
]


def resolve(path: Path, names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return for each wanted column the one of the file that is meant.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    names : sequence of str
        Columns of the file.
    wanted : sequence of str
        Names that are asked for. ``task``, ``worker`` and ``label`` may stand under another
        name, if there is one of those alone; without a worker a label may be called ``truth``.

    Returns
    -------
    dict of str to str
        Without those that are not there.

    Raises
    ------
    FormatError
        Where a wanted column is there more than once, or two others could be meant.
    """
    found = {}
    for name in wanted:
        others = ALIASES.get(name, ())
        if name == "label" and "worker" not in wanted:
            others = TRUTH_ALIASES
        meant = [name] if name in names else [other for other in others if other in names]
        if len(meant) > 1:
            raise FormatError(
                f"{path}: {' and '.join(map(repr, meant))} could both be the {name}: name the "
                "columns (on the command line: --columns)"
            )
        if meant:
            found[name] = meant[0]
    check_once(path, names, list(found.values()))
    return found


def check_once(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise FormatError where a wanted column is there more than once."""
    for name in wanted:
        if names.count(name) > 1:
            raise FormatError(
                f"{path}: {names.count(name)} columns are called {name!r}: leave one of them"
            )


@frozen(kw_only=True)
class Choice:
    """Which answers of a platform's file are meant.

    Attributes
    ----------
    field : str or None
        The name of the question, where there are several.
    rejected : bool
        Whether answers that the requester rejected are taken too.
    """

    field: str | None = None
    rejected: bool = False


def choose_field(path: Path, fields: Sequence[str], wanted: str | None, prefix: str = "") -> str:
    """Return the field that is meant: the wanted one, or the only one.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    fields : sequence of str
        What the file has, each once.
    wanted : str or None
        With or without the prefix.
    prefix : str
        What stands before a field in the header.

    Raises
    ------
    FormatError
        Where there is none, or several and none is named, or another one is named.
    """
    known = ", ".join(map(repr, fields))
    if not fields:
        raise FormatError(
            f"{path}: there is no answer in it" + f": no column {prefix}…" * (prefix != "")
        )
    if wanted is None:
        if len(fields) > 1:
            raise FormatError(
                f"{path}: there are answers to several questions, {known}: choose one with field= "
                "(on the command line: --field)"
            )
        return fields[0]
    field = wanted if wanted in fields else wanted.removeprefix(prefix)
    if field not in fields:
        raise FormatError(
            f"{path}: there is no field {wanted!r}; there are {known}{did_you_mean(wanted, fields)}"
        )
    return field


def warn_left_out(path: Path, counts: Mapping[str, int]) -> None:
    """Warn of what is left out of a file, by how many there are of each kind."""
    told = [f"{what}: {count:,}" for what, count in counts.items() if count]
    if told:
        warnings.warn(LeftOutWarning(f"{path}: left out: {'; '.join(told)}"), stacklevel=2)


def check_plain_columns(path: Path, table: pa.Table, name: str) -> None:
    """Raise ParameterError unless a table has columns task, worker and label alone."""
    if set(table.column_names) != {"task", "worker", "label"}:
        raise ParameterError(
            f"{path}: {name} holds task, worker and label, not {', '.join(table.column_names)}: "
            "write to .csv, .parquet or .jsonl"
        )
