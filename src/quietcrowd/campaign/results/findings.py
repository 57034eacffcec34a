"""What an inference found, and the same in pages, as it is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any

from attrs import frozen

from quietcrowd.campaign.store.result_pages import AIMS, KINDS, PAGE_ROWS, ResultPage

__all__ = ["Findings", "PagedFindings"]

_IN_MEMORY = 16 * 2**20
"""Bytes of pages from which on they are put aside in a file, which has no name."""


@frozen(kw_only=True)
class Findings:
    """What an inference found.

    Attributes
    ----------
    head : mapping
        All but the rows, JSON-ready; its ``method`` is None where the inference failed.
    truths, workers : iterable of mapping
        Rows, JSON-ready: as many as there are tasks and workers, and read once.
    aims : iterable of mapping
        How often tasks are to be asked, as of `task_aims`; none where nothing is handed out by it.
    """

    head: Mapping[str, Any]
    truths: Iterable[Mapping[str, Any]]
    workers: Iterable[Mapping[str, Any]]
    aims: Iterable[Mapping[str, Any]] = ()

    @contextmanager
    def in_pages(self, folder: str | None = None) -> Iterator[PagedFindings]:
        """Give the same in pages, which are gone in the end; one page is held at a time.

        Parameters
        ----------
        folder : str, optional
            Where many of them lie meanwhile; default: where temporary files go.
        """
        head = _as_json(self.head)
        digest, counts = hashlib.sha256(head.encode()), dict.fromkeys(KINDS, 0)
        with SpooledTemporaryFile(_IN_MEMORY, dir=folder) as file:
            for kind in (*KINDS, AIMS):
                rows, number = iter(getattr(self, kind)), 0
                while (page := list(islice(rows, PAGE_ROWS))) or (kind in KINDS and not number):
                    line = f"{kind} {_as_json(page)}\n".encode()
                    if kind in KINDS:  # how often tasks were given is not shown, nor a hash of it
                        digest.update(line)
                    file.write(line)
                    number += len(page)
                    if not page:
                        break
                if kind in KINDS:
                    counts[kind] = number
            yield PagedFindings(
                head=head,
                etag=digest.hexdigest()[:32],
                counts=counts,
                failed=self.head["method"] is None,
                file=file,
            )


@frozen(kw_only=True)
class PagedFindings:
    """What an inference found, in pages.

    Attributes
    ----------
    head : str
        All but the rows, as JSON.
    etag : str
        Differs where anything does that is shown.
    counts : mapping of str to int
        How many truths and workers there are.
    failed : bool
        Whether nothing could be inferred.
    file : file
        Of the pages.
    """

    head: str
    etag: str
    counts: Mapping[str, int]
    failed: bool
    file: SpooledTemporaryFile[bytes]

    def pages(self) -> Iterator[ResultPage]:
        """Yield all pages, at least one of each kind."""
        self.file.seek(0)
        number, before = 0, ""
        for line in self.file:
            kind, content = line.decode().split(" ", 1)
            number = number + 1 if kind == before else 0
            before = kind
            yield ResultPage(kind, number, content.rstrip("\n"))


def _as_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
