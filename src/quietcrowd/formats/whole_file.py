"""A file or a folder is there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import NamedTemporaryFile, mkdtemp

from quietcrowd.exceptions import ParameterError

__all__ = ["check_folder", "check_new", "new_folder", "refuse_overwriting", "replacing"]


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
    origin = None if source is None else source.resolve()
    places: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        place = target.resolve()
        if place == origin:
            raise ParameterError(f"{target} is what is read from: write to another file or folder")
        if origin in place.parents:
            raise ParameterError(
                f"{target} lies in what is read from: write to another file or folder"
            )
        if place in places:
            raise ParameterError(f"{target} is named for two outputs: write to another file")
        places.add(place)


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
