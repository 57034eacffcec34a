"""Files as they lie on a disk: there whole or not at all, packed by gzip, with a note beside."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import NamedTemporaryFile, mkdtemp
from typing import IO, Any

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.json_text import parse_json

__all__ = [
    "check_folder",
    "check_new",
    "is_packed",
    "new_folder",
    "open_text",
    "read_note",
    "refuse_overwriting",
    "replacing",
    "sidecar",
    "write_beside",
    "writing_bytes",
]


def check_folder(path: Path) -> None:
    """Raise OSError where no file can be put at `path`: before long work, not after it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder: name a file", str(path))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES, "nothing can be written to the folder that it lies in", str(path)
        )


def check_new(path: Path, kind: str = "file") -> None:
    """Raise ParameterError where something is at `path` already: what cannot be made again."""
    if path.exists():
        raise ParameterError(f"{path} is there already: name a new {kind}")


def refuse_overwriting(source: Path | None, *targets: Path | None) -> None:
    """Raise ParameterError where a target is what is read from, lies in it, or two are one."""
    origin = None if source is None else _resolved(source)
    places: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        place = _resolved(target)
        if place == origin:
            raise ParameterError(f"{target} is what is read from: write to another file or folder")
        if origin in place.parents:
            raise ParameterError(
                f"{target} lies in what is read from: write to another file or folder"
            )
        if place in places:
            raise ParameterError(f"{target} is named for two outputs: write to another file")
        places.add(place)


def _resolved(path: Path) -> Path:
    """Return where a path leads; itself, where links go in a circle, which Python 3.11 refuses."""
    try:
        return path.resolve()
    except RuntimeError:
        return path.absolute()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; it takes the place of `path` if nothing is raised.

    An OSError of the temporary file, or of no file, names `path`.
    """
    with _telling(path):
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
    """Give a temporary folder beside `path`; it becomes `path` if nothing is raised.

    An OSError of something in the temporary folder, or of no file, names `path`.

    Raises
    ------
    ParameterError
        Where something is at `path` already.
    OSError
        Where the folder that it lies in does not exist, or nothing can be written to it.
    """
    check_new(path, "folder")
    check_folder(path)
    with _telling(path):
        temporary = Path(mkdtemp(dir=path.parent, prefix=_prefix(path)))
        try:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            os.rename(temporary, path)
        finally:
            rmtree(temporary, ignore_errors=True)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Let an OSError name `path` where it names a temporary file for it, or none."""
    try:
        yield
    except (ConnectionError, TimeoutError):  # these are of a cluster
        raise
    except OSError as error:
        hidden = str(path.parent.absolute() / _prefix(path))
        told = "" if error.filename is None else str(Path(error.filename).absolute())
        if told and not told.startswith(hidden):
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
    """Return whether the name of a file ends in ``.gz``."""
    return path.suffix.lower() == ".gz"


def open_text(path: Path, encoding: str = "utf-8", **options: Any) -> IO[str]:
    """Open a file, packed or not, to read its text; options are those of `open`."""
    opener: Any = gzip.open if is_packed(path) else open
    return opener(path, "rt", encoding=encoding, **options)  # type: ignore[no-any-return]


@contextmanager
def writing_bytes(temporary: Path, path: Path) -> Iterator[IO[bytes]]:
    """Give what writes to `temporary`, packed if the name of `path` says so.

    The same content gives the same bytes: neither a name nor a time is packed with it.
    """
    with temporary.open("wb") as file:
        if not is_packed(path):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def sidecar(path: Path) -> Path:
    """Return where the mechanism of a file of reports is kept."""
    return path.with_name(f"{path.name}.mechanism.json")


def read_note(path: Path) -> dict[str, Any] | None:
    """Return what the sidecar says, if there is one."""
    beside = sidecar(path)
    if not beside.exists():
        return None
    try:
        note = parse_json(beside.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{beside}: this is no JSON: {error}") from None
    if not isinstance(note, dict):
        raise FormatError(f"{beside}: expected a JSON object; got {note!r}")
    if note.pop("sha256", None) not in (None, _digest(path)):
        raise FormatError(
            f"{path}: the file has changed since {beside.name} was written beside it. Write the "
            "reports again, or delete that file if these are plain answers."
        )
    return note


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_beside(path: Path, note: Mapping[str, Any]) -> None:
    """Write the note of a file that is there, with the file's SHA-256."""
    with replacing(sidecar(path)) as temporary:
        text = json.dumps({**note, "sha256": _digest(path)}, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
