"""A small file that its owner alone can read: there whole or not at all, never replaced."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import mkstemp

from quietcrowd.exceptions import FormatError

__all__ = ["create_private", "read_private", "wipe_private"]

_POSIX = os.name == "posix"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_private(path: Path, content: bytes) -> bool:
    """Create a file with rights 0600; return False, and touch nothing, if there is one already.

    The content is on the disk before the name is there: an interruption leaves no file, or all of
    it. On Windows rights are those of the folder: keep the file in a folder of the user's own.

    Raises
    ------
    OSError
        Where the folder does not exist or cannot be written to.
    """
    number, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # O_EXCL, 0600
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            if _POSIX:
                os.fchmod(file.fileno(), 0o600)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        created = _give_name(temporary, path)
        _sync_folder(path.parent)
        return created
    finally:
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, path: Path) -> bool:
    """Name a file, unless another one has the name; return whether it was done."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if path.exists():
            return False
        os.rename(temporary, path)
    return True


def _sync_folder(folder: Path) -> None:
    if _POSIX:
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def read_private(path: Path) -> bytes:
    """Return what is in a file that nobody else can read.

    Raises
    ------
    FormatError
        Where it is no plain file, or, but for Windows, where others than its owner have rights to
        it.
    FileNotFoundError
        Where there is none.
    """
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if _POSIX and mode & _OTHERS:
            raise FormatError(
                f"{path}: others than its owner have rights to this file (mode "
                f"{stat.S_IMODE(mode):04o}), and whoever reads it can take the noise off the "
                f"reports. If nobody else uses this device, set them right with: chmod 600 {path}. "
                "If somebody may have read it, send nothing more with it."
            )
        return file.read()


def wipe_private(path: Path, content: bytes) -> None:
    """Overwrite a file with zeros and remove it; nothing happens if there is none.

    What a disk or a backup keeps of earlier contents is beyond any program: encrypt the disk.

    Raises
    ------
    FormatError
        Where the file holds something else than `content`: it is not touched.
    """
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return
    with file:
        if file.read() != content:
            raise FormatError(
                f"{path}: another file has taken the place of this memo; it is not touched. "
                "Look at what it is, and remove it by hand."
            )
        file.seek(0)
        file.write(bytes(len(content)))
        file.flush()
        os.fsync(file.fileno())
    path.unlink(missing_ok=True)
    _sync_folder(path.parent)
