"""Temporary directories of inferences from files, with cleanup after a killed process."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR

from quietcrowd.campaign.terms.file_lock import file_lock

__all__ = ["sweep", "work_folder"]

_PREFIX, _LOCK = "quietcrowd-inference-", "lock"


@contextmanager
def work_folder(parent: str | None) -> Iterator[Path]:
    """Provide a new private directory within a context, locked while it is in use.

    It is created in `parent` (default: the system's temporary directory).
    """
    with ExitStack() as held:
        folder = _locked_folder(parent, held)
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _locked_folder(parent: str | None, held: ExitStack) -> Path:
    """Return a new directory whose lock is held before `sweep` can delete it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        with suppress(BlockingIOError, FileNotFoundError):  # it is being swept
            held.enter_context(file_lock(folder / _LOCK, wait=False))
            if (folder / _LOCK).exists():
                return folder


def sweep(parent: str | None) -> None:
    """Delete the directories of dead processes in `parent` (default: the temporary directory)."""
    for folder in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_ours(folder) and (folder / _LOCK).exists():
                with file_lock(folder / _LOCK, wait=False):
                    shutil.rmtree(folder)


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.getuid())
