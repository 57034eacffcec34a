"""Small files that only their owner can read, written atomically, and locks of files."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import IO

from quietcrowd.exceptions import FormatError

_CAREFULLY = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
"""Follow no link, wait for no pipe, close on exec, translate no bytes."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_private(path: Path, content: bytes) -> bool:
    """Create a file with mode 0600; return False, and change nothing, if the path exists.

    The content is on the disk before the name exists, so an interruption leaves no file or all of
    it. On Linux there is no temporary name; elsewhere an interruption may leave a draft. Without
    links the name is reserved first: a concurrent caller, or an interruption, may then find an
    empty file. On Windows the directory determines the permissions.
    """
    created = _create_unnamed(path, content)
    if created is None:
        with _synced_copy(path, content) as temporary:
            created = _give_name(temporary, path)
    _sync_folder(path.parent)
    return created


def _create_unnamed(path: Path, content: bytes) -> bool | None:
    """Create the file from one without a name, which ends with the process; None if unsupported."""
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
    """Write and sync, for the owner only, independently of the umask."""
    if sys.platform != "win32":
        os.fchmod(file.fileno(), 0o600)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def replace_private(path: Path, content: bytes) -> None:
    """Write a file with mode 0600, and replace an existing one atomically."""
    with _synced_copy(path, content) as temporary:
        os.replace(temporary, path)
        _sync_folder(path.parent)


@contextmanager
def _synced_copy(path: Path, content: bytes) -> Iterator[Path]:
    """Yield a synced file in the directory of `path`, with mode 0600; remove it at the end."""
    number, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # O_EXCL, 0600
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            _write(file, content)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, path: Path) -> bool:
    """Name a file unless the name exists; return whether it was done."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        return _take_name(temporary, path)
    return True


def _take_name(temporary: Path, path: Path) -> bool:
    """Do the same without links: renaming only would replace the file of a concurrent caller."""
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
    """Return the content of a file that no one else can read.

    Raises FormatError if it is a link or otherwise no regular file, or, except on Windows, if it
    belongs to another user or others have permissions.
    """
    with os.fdopen(_open_plain(path, os.O_RDONLY), "rb") as file:
        _require_own(path, os.fstat(file.fileno()))
        return file.read()


def _open_plain(path: Path, flags: int) -> int:
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
    raise FormatError("files.not-a-file", path=path, kind=kind)


def _require_own(path: Path, status: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise FormatError("files.owner-differs", path=path, owner=status.st_uid, user=os.geteuid())
    if status.st_mode & _OTHERS:
        raise FormatError("files.mode-too-open", path=path, mode=stat.S_IMODE(status.st_mode))


def wipe_private(path: Path, content: bytes) -> None:
    """Overwrite a file with zeros and remove it; do nothing if it is missing.

    A wipe that was interrupted is completed. Raises FormatError, and does not touch the file, if it
    contains anything except `content` or is not a regular file.
    """
    try:
        number = _open_plain(path, os.O_RDWR)
    except FileNotFoundError:
        return
    with os.fdopen(number, "r+b") as file:
        own = os.fstat(number)
        if not _is_or_was(content, file.read()):
            raise FormatError("files.file-replaced", path=path)
        file.seek(0)
        file.write(bytes(len(content)))
        file.flush()
        os.fsync(file.fileno())
    _remove(path, own)
    _sync_folder(path.parent)


def _is_or_was(content: bytes, there: bytes) -> bool:
    """Return whether `there` is `content`, possibly with some bytes zeroed."""
    return len(there) == len(content) and all(
        byte in (0, known) for byte, known in zip(there, content, strict=True)
    )


def _remove(path: Path, own: os.stat_result) -> None:
    """Remove a file, unless its name belongs to another one by now."""
    try:
        if os.path.samestat(path.lstat(), own):
            path.unlink()
    except FileNotFoundError:
        return


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int, wait: bool) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(handle: int, wait: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Lock a file, which is created if necessary; unless `wait`, a held lock raises `OSError`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _lock(handle, wait)
        try:
            yield
        finally:
            _unlock(handle)  # after a mere close, a child forked meanwhile would keep the lock
    finally:
        os.close(handle)
