"""Standard input and output, where a command takes the name of a file: ``-``.

What comes in is kept in a temporary file, whose suffix says what its beginning says that it is; it
is deleted when the program ends.
"""

from __future__ import annotations

import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from quietcrowd.exceptions import FormatError, ParameterError

__all__ = ["STREAM", "check_one_stream", "from_stdin", "place_of", "shown", "to_stdout"]

STREAM = Path("-")

_NAME, _WRITTEN = "standard-input", "standard-output"
_HEAD = 2**16
_KEPT: list[TemporaryDirectory[str]] = []


def from_stdin(path: Path) -> Path:
    """Return a file with what standard input holds where `path` is ``-``, else `path`.

    Raises
    ------
    ParameterError
        Where nothing is piped in.
    """
    if path != STREAM:
        return path
    if sys.stdin.isatty():
        raise ParameterError("- is standard input, and nothing is piped into it: name a file")
    _KEPT.append(TemporaryDirectory(prefix="quietcrowd-"))
    raw = Path(_KEPT[-1].name, _NAME)
    with raw.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with raw.open("rb") as file:
        suffix = _suffix_of(file.read(_HEAD))
    return raw.rename(raw.with_suffix(suffix))


def _suffix_of(head: bytes) -> str:
    """Return the suffix of a file that begins so."""
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
    """Return the beginning of what is packed; the end is missing."""
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, _HEAD)
    except zlib.error as error:
        raise FormatError(f"standard input: this cannot be unpacked: {error}") from None


def check_one_stream(*targets: Path | None, as_json: bool) -> None:
    """Raise ParameterError where more than one output is standard output, as that of --json is."""
    if as_json and STREAM in targets:
        raise ParameterError(
            "--json prints on standard output, which - names too: leave one out, or name a file"
        )
    if sum(target == STREAM for target in targets) > 1:
        raise ParameterError("only one output can be -, standard output: name files for the others")


@contextmanager
def to_stdout(path: Path, suffix: str) -> Iterator[Path]:
    """Give where to write: `path`, or for ``-`` a file that is copied to standard output."""
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
    """Return what messages call where something was written."""
    return "standard output" if path == STREAM or path.name.startswith(_WRITTEN) else str(path)


def shown(text: str) -> str:
    """Return a message in which what came in is called standard input."""
    for folder in _KEPT:
        for file in Path(folder.name).glob("*"):
            text = text.replace(str(file), "standard input")
    return text
