"""Standard input and output for the file name ``-``.

Standard input goes to a temporary file, whose suffix follows from its first bytes. The program
deletes it when it ends.
"""

import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from quietcrowd.exceptions import FormatError, ParameterError

STREAM = Path("-")

_NAME, _WRITTEN = "standard-input", "standard-output"
_HEAD = 2**16
_KEPT: list[TemporaryDirectory[str]] = []


def from_stdin(path: Path) -> Path:
    """Copy standard input to a temporary file if `path` is ``-``; otherwise return `path`."""
    if path != STREAM:
        return path
    if sys.stdin.isatty():
        raise ParameterError("commands.nothing-piped")
    _KEPT.append(TemporaryDirectory(prefix="quietcrowd-"))
    raw = Path(_KEPT[-1].name, _NAME)
    with raw.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with raw.open("rb") as file:
        suffix = _suffix_of(file.read(_HEAD))
    return raw.rename(raw.with_suffix(suffix))


def _suffix_of(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK"):
        return ".xlsx" if b"[Content_Types].xml" in head or b"xl/" in head else ".zip"
    if head.startswith(b"\x1f\x8b"):
        return f"{_suffix_of(_unpacked(head))}.gz"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return ".jsonl" if text.startswith(b"{") else ".json"
    line = text.partition(b"\n")[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, _HEAD)
    except zlib.error as error:
        raise FormatError("commands.input-not-unpacked", error=error) from None


def check_one_stream(*targets: Path | None, as_json: bool) -> None:
    """Raise ParameterError if more than one output, ``--json`` included, is standard output."""
    if as_json and STREAM in targets:
        raise ParameterError("commands.standard-output-shared")
    if sum(target == STREAM for target in targets) > 1:
        raise ParameterError("commands.standard-output-twice")


@contextmanager
def to_stdout(path: Path, suffix: str) -> Iterator[Path]:
    """Provide `path` within a context, or for ``-`` a file that is copied to standard output."""
    if path != STREAM:
        yield path
        return
    with TemporaryDirectory(prefix="quietcrowd-") as folder:
        written = Path(folder, f"{_WRITTEN}{suffix}")
        yield written
        with written.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def place_of(path: Path) -> str:
    """Return the name of an output in messages."""
    return "standard output" if path == STREAM or path.name.startswith(_WRITTEN) else str(path)


def shown(text: str) -> str:
    """Replace the names of temporary files by "standard input" in a message."""
    for folder in _KEPT:
        for file in Path(folder.name).glob("*"):
            text = text.replace(str(file), "standard input")
    return text
