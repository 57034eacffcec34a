"""Results of an inference, as rows and as stored pages."""

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
"""Bytes of pages in memory; more go to an unnamed temporary file."""


@frozen(kw_only=True)
class Findings:
    """Results of an inference, JSON-ready.

    `head` contains all but the rows; its ``method`` is None if the inference failed. `truths` and
    `workers` can be read once. `aims` come from `task_aims`; empty unless the campaign assigns
    tasks by its results.
    """

    head: Mapping[str, Any]
    truths: Iterable[Mapping[str, Any]]
    workers: Iterable[Mapping[str, Any]]
    aims: Iterable[Mapping[str, Any]] = ()

    @contextmanager
    def in_pages(self, folder: str | None = None) -> Iterator[PagedFindings]:
        """Provide the pages within a context; one page is in memory at a time.

        Many pages go to a temporary file in `folder`, or in the system's default directory.
        """
        head = _as_json(self.head)
        digest, counts = hashlib.sha256(head.encode()), dict.fromkeys(KINDS, 0)
        with SpooledTemporaryFile(_IN_MEMORY, dir=folder) as file:
            for kind in (*KINDS, AIMS):
                rows, number = iter(getattr(self, kind)), 0
                while (page := list(islice(rows, PAGE_ROWS))) or (kind in KINDS and not number):
                    line = f"{kind} {_as_json(page)}\n".encode()
                    if kind in KINDS:  # aims are private, so the ETag must not depend on them
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
    """Results of an inference in pages.

    `head` is JSON. `etag` changes whenever anything that is shown does. `counts` has the numbers of
    truths and workers.
    """

    head: str
    etag: str
    counts: Mapping[str, int]
    failed: bool
    file: SpooledTemporaryFile[bytes]

    def pages(self) -> Iterator[ResultPage]:
        """Yield all pages, at least one of truths and one of workers."""
        self.file.seek(0)
        number, before = 0, ""
        for line in self.file:
            kind, content = line.decode().split(" ", 1)
            number = number + 1 if kind == before else 0
            before = kind
            yield ResultPage(kind, number, content.rstrip("\n"))


def _as_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
