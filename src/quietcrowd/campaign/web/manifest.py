"""Hashes of all files of the worker page, for comparison with a release."""

from __future__ import annotations

import json
from collections.abc import Mapping

import quietcrowd
from quietcrowd.campaign.web.files import SERVICE_WORKER, WORKER, PageFile
from quietcrowd.campaign.web.saved_page import SAVED_TEMPLATE
from quietcrowd.campaign.web.worker_page import WORKER_FILES, WORKER_PAGE

SERVED: Mapping[str, PageFile] = {
    **{f"j/{path}": file for path, file in WORKER.items() if path == SERVICE_WORKER},
    **{f"worker/{path}": file for path, file in WORKER_FILES.items()},
}
"""All files that the page may load, by path below the server's address."""


def _manifest() -> PageFile:
    listed = {
        "version": quietcrowd.__version__,
        "files": {path: file.integrity for path, file in SERVED.items()},
        "page": WORKER_PAGE.integrity,
        "saved_page": SAVED_TEMPLATE.integrity,
    }
    text = json.dumps(listed, indent=2) + "\n"
    return PageFile(content=text.encode(), media_type="application/json; charset=utf-8")


MANIFEST = _manifest()
"""Version of the release, and the SHA-384 of every file, the page, and the saved page's template.
"""
