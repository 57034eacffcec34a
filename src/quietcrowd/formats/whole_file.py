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

__all__ = ["check_folder", "new_folder", "replacing"]


def check_folder(path: Path) -> None:
    """Raise FileNotFoundError unless the folder that `path` lies in exists."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; it takes the place of `path` if nothing is raised."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path`; it becomes `path` if nothing is raised.

    Raises
    ------
    ParameterError
        Where something is at `path` already.
    FileNotFoundError
        Where the folder that it lies in does not exist.
    """
    if path.exists():
        raise ParameterError(f"{path} is there already: name a new folder")
    check_folder(path)
    temporary = Path(mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        os.rename(temporary, path)
    finally:
        rmtree(temporary, ignore_errors=True)
