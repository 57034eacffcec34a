"""A small file that its owner alone can read: there whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import IO

from quietcrowd.exceptions import FormatError

__all__ = ["create_private", "read_private", "replace_private", "wipe_private"]

_CAREFULLY = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
"""Follow no link, wait for no pipe, leave nothing open to other programs, change no byte."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_private(path: Path, content: bytes) -> bool:
    """Create a file with rights 0600; return False, and touch nothing, if there is one already.

    The content is on the disk before the name is there: an interruption leaves no file, or all of
    it. On Linux it has no other name before, either; elsewhere an interruption may leave a draft
    beside it. Where the file system has no links the name is taken first, so that of two who come
    at once one has it: the other, or an interruption, may then meet an empty file. On Windows
    rights are those of the folder: keep the file in a folder of the user's own.

    Raises
    ------
    OSError
        Where the folder does not exist or cannot be written to.
    """
    created = _create_unnamed(path, content)
    if created is None:
        with _written_beside(path, content) as temporary:
            created = _give_name(temporary, path)
    _sync_folder(path.parent)
    return created


def _create_unnamed(path: Path, content: bytes) -> bool | None:
    """Do so by a file without a name, which ends with the process; None where there are none."""
    if sys.platform != "linux":
        return None
    try:
        number = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    with os.fdopen(number, "wb") as file:
        _write(file, content)
        try:
            os.link(f"/proc/self/fd/{number}", path, src_dir_fd=number, follow_symlinks=True)
        except FileExistsError:
            return False
        except OSError:  # no /proc, or no links
            return None
    return True


def _write(file: IO[bytes], content: bytes) -> None:
    """Write and bring to the disk, for the owner alone whatever the umask."""
    if sys.platform != "win32":
        os.fchmod(file.fileno(), 0o600)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def replace_private(path: Path, content: bytes) -> None:
    """Write a file with rights 0600 in the place of the one that is there, if there is one.

    An interruption leaves the one before, or all of the new one. Rights as of `create_private`.

    Raises
    ------
    OSError
        Where the folder does not exist or cannot be written to.
    """
    with _written_beside(path, content) as temporary:
        os.replace(temporary, path)
        _sync_folder(path.parent)


@contextmanager
def _written_beside(path: Path, content: bytes) -> Iterator[Path]:
    """Give a file beside `path`, on the disk, with rights 0600; in the end its name is free."""
    number, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # O_EXCL, 0600
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            _write(file, content)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, path: Path) -> bool:
    """Name a file, unless another one has the name; return whether it was done."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        return _take_name(temporary, path)
    return True


def _take_name(temporary: Path, path: Path) -> bool:
    """Do the same without links: renaming alone would replace the file of who came first."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    try:
        os.replace(temporary, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return True


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
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
        Where it is no plain file, as a link is none; or, but for Windows, where it is another
        user's, or others than its owner have rights to it.
    FileNotFoundError
        Where there is none.
    """
    with os.fdopen(_open_plain(path, os.O_RDONLY), "rb") as file:
        _require_own(path, os.fstat(file.fileno()))
        return file.read()


def _open_plain(path: Path, flags: int) -> int:
    """Open a plain file and nothing else; return its number."""
    try:
        number = os.open(path, flags | _CAREFULLY)
    except OSError:
        _require_plain(path, path.lstat().st_mode)
        raise
    try:
        _require_plain(path, os.fstat(number).st_mode)
    except FormatError:
        os.close(number)
        raise
    return number


def _require_plain(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe"}
    kind = kinds.get(stat.S_IFMT(mode), "a device or a socket")
    raise FormatError(f"{path} is {kind}, and no file: name the file itself, or another place")


def _require_own(path: Path, status: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise FormatError(
            f"{path} belongs to user {status.st_uid}, and this is user {os.geteuid()}: whoever "
            "owns it can read it, and take the noise off the reports. Open it as its owner, or "
            "name another place."
        )
    if status.st_mode & _OTHERS:
        raise FormatError(
            f"{path}: others than its owner have rights to this file (mode "
            f"{stat.S_IMODE(status.st_mode):04o}), and whoever reads it can take the noise off the "
            f"reports. If nobody else uses this device, set them right with: chmod 600 {path}. "
            "If somebody may have read it, send nothing more with it."
        )


def wipe_private(path: Path, content: bytes) -> None:
    """Overwrite a file with zeros and remove it; nothing happens if there is none.

    Where an earlier try was interrupted, and there are zeros already, it is brought to its end.
    What a disk or a backup keeps of earlier contents is beyond any program: encrypt the disk.

    Raises
    ------
    FormatError
        Where the file holds something else than `content`, or is no plain file: it is not touched.
    OSError
        Where it cannot be written to, or not be removed.
    """
    try:
        number = _open_plain(path, os.O_RDWR)
    except FileNotFoundError:
        return
    with os.fdopen(number, "r+b") as file:
        own = os.fstat(number)
        if not _is_or_was(content, file.read()):
            raise FormatError(
                f"{path}: another file has taken the place of this one; it is not touched. "
                "Look at what it is, and remove it by hand."
            )
        file.seek(0)
        file.write(bytes(len(content)))
        file.flush()
        os.fsync(file.fileno())
    _remove(path, own)
    _sync_folder(path.parent)


def _is_or_was(content: bytes, there: bytes) -> bool:
    """Return whether a file holds `content`, or what is left where some of it is zeros."""
    return len(there) == len(content) and all(
        byte in (0, known) for byte, known in zip(there, content, strict=True)
    )


def _remove(path: Path, own: os.stat_result) -> None:
    """Remove a file, unless another one has its name by now."""
    try:
        if os.path.samestat(path.lstat(), own):
            path.unlink()
    except FileNotFoundError:
        return
