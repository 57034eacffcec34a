"""The worker page as one file, to be saved, compared with a published hash, and opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname, join, normpath

from quietcrowd.campaign.web.files import PAGE, WORKER, PageFile, fill, html_file, policy_hash
from quietcrowd.campaign.web.worker_page import (
    IMPORT_MAP,
    MESSAGES,
    SCRIPT,
    START,
    STYLE,
    STYLE_SHEET,
    WORKER_FILES,
    messages_blocks,
)

_IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]*)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)

_ROOT, _SERVER, _CHARSET = '<html lang="en"', "{{server}}", '<meta charset="utf-8">'


def modules_in_order(start: str = START) -> list[str]:
    """Return the paths of a module and of all its imports, in the order in which they run."""
    found: dict[str, None] = {}

    def visit(path: str, above: tuple[str, ...]) -> None:
        if path in found:
            return
        for other in _imported(path):
            if other in above:
                raise ValueError(f"{path} imports {other}, which imports it")
            visit(other, (*above, path))
        found[path] = None

    visit(start, (start,))
    return list(found)


def _imported(path: str) -> Iterator[str]:
    for name in _IMPORT.findall(WORKER_FILES[path].text):
        other = normpath(join(dirname(path), name))
        if other not in WORKER_FILES:
            raise ValueError(f"{path} imports {other}, which is not there")
        yield other


def joined_modules() -> str:
    """Return all modules of the page as one, without imports and exports."""
    parts = [
        f"\n// {path}\n\n{_EXPORT.sub('', _IMPORT.sub('', WORKER_FILES[path].text)).strip()}\n"
        for path in modules_in_order()
    ]
    return "".join(parts)


def _template() -> str:
    """Return the page with all files that it loads, and a placeholder for the server's address."""
    style, script = f"\n{WORKER_FILES[STYLE_SHEET].text}", joined_modules()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {policy_hash(script)}",
            f"style-src {policy_hash(style)}",
            "img-src data: blob:",
            f"connect-src {_SERVER}/",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    return fill(
        WORKER[PAGE].text,
        {
            _ROOT: f'{_ROOT} data-server="{_SERVER}"',
            _CHARSET: f'{_CHARSET}\n  <meta http-equiv="Content-Security-Policy" '
            f'content="{policy}">',
            STYLE: f"<style>{style}</style>",
            SCRIPT: f'<script type="module">{script}</script>',
            IMPORT_MAP: "",
            MESSAGES: messages_blocks(),
        },
    )


SAVED_TEMPLATE = html_file(_template())
"""The saved page, without a server's address."""


def saved_page(server: str) -> PageFile:
    """Return the saved page of a server, given its address as `ServerAddress` formats it."""
    return html_file(SAVED_TEMPLATE.text.replace(_SERVER, server))
