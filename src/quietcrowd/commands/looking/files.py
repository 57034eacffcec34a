"""Contents of files, directories and stores, and the next command."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from attrs import evolve

from quietcrowd.commands.files import is_store
from quietcrowd.commands.looking.contents import Contents
from quietcrowd.commands.looking.findings import (
    USUAL,
    Findings,
    Given,
    Source,
    Steps,
    free_name,
    quiet,
    write_command,
)
from quietcrowd.commands.looking.platforms import of_platform
from quietcrowd.commands.looking.steps import infer_steps
from quietcrowd.commands.looking.tables import of_lists, of_table
from quietcrowd.exceptions import AnswerError, FormatError, MissingExtraError, ParameterError
from quietcrowd.formats import read_reports
from quietcrowd.formats.files import HEAD, suffix_of
from quietcrowd.formats.registry import format_of, read_note
from quietcrowd.validation import one_line

_EXPECTED = (AnswerError, FormatError, ParameterError, MissingExtraError)

_DAMAGED = {
    f"formats.{kind}" for kind in ("not-readable", "suffix-unknown", "not-utf8", "utf16-unmarked")
}
"""Codes of errors about files that another program has to save again."""


_SAVE = (
    "Save the table as CSV in UTF-8: in Excel with File > Save As > CSV UTF-8, in LibreOffice with "
    "File > Save As > Text CSV, in pandas with frame.to_csv('answers.csv', index=False)."
)


def inspect(source: Source, given: Given) -> Findings:
    """Inspect a file, a directory or a store.

    The options ``question`` and ``columns`` may be `given`, as on the command line.
    """
    unknown = Findings(title="unknown")
    with quiet():
        try:
            is_dataset = (source.path / "dataset.json").is_file()
            if is_dataset or is_store(source.path):
                return _of_folder(source, is_dataset=is_dataset)
            return _of_file(source, given)
        except _EXPECTED as error:
            return evolve(unknown.failed(error), advice=_SAVE if error.code in _DAMAGED else "")
        except pa.ArrowException as error:
            path, reason = source.path, one_line(error)
            return unknown.failed(
                FormatError("formats.not-readable", path=path, name="answers", reason=reason)
            )


def _of_folder(source: Source, *, is_dataset: bool) -> Findings:
    if is_dataset:
        none = Contents.of(pa.table({name: pa.array([], pa.string()) for name in USUAL}))
        return Findings(title="a dataset directory", steps=infer_steps(source, none, {}))
    truths = free_name("truths", ".parquet")
    command = write_command("quietcrowd", "infer", source.word(), "-o", truths)
    return Findings(title="a store", steps=Steps(commands=(command,)))


def _of_file(source: Source, given: Given) -> Findings:
    try:
        kind = format_of(source.path)
    except FormatError as error:
        return _renamed(source, given, error)
    if "mechanism" in (read_note(source.path) or {}):
        return _of_reports(source)
    if not kind.platform:
        return of_table(source, kind, given)
    found = of_platform(source, kind, given)
    left = found.steps.error
    nameless = kind.name == "doccano" and left is not None and left.code == "formats.id-invalid"
    unread = found.contents is None and kind.name == "label-studio"  # any JSON
    return (of_lists(source) if unread or nameless else None) or found


def _of_reports(source: Source) -> Findings:
    with quiet() as changes:
        reports = read_reports(source.path)
    command = write_command("quietcrowd", "infer", source.word())
    makers = sorted({type(one).__name__ for one in reports.mechanisms})
    return Findings(
        title=f"randomized reports of {' and '.join(makers)}",
        contents=evolve(Contents.of(reports.table.to_frame("pyarrow")), labels={}),
        steps=Steps(commands=(command,), changes=tuple(changes)),
    )


def _renamed(source: Source, given: Given, error: FormatError) -> Findings:
    """Try the suffix that the first bytes show, if the suffix is unknown."""
    with source.path.open("rb") as file:
        suffix = suffix_of(file.read(HEAD))
    name = Path(source.path.stem).with_suffix(suffix).name
    if error.code != "formats.suffix-unknown" or Path(name).exists():
        raise error
    with TemporaryDirectory(prefix="quietcrowd-") as folder:
        copy = Source(path=Path(folder, name), name=name)
        shutil.copyfile(source.path, copy.path)
        try:
            found = _of_file(copy, given)
        except _EXPECTED as second:
            found = Findings(title="unknown", advice=_SAVE).failed(second)
    steps = found.steps
    if found.steps.commands or found.title == "unknown":
        copied = (write_command("cp", source.word(), copy.word()),) if steps.commands else ()
        commands, faults = (*copied, *steps.commands), (str(error), *steps.faults)
        found = evolve(found, steps=evolve(steps, commands=commands, faults=faults))
    return found.named(copy, name)
