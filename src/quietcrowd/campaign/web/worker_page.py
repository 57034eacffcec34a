"""The worker page: one document for all campaigns, with the hashes of all files that it loads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from quietcrowd.campaign.web.files import (
    PAGE,
    SERVICE_WORKER,
    WORKER,
    PageFile,
    fill,
    html_file,
    policy_hash,
)

ANY_CAMPAIGN = "0" * 32
"""Id in the address under which browsers store the page, which is the same for all campaigns."""

START, STYLE_SHEET = "page/main.js", "worker.css"

IMPORT_MAP, MESSAGES = "{{import_map}}", "{{messages}}"
STYLE = f'<link rel="stylesheet" href="../worker/{STYLE_SHEET}">'
SCRIPT = f'<script type="module" src="../worker/{START}"></script>'
"""Parts of the template, each of which occurs once."""

WORKER_FILES: Mapping[str, PageFile] = {
    path: file for path, file in WORKER.items() if path not in (PAGE, SERVICE_WORKER)
}
"""Files that the page loads, by path below ``/worker/``."""


def messages_blocks() -> str:
    """Return the messages of all languages as data blocks, which browsers do not run.

    Each is a ``<script type="application/json" data-messages="en">``.
    """
    blocks = []
    for path, file in WORKER_FILES.items():
        folder, _, name = path.rpartition("/")
        if folder == "messages":
            text = json.dumps(json.loads(file.text), ensure_ascii=False, separators=(",", ":"))
            language, data = name.removesuffix(".json"), text.replace("<", r"\u003c")
            blocks.append(
                f'<script type="application/json" data-messages="{language}">{data}</script>'
            )
    return "\n".join(blocks)


def _import_map() -> str:
    """Return an import map with the hash of every module; browsers run no other version."""
    hashes = {
        f"../worker/{path}": file.integrity
        for path, file in WORKER_FILES.items()
        if path.endswith(".js")
    }
    return json.dumps({"integrity": hashes}, indent=2)


def _page(import_map: str) -> PageFile:
    style = STYLE.replace(">", f' integrity="{WORKER_FILES[STYLE_SHEET].integrity}">')
    return html_file(
        fill(
            WORKER[PAGE].text,
            {
                IMPORT_MAP: f'<script type="importmap">{import_map}</script>',
                MESSAGES: messages_blocks(),
                STYLE: style,
            },
        )
    )


def _policy(import_map: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {policy_hash(import_map)}",
            "style-src 'self'",
            "img-src 'self' data: blob:",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types service-worker",
        )
    )


WORKER_PAGE = _page(_import_map())
WORKER_POLICY = _policy(_import_map())
"""The page, and its header ``Content-Security-Policy``."""
