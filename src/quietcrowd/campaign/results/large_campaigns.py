"""Settings for campaigns with an inference larger than memory, and their work directories."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

from attrs import frozen

from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.private_files import file_lock

_PREFIX, _LOCK = "quietcrowd-inference-", "lock"


@contextmanager
def work_folder(parent: str | None) -> Iterator[Path]:
    """Provide a new private directory in `parent` within a context, locked while it is in use."""
    with ExitStack() as held:
        folder = _locked_folder(parent, held)
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _locked_folder(parent: str | None, held: ExitStack) -> Path:
    """Return a new directory that is locked before `sweep` can delete it."""
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


if TYPE_CHECKING:
    from quietcrowd.scale.executor import Executor


_PROCESS, _PER_REPORT, _PER_WORKER = 300e6, 120, 1_300
"""Bytes of an inference in memory: base, per report and per worker.

They were measured with four labels; more labels need more.
"""


@frozen(kw_only=True)
class LargeCampaigns:
    """Settings for inference from files, if more than `memory` bytes would be needed.

    The default `folder` is the system's temporary directory. `scheduler` is the address of a Dask
    cluster, by default this process.
    """

    memory: float = 1e9
    folder: str | None = None
    scheduler: str | None = None

    def include(self, campaign: Any) -> bool:
        """Return whether a campaign needs inference from disk.

        Sketches never do. Reports among the options of each task, of a menu or of rounds cannot
        be in a store.
        """
        mechanism = parse_mechanism(campaign.mechanism)
        if campaign.rounds is not None or campaign.menu is not None:
            return False
        if "task" not in mechanism.columns or mechanism.option_counts:
            return False
        reports, workers = campaign.shown_reports, campaign.shown_participants
        return bool(_PROCESS + _PER_REPORT * reports + _PER_WORKER * workers > self.memory)

    @contextmanager
    def executor(self) -> Iterator[Executor | None]:
        """Provide the cluster's executor within a context, or None for this process."""
        from quietcrowd.scale import connect

        cluster = nullcontext() if self.scheduler is None else connect(self.scheduler)
        with cluster as executor:
            yield executor
