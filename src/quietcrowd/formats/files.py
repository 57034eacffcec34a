"""Atomic writing of files, gzip compression, and sidecar files."""

import errno
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import NamedTemporaryFile, mkdtemp
from typing import IO, Any

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.foreign import check_is_text
from quietcrowd.validation import parse_json


def check_folder(path: Path) -> None:
    """Raise OSError if no file can be written to `path`, before long work begins."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; name a file", str(path))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the directory of this file is not writable", str(path))


def check_new(path: Path, kind: str = "file") -> None:
    """Raise ParameterError if `path` exists."""
    if path.exists():
        raise ParameterError("formats.file-exists", path=path, kind=kind)


def require_no_overwriting(source: Path | None, *targets: Path | None) -> None:
    """Raise ParameterError if a target is the source, inside it, or another target."""
    origin = None if source is None else _resolved(source)
    places: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        place = _resolved(target)
        if place == origin:
            raise ParameterError("formats.output-is-input", target=target)
        if origin in place.parents:
            raise ParameterError("formats.output-inside-input", target=target)
        if place in places:
            raise ParameterError("formats.output-twice", target=target)
        places.add(place)


def _resolved(path: Path) -> Path:
    """Resolve a path, except if links form a cycle, for which Python 3.11 raises RuntimeError."""
    try:
        return path.resolve()
    except RuntimeError:
        return path.absolute()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same directory, which replaces `path` if nothing is raised."""
    with _naming_file(path):
        with NamedTemporaryFile(dir=path.parent, prefix=_prefix(path), delete=False) as file:
            temporary = Path(file.name)
        try:
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary directory next to `path`, renamed to `path` if nothing is raised."""
    check_new(path, "folder")
    check_folder(path)
    with _naming_file(path):
        temporary = Path(mkdtemp(dir=path.parent, prefix=_prefix(path)))
        try:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            os.rename(temporary, path)
        finally:
            rmtree(temporary, ignore_errors=True)


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Raise an OSError about a temporary file, or without a file name, with the name `path`."""
    try:
        yield
    except (ConnectionError, TimeoutError):  # raised by a cluster
        raise
    except OSError as error:
        hidden = str(path.parent.absolute() / _prefix(path))
        filename = "" if error.filename is None else str(Path(error.filename).absolute())
        if filename and not filename.startswith(hidden):
            raise
        if error.errno is None:
            raise OSError(f"{path}: {error}") from None
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


def _prefix(path: Path) -> str:
    return f".{path.name}."


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def is_packed(path: Path) -> bool:
    """Return whether a file's name ends in ``.gz``."""
    return path.suffix.lower() == ".gz"


def _open(path: Path, mode: str, **options: Any) -> IO[Any]:
    opener: Any = gzip.open if is_packed(path) else open
    return opener(path, mode, **options)  # type: ignore[no-any-return]


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16, as in Unicode text of Excel and in exports of Qualtrics."""


HEAD = 2**16
"""Bytes that determine the suffix of a file."""


def suffix_of(head: bytes) -> str:
    """Return the suffix of a file that begins with these bytes."""
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK"):
        if b"opendocument.spreadsheet" in head:
            return ".ods"
        return ".xlsx" if b"[Content_Types].xml" in head or b"xl/" in head else ".zip"
    if head.startswith(b"\x1f\x8b"):
        return f"{suffix_of(_unpacked(head))}.gz"
    if head.startswith(UTF_16):
        head = head.decode("utf-16", errors="ignore").encode()
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return ".jsonl" if text.startswith(b"{") else ".json"
    line = text.partition(b"\n")[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, HEAD)
    except zlib.error as error:
        raise FormatError("commands.input-not-unpacked", error=error) from None


def encoding_of(path: Path, otherwise: str = "utf-8") -> str:
    """Return the encoding that a byte order mark names, or `otherwise`."""
    with _open(path, "rb") as file:
        return "utf-16" if file.read(2) in UTF_16 else otherwise


def open_text(path: Path, encoding: str = "utf-8-sig", **options: Any) -> IO[str]:
    """Open a text file, which may be compressed, for reading; options are those of `open`.

    The byte order mark of UTF-16 has precedence over `encoding`.
    """
    return _open(path, "rt", encoding=encoding_of(path, encoding), **options)


def check_utf8(path: Path) -> None:
    """Raise FormatError with the place of the first byte that is not UTF-8, except in UTF-16."""
    if encoding_of(path) == "utf-16":
        return
    with _open(path, "rb") as file:
        check_is_text(path, file.read(4))
        file.seek(0)
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise FormatError(
                    "formats.not-utf8", path=path, line=number, byte=line[error.start]
                ) from None


@contextmanager
def replacing_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Yield a binary stream that replaces `path`, compressed if the name ends in ``.gz``.

    Errors are those of `replacing`. Equal content gives equal bytes, because gzip stores neither
    name nor time.
    """
    with replacing(path) as temporary, temporary.open("wb") as file:
        if not is_packed(path):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def sidecar(path: Path) -> Path:
    """Return the path of the note of a file of reports."""
    return path.with_name(f"{path.name}.mechanism.json")


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note in the sidecar, or None."""
    beside = sidecar(path)
    if not beside.exists():
        return None
    try:
        note = parse_json(beside.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError("formats.note-not-json", path=beside, error=error) from None
    if not isinstance(note, dict):
        raise FormatError("formats.note-not-an-object", path=beside, note=note)
    if note.pop("sha256", None) not in (None, _digest(path)):
        raise FormatError("formats.note-outdated", path=path, name=beside.name)
    return note


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sidecar(path: Path, note: Mapping[str, Any]) -> None:
    """Write the sidecar of an existing file: the note, and the file's SHA-256."""
    with replacing(sidecar(path)) as temporary:
        text = json.dumps({**note, "sha256": _digest(path)}, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
